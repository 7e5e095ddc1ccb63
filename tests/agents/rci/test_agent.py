"""The RCI agent: plan, groundings, endings and exemplars, also on real pages."""

from dataclasses import replace

import pytest
from support import scripted
from support.scripted import actions, ending, prompts

from pytest_miniwob_agent.agents.registry import load_agent
from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.events import Ending
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.plugins.rci.agent import PAGE_LIMIT, RCIAgent
from pytest_miniwob_agent.testing import FakePage

SAVE = "clickxpath //button[.='Save']"
QUIT = "clickxpath //button[.='Quit']"


def menu(text="Menu"):
    start = [Element(1, "button", text), Element(5, "input_text", dom_id="name")]
    opened = [*start, Element(2, "button", "Save"), Element(3, "button", "Quit")]
    return FakePage(
        "Open the menu and save",
        {"start": start, "open": [*opened, Element(4, "option", "A4")]},
        {("start", "click id=1"): "open", ("start", "hover id=1"): "open"},
        {("open", "click id=2"): 1.0, ("open", "click id=3"): -1.0},
    )


def play(replies, env=None, limits=None, **params):
    """An episode of the agent; the replies to each purpose; the last one is repeated."""
    left = {purpose: list(texts) for purpose, texts in replies.items()}

    def reply(prompt, purpose):
        texts = left.get(purpose, ["?"])
        return texts.pop(0) if len(texts) > 1 else texts[0]

    return scripted.play(RCIAgent(**params), env or menu(), reply, **(limits or {}))


class Covered(FakePage):
    """A page on which the first element can't be clicked."""

    def step(self, action):
        transition = super().step(action)
        error = "the element with id=1 can't be brought into sight"
        return replace(transition, error=error) if action == Click(1) else transition


class TestPlan:
    def test_the_plan_is_criticised_and_improved_before_it_is_followed(self):
        episode, llm = play(
            {
                "plan": ["1. save"],
                "critique": ["The menu is closed."],
                "improve": ["1. open\n2. save"],
                "state": ["clickxpath //button", SAVE],
            }
        )
        assert episode.solved_at == 1
        assert llm.purposes == ["plan", "critique", "improve", *["task", "state"] * 2]
        assert "1. save" in prompts(llm, "critique")[0]
        assert "1. save" in prompts(llm, "improve")[0]
        assert "The menu is closed." in prompts(llm, "improve")[0]
        for purpose in ("task", "state"):
            assert all("1. open\n2. save" in prompt for prompt in prompts(llm, purpose))

    @pytest.mark.parametrize("params", [{"critique": "question"}, {"as_published": True}])
    def test_the_critique_may_be_one_question(self, params):
        replies = {"plan": ["1. save"], "critique": ["The menu is closed."], "task": ["done"]}
        _, llm = play({**replies, "state": ["done"]}, **params)
        [listed], [asked] = prompts(play(replies)[1], "critique"), prompts(llm, "critique")
        assert llm.purposes[:3] == ["plan", "critique", "improve"]
        assert asked.endswith("1. save\n\nWhat is wrong with this plan?")
        assert "What is wrong with this plan?" not in listed
        assert "The menu is closed." in prompts(llm, "improve")[0]

    @pytest.mark.parametrize("critiques", [0, 2])
    def test_the_number_of_critiques_is_a_parameter(self, critiques):
        _, llm = play({"task": ["done"], "state": ["done"]}, critiques=critiques)
        assert llm.purposes == ["plan", *["critique", "improve"] * critiques, "task", "state"]


class TestGroundings:
    def test_task_and_state_grounding_see_the_page_and_what_was_done(self):
        episode, llm = play(
            {"task": ["open the menu", "save"], "state": ["movemouse //button[.='Menu']", SAVE]}
        )
        assert actions(episode) == ["hover id=1", "click id=2"]
        first, second = prompts(llm, "task")
        assert "None yet." in first
        assert "Save</button>" not in first
        assert "1. movemouse //button[.='Menu']" in second
        assert "Save</button>" in second
        assert "open the menu\n" in prompts(llm, "state")[0]

    @pytest.mark.parametrize(
        ("instruction", "problem"),
        [
            ("click the menu", "it is of none of the five forms"),
            ("press F5", "there is no key of that name to press"),
            (SAVE, "its XPath selects no element of the page as it is shown"),
            ("clickxpath //[", "its XPath can't be followed, it is not a valid XPath"),
            ("clickoption //button", "its XPath selects no <option>"),
        ],
    )
    def test_agent_grounding_says_why_the_instruction_is_inadmissible(self, instruction, problem):
        episode, llm = play(
            {"task": ["open it", SAVE], "state": [instruction, SAVE], "agent": ["clickxpath //*"]}
        )
        assert actions(episode) == ["click id=1", "click id=2"]
        [prompt] = prompts(llm, "agent")
        assert f"The machine can't carry this out: {problem}" in prompt
        assert "open it\n" in prompt
        assert f"{instruction}\n" in prompt

    @pytest.mark.parametrize("named", [False, True])
    def test_as_published_it_reads_listing_1_only_and_says_no_more_than_that(self, named):
        replies = [
            "Step 1: clickxpath //button",
            "clickxpath //[",
            f"`{SAVE}`",
            "movemouse //button",
        ]
        episode, llm = play(
            {"task": ["open it"], "state": replies[:1], "agent": replies[1:]},
            **({"forms": "strict"} if named else {"as_published": True}),
        )
        assert actions(episode)[:1] == ["hover id=1"]
        said = [prompt.split("carry this out: ")[1][:30] for prompt in prompts(llm, "agent")[:3]]
        assert [text == "it is of none of the five forms"[:30] for text in said] == [
            True, not named, True,
        ]  # fmt: skip
        assert episode.agent == ("rci-strict-forms" if named else "rci-as-published")

    def test_after_three_rewordings_the_trial_ends(self):
        episode, llm = play({"task": ["open"], "state": ["a"], "agent": ["b", "c", "d"]})
        assert llm.purposes[3:] == ["task", "state", "agent", "agent", "agent"]
        assert ending(episode) == (Ending.EXCEPTION, "it is of none of the five forms: 'd'")
        assert actions(episode) == []
        assert ["\na\n" in prompt for prompt in prompts(llm, "agent")[:2]] == [True, False]

    @pytest.mark.parametrize(
        ("without", "purposes"),
        [
            ("plan", ["task", "state", "agent", "agent", "agent"]),
            ("state", ["plan", "critique", "improve", "task", "agent", "agent", "agent"]),
            ("agent", ["plan", "critique", "improve", "task", "state"]),
        ],
    )
    def test_an_ablation_leaves_out_its_calls(self, without, purposes):
        episode, llm = play({}, without=without)
        assert llm.purposes == purposes
        assert ending(episode)[0] is Ending.EXCEPTION
        assert episode.agent == f"rci-without-{without}"


class TestEndings:
    @pytest.mark.parametrize(
        ("instructions", "expected"),
        [
            (["clickxpath //button", SAVE], (Ending.CORRECT, "")),
            (["clickxpath //button", QUIT], (Ending.FAILED, "reward -1")),
            (["clickxpath //button", "done"], (Ending.INCOMPLETE, "nothing was left to do")),
            (["type a"], (Ending.NO_CHANGE, "again and again: type a")),
            (["press enter"], (Ending.STEP_LIMIT, "5 actions are used up")),
        ],
    )
    def test_each_ending(self, instructions, expected):
        episode, _ = play(
            {"task": instructions, "state": instructions}, limits={"steps": 5, "trials": 3}
        )
        assert ending(episode) == expected
        assert episode.trials == 1

    def test_an_instruction_may_be_repeated_while_the_page_changes(self):
        pages = {str(count): [Element(1, "button", str(count))] for count in range(6)}
        moves = {(str(count), "click id=1"): str(count + 1) for count in range(5)}
        env = FakePage("Count to 6", pages, moves, {("5", "click id=1"): 1.0})
        episode, _ = play({"task": ["?"], "state": ["clickxpath //button"]}, env)
        assert episode.solved


def test_a_long_page_is_cut_and_still_searched():
    env = menu("x" * PAGE_LIMIT)
    episode, llm = play({"task": [SAVE], "state": ["clickxpath //button[1]", SAVE]}, env)
    assert episode.solved
    assert "more characters are left out]" in prompts(llm, "plan")[0]
    assert len(prompts(llm, "plan")[0]) < PAGE_LIMIT + 5000


class TestExemplars:
    def rules(self, task, exemplars="built-in"):
        rules = load_agent("rci", params={"exemplars": exemplars}, item={"task": task}).rules
        return rules, set(rules.files)

    def test_the_exemplars_of_the_items_task_are_shown_if_asked_for(self):
        rules, files = self.rules("click-menu", "none")
        assert "other pages" not in rules
        assert files == {"rules.txt"}
        rules, files = self.rules("click-menu")
        assert "movemouse //div[text()=" in rules
        assert files == {"rules.txt", "exemplars.txt", "exemplars/click-menu.txt"}
        assert self.rules("click-pie")[1] == {"rules.txt"}

    def test_exemplars_of_a_users_folder_are_shown_for_its_tasks_only(self, tmp_path):
        (tmp_path / "click-pie.txt").write_text("Cut $5 of pie.\n")
        _, llm = play(
            {"task": ["done"], "state": ["done"]}, exemplars=str(tmp_path), task="click-pie"
        )
        assert all("Cut $5 of pie." in prompt for _, prompt in llm.prompts)
        assert self.rules("click-menu", str(tmp_path))[1] == {"rules.txt"}


class TestErrorsOfTheBrowser:
    def page(self):
        elements = [Element(1, "button", "Menu"), Element(2, "button", "Save")]
        return Covered("Save", {"start": elements}, {}, {("start", "click id=2"): 1.0})

    def test_an_instruction_that_the_browser_refuses_is_worded_anew(self):
        wrong = "clickxpath //button[.='Menu']"
        episode, llm = play({"task": [wrong], "state": [wrong], "agent": [SAVE]}, self.page())
        assert ending(episode) == (Ending.CORRECT, "")
        assert actions(episode) == ["click id=1", "click id=2"]
        [prompt] = prompts(llm, "agent")
        problem = 'the element with data-ref="1" can\'t be brought into sight'
        assert f"can't carry this out: {problem}." in prompt

    def test_refused_instructions_between_equal_ones_do_not_hide_that_nothing_changes(self):
        same = "clickxpath //button[.='Save']"
        page = Covered("Save", {"start": [Element(1, "button"), Element(2, "button", "Save")]})
        replies = {"task": ["?"], "state": ["clickxpath //button[1]"], "agent": [same]}
        episode, _ = play(replies, page)
        assert ending(episode) == (Ending.NO_CHANGE, f"again and again: {same}")

    def test_a_key_that_was_held_for_it_is_released(self):
        page = self.page()
        page.html = lambda **_: '<select multiple data-ref="3"><option data-ref="1">a</select>'
        option = "clickoption //option"
        episode, _ = play({"task": [option], "state": [option], "agent": ["done"]}, page)
        assert actions(episode) == ["hold CTRL", "click id=1", "release CTRL"]
        assert ending(episode)[0] is Ending.INCOMPLETE


def test_after_a_refusal_every_element_of_the_html_can_still_be_used(browser):
    """In `terminal` the field is out of sight, and the box around it can be clicked."""
    hidden, box = 'clickxpath //*[@id="terminal-target"]', 'clickxpath //*[@id="terminal"]'
    episode, _ = play(
        {"task": [hidden, "done"], "state": [hidden, "done"], "agent": [box]},
        MiniwobPage(browser, Case("terminal", "other", 1000)),
        html="whole",
    )
    assert [action.partition(" ")[0] for action in actions(episode)] == ["click", "click"]
    assert ending(episode) == (Ending.INCOMPLETE, "nothing was left to do")


@pytest.mark.parametrize(
    ("params", "tabs"),
    [({}, 1), ({"html": "whole"}, 3), ({"as_published": True}, 3)],
)
def test_the_html_of_tabs_that_are_closed_is_there_if_asked_for(browser, params, tabs):
    page = MiniwobPage(browser, Case("click-tab-2", "n-screen-n-step", 1000))
    _, llm = play({"task": ["done"], "state": ["done"]}, page, **params)
    prompt = prompts(llm, "plan")[0]
    shown = [number for number in range(1, 4) if f'id="tabs-{number}"' in prompt]
    assert len(shown) == tabs
    assert ("The page is given as its whole HTML" in prompt) == bool(params)


def test_options_of_a_real_list_are_selected_together(browser):
    case = Case("click-scroll-list", "other", 3)
    steps = [
        "clickoption //option[starts-with(text(), 'Heard')]",
        "clickoption //option[text()='Nicaragua']",
        "clickoption //option[text()='Nicaragua']",
        "clickxpath //button[text()='Submit']",
    ]
    episode, _ = play({"task": steps, "state": steps}, MiniwobPage(browser, case))
    assert episode.solved, episode.explain()
