"""WebWISE: programs step by step, their functions, examples and parameters."""

import json
from types import SimpleNamespace

import pytest
from support import scripted
from support.scripted import actions, ending, prompts

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Acted, Ending, Episode, Remark
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.plugins.webwise.agent import WebWISEAgent
from pytest_miniwob_agent.tasks.catalogue import installed_tasks, task_fact
from pytest_miniwob_agent.testing import FakePage

OPEN = 'click("button", "Menu")'
SAVE = 'click("a", "Save")'
BOTH = f"{OPEN}\n{SAVE}"
QUIT = 'click("a", "Quit")'


def menu():
    button = Element(1, "button", "Menu")
    return FakePage(
        "Click Save in the menu.",
        {"start": [button], "open": [button, Element(2, "a", "Save"), Element(3, "a", "Quit")]},
        {("start", "click id=1"): "open"},
        {("open", "click id=2"): 1.0, ("open", "click id=3"): -1.0},
    )


def form():
    """A field, a list and a button that is right from the start."""
    return FakePage(
        "Fill in the form.",
        {
            "start": [
                Element(1, "input_text", dom_id="name", value="old"),
                Element(2, "input_date", dom_id="day", value=""),
                Element(3, "input_time", dom_id="hour", value=""),
                Element(4, "option", "Red", value=False),
                Element(5, "div", "Shade"),
                Element(None, "span", "no id"),
                Element(6, "button", "Send"),
                Element(7, "button", "Send"),
            ]
        },
        rewards={("start", "click id=7"): 1.0, ("start", "click id=6"): 1.0},
    )


def play(env, replies, *, limits=None, **params):
    episode, llm = scripted.play(WebWISEAgent(**params), env, replies, **(limits or {}))
    return episode, prompts(llm, "program")


def remarks(episode):
    return [json.loads(event.text) for event in episode.events if isinstance(event, Remark)]


@pytest.mark.parametrize(
    "reply",
    [
        BOTH,
        f"```\n{BOTH}\n```",
        f"Here it is:\n\n```py\n{BOTH}\n```\nThat should do.",
        f"```\n{OPEN}\n```\nand then\n```\n{SAVE}\n```",
        f"```\n    {OPEN}\n    {SAVE}",
    ],
)
def test_a_program_is_found_between_fences(reply):
    assert play(menu(), [reply], programs=1)[0].solved


class TestMultiStep:
    def test_the_next_program_is_asked_for_until_the_page_judges(self):
        episode, shown = play(menu(), [OPEN, SAVE])
        assert episode.solved
        assert actions(episode) == ["click id=1", "click id=2"]
        assert ending(episode) == (Ending.CORRECT, "")
        now = [prompt.split("The objects on the page now:\n")[1] for prompt in shown]
        assert now[0].startswith('button "Menu"\n\n')
        assert now[1].startswith('button "Menu" [clicked]\na "Save"\na "Quit"\n\n')

    def test_nothing_of_a_program_is_run_after_the_page_has_judged(self):
        episode, shown = play(menu(), [f"{OPEN}\n{QUIT}\n{SAVE}\n" + "while True: pass"])
        assert actions(episode) == ["click id=1", "click id=3"]
        assert ending(episode) == (Ending.FAILED, "reward -1")
        assert len(shown) == 1

    def test_earlier_programs_are_shown_with_their_outcomes(self):
        _, shown = play(menu(), [OPEN, 'click("a", "Stop")', f"{OPEN}\nx = 1 / 0", SAVE])
        assert "Your programs so far:\n(none)" in shown[0]
        parts = (
            f'Program 1 was written for these objects:\nbutton "Menu"\n\nThe program:\n```\n{OPEN}',
            "It was run to its end (1 action).",
            "could not be run: line 1: there is no a 'Stop' among the objects",
            "It was run (1 action) until it could not go on: line 2: this divides by zero",
        )
        places = [shown[3].index(part) for part in parts]
        assert places == sorted(places)

    @pytest.mark.parametrize("params", [{"history": "none"}, {"as_published": True}])
    def test_as_published_only_the_present_objects_are_shown(self, params):
        episode, shown = play(menu(), [OPEN, 'click("a", "Stop")', SAVE], **params)
        assert episode.solved
        assert all("Your programs so far:\n(none)" in prompt for prompt in shown)
        assert ['\na "Save"' in prompt for prompt in shown] == [False, True, True]
        assert OPEN not in shown[1] + shown[2]

    @pytest.mark.parametrize("params", [{"messages": "three"}, {"as_published": True}])
    def test_three_system_messages_stand_before_the_task(self, params):
        agent = WebWISEAgent(examples="built-in", task="click-tab-2", **params)
        episode, llm = scripted.play(agent, menu(), [BOTH])
        assert episode.solved
        *system, task = llm.requests[0].body["messages"]
        assert [message["role"] for message in system] == ["system"] * 3
        functions, rules, steps = (message["content"] for message in system)
        assert "click(kind, name)" in functions
        assert rules.startswith("Rules:")
        assert "step by step" in steps
        assert task["role"] == "user"
        assert "The task: Click Save" in task["content"]
        assert "That was a different page" in task["content"]

    def test_a_program_that_can_t_be_run_is_skipped_and_counted(self):
        replies = ["I can't.", "import os", 'click("a"', "", OPEN]
        episode, shown = play(menu(), replies, programs=5)
        assert actions(episode) == ["click id=1"]
        assert ending(episode) == (Ending.INCOMPLETE, "")
        assert len(shown) == 5
        episode, _ = play(menu(), replies, programs=2)
        assert ending(episode) == (Ending.EXCEPTION, "line 1: Import can't be used here")

    def test_an_endless_program_is_stopped(self):
        episode, _ = play(menu(), ["while True: pass"], programs=1)
        assert ending(episode)[0] is Ending.EXCEPTION
        episode, _ = play(menu(), [f"while True: {OPEN}"], limits={"steps": 4})
        assert actions(episode) == ["click id=1"] * 4
        assert ending(episode)[0] is Ending.STEP_LIMIT

    def test_helpers_do_not_use_up_the_actions_of_a_trial(self):
        field = Element(1, "input_text", dom_id="name", value="old")
        program = 'click("input", "name")\nenter_text("new")\nclick("input", "name")'
        page = FakePage("g", {"start": [field]})
        episode, _ = play(page, [program], limits={"steps": 2}, programs=1)
        taken = ["click id=1", "press END", "press BACKSPACE x 3", 'type "new"']
        assert actions(episode) == taken
        assert ending(episode)[0] is Ending.STEP_LIMIT


class TestSingleStep:
    def test_the_first_program_that_can_be_run_is_the_last(self):
        episode, shown = play(menu(), ["No.", SAVE, OPEN], steps="single")
        assert ending(episode) == (Ending.INCOMPLETE, "")
        assert len(shown) == 3

    def test_a_program_that_fails_after_an_action_is_the_last(self):
        episode, _ = play(menu(), [f"{OPEN}\n{OPEN[:-1]}, nth=2)"], steps="single")
        assert ending(episode) == (
            Ending.EXCEPTION,
            "line 2: there are only 1 objects that fit button 'Menu'",
        )


class TestWithoutFilter:
    def test_the_instruction_alone_is_shown_without_objects(self):
        episode, shown = play(
            menu(), ["No.", BOTH], steps="single", objects="none", examples="built-in",
            task="click-tab-2",
        )  # fmt: skip
        assert episode.solved
        for prompt in shown:
            assert "You are not shown the page" in prompt
            assert 'click("a", "Tab #2")' in prompt
            assert 'button "Menu"' not in prompt
            assert 'a "Tab #1"' not in prompt
        assert "Program 1:\n```\nNo.\n```" in shown[1]

    def test_the_whole_dom_has_every_visible_element(self):
        items = [Element(1, "b", "Read"), Element(2, "button", "OK")]
        page = FakePage("g", {"start": items}, {}, {("start", "click id=1"): 1.0})
        episode, [prompt] = play(page, ['click("b", "Read")'], steps="single", objects="whole")
        assert episode.solved
        assert 'b "Read"\nbutton "OK"' in prompt
        assert 'b "Read"' not in play(page, ["break"], programs=1)[1][0]


class TestTaskMessages:
    """The wordings of table 5."""

    def test_each_is_shown_in_place_of_the_built_in_one(self):
        [usual] = play(menu(), [BOTH])[1]
        shown = {play(menu(), [BOTH], task_message=number)[1][0] for number in range(1, 14)}
        assert len(shown | {usual}) == 14
        for prompt in shown:
            *rules, _, task, history, objects, order = usual.split("\n\n")
            assert prompt.startswith("\n\n".join([*rules, ""]))
            assert prompt.endswith("\n\n".join(["", task, history, objects, order]))

    def test_the_line_that_one_of_them_asks_for_can_be_run(self):
        """Number 12 wants to be told that an object is missing."""
        episode, (prompt, _) = play(menu(), [f"# not on the page\n{OPEN}", SAVE], task_message=12)
        assert "this line: # not on the page\n" in prompt
        assert episode.solved


class TestFunctions:
    @pytest.mark.parametrize(
        ("program", "taken"),
        [
            ('click("button", "Send", nth=2)', ["click id=7"]),
            ('click("button", "Send")', ["click id=6"]),
            ('click("option", "Red")', ["click id=4"]),
            ('click("div")\nenter_text("ls\\n")', ["click id=5", 'type "ls\n"']),
            (
                'click("input", "name")\nenter_text("new")\nenter_text("er")',
                ["click id=1", "press END", "press BACKSPACE x 3", 'type "new"', 'type "er"'],
            ),
            ('if objects()[0]["value"] == "old": click("option", "Red")', ["click id=4"]),
            ('click("input", "name")\nenter_text("\\n")', ["click id=1", 'type "\n"']),
            ('click("input", "name")\nscroll("shade")\nenter_text(7)', [
                "click id=1", "hover id=5", "press END", "press BACKSPACE x 3", 'type "7"']),
            ('scroll("SHADE")', ["hover id=5"]),
        ],
    )  # fmt: skip
    def test_a_call_leads_to_actions(self, program, taken):
        assert actions(play(form(), [program], programs=1)[0]) == taken

    @pytest.mark.parametrize(
        ("field", "text", "keys"),
        [
            ("input_date", "1/28/2011", "01282011"),
            ("input_date", "2011-01-28", "01282011"),
            ("input_date", "01282011", "01282011"),
            ("input_time", "6:09 AM", "0609AM"),
            ("input_time", "18:09", "0609PM"),
            ("input_time", "00:30", "1230AM"),
            ("input_time", "12:00 pm", "1200PM"),
        ],
    )
    def test_dates_and_times_are_typed_in_their_parts(self, field, text, keys):
        program = f'click("{field}")\nenter_text("{text}")'
        taken = actions(play(form(), [program], programs=1)[0])
        assert taken[1:] == ["press ARROWLEFT x 3", f'type "{keys}"']

    @pytest.mark.parametrize(
        ("program", "reason"),
        [
            ('click("button", "Stop")', "there is no button 'Stop' among the objects"),
            ('click("form")', "there is no form among the objects"),
            ('click("button", "Send", 3)', "there are only 2 objects that fit button 'Send'"),
            ('click("button", "Send", 0)', "nth is a number from 1 up"),
            ('click("span", "no id")', "span 'no id' can't be clicked"),
            ('click(["button"])', "click() takes texts"),
            ("click()", "click() takes other arguments"),
            ('enter_text("x")', "nothing was clicked that the text could be typed into"),
            ('scroll("Stop")', "there is no text 'Stop' among the objects"),
        ],
    )
    def test_an_impossible_call_is_an_error_with_its_line(self, program, reason):
        episode, _ = play(form(), [program], programs=1)
        assert ending(episode) == (Ending.EXCEPTION, f"line 1: {reason}")


POOL = """\
{"task": "fake", "goal": "Click Load.", "stages": [{"objects": "a \\"Load\\"", "program": "x"}]}
{"task": "other", "goal": "Click Undo.", "stages": [{"objects": "a \\"Undo\\"", "program": "y"}]}
"""


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "pool.jsonl"
    path.write_text(POOL)
    return path


class TestExamples:
    def test_a_solved_trial_makes_an_example(self):
        [example] = remarks(play(menu(), [OPEN, "No.", SAVE])[0])
        assert example["goal"] == "Click Save in the menu."
        assert example["stages"] == [
            {"objects": 'button "Menu"', "program": OPEN},
            {"objects": 'button "Menu" [clicked]\na "Save"\na "Quit"', "program": SAVE},
        ]

    @pytest.mark.parametrize("replies", [[OPEN, QUIT], [f"{OPEN}\nx = y", SAVE], [OPEN, "pass"]])
    def test_a_trial_that_failed_or_had_an_error_makes_no_example(self, replies):
        assert remarks(play(menu(), replies, programs=2)[0]) == []

    def test_the_examples_of_the_task_are_shown_and_their_files_named(self, pool):
        params = {"examples": str(pool), "task": "fake"}
        episode, [prompt] = play(menu(), [BOTH], **params)
        assert remarks(episode) == []
        assert episode.agent == "webwise-auto-context"
        assert 'The task: Click Load.\n\nThe objects on the page:\na "Load"' in prompt
        assert "by yourself" in prompt
        assert "Undo" not in prompt
        files = WebWISEAgent(**params).examples.files
        assert {"pool.jsonl", "own-example.txt", "stage.txt"} <= files.keys()

    def test_a_task_without_examples_is_shown_none(self, pool):
        assert WebWISEAgent(examples=str(pool), task="another").examples == ""

    def test_each_task_of_the_paper_has_a_built_in_example(self):
        for task in installed_tasks():
            if task_fact(task, "webwise"):
                assert WebWISEAgent(examples="built-in", task=task).examples, task

    def test_in_the_single_step_form_an_example_has_one_program(self):
        _, [prompt] = play(menu(), [BOTH], examples="built-in", task="click-tab-2", steps="single")
        assert "by yourself" not in prompt
        assert 'click("a", "Tab #2")\nclick("span", "ac")' in prompt

    @pytest.mark.parametrize("text", ["{}", "\n[]", "no JSON"])
    def test_a_file_without_examples_is_refused(self, tmp_path, text):
        path = tmp_path / "pool.jsonl"
        path.write_text(text)
        with pytest.raises(UsageError, match=r"pool\.jsonl: a line of it is not an example: "):
            WebWISEAgent(examples=str(path), task="a")


GOOD = '{"goal": "g", "stages": [{"objects": "o", "program": "p"}]}'


def solved(task="click-tab", seed=1, text=GOOD, reward=1.0, repeat=1):
    case = Case(task, "other", seed, repeat)
    judged = Transition(Observation("g"), reward, done=True)
    events = (Acted(1, 0, Click(1), judged), Remark("example", text, 1, 1))
    return SimpleNamespace(case=case, episode=Episode(case, "webwise", "m", events))


class TestSaving:
    @pytest.fixture
    def pool(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)  # paths in parameters count from the working directory
        return tmp_path / "pool.jsonl"

    def goals(self, path):
        examples = map(json.loads, path.read_text().splitlines())
        return [(example["task"], example["goal"]) for example in examples]

    def test_the_two_lowest_seeds_of_each_task_are_kept_in_any_order_of_the_items(self, pool):
        outcomes = [  # of seed 1, two repeats made equal examples
            solved(task, seed, GOOD.replace('"g"', f'"{task} {seed}"'), repeat=repeat)
            for seed, repeat in ((10, 1), (1, 2), (2, 1), (9, 1), (1, 1))
            for task in ("click-tab", "click-menu")
        ]
        agent = WebWISEAgent(save_examples="pool.jsonl")
        assert agent.name == "webwise"
        assert agent.run_finished(outcomes) == "saved 4 examples to pool.jsonl"
        assert self.goals(pool) == [
            (task, f"{task} {seed}") for task in ("click-menu", "click-tab") for seed in (1, 2)
        ]
        _, [prompt] = play(menu(), [BOTH], examples="pool.jsonl", task="click-tab")
        assert "The task: click-tab 2" in prompt

    def test_without_a_solved_item_the_file_is_left_as_it_was(self, pool):
        pool.write_text("as before")
        drifted = SimpleNamespace(case=Case("click-tab", "other", 3), episode=None)
        outcomes = [solved(seed=1, reward=-1.0), solved(seed=2, reward=0.5), drifted]
        summary = WebWISEAgent(save_examples="pool.jsonl").run_finished(outcomes)
        assert summary == "no examples to save; pool.jsonl is not written"
        assert pool.read_text() == "as before"

    def test_a_run_saves_its_examples(self, project, chat_server):
        chat_server.reply = lambda prompt: SAVE if 'a "Save"' in prompt else OPEN
        params = '--miniwob-agent-params={"save_examples": "pool.jsonl"}'
        result = project.record("--miniwob-agent=webwise", params, "-kclick-menu-2")
        result.stdout.fnmatch_lines(["saved 2 examples to pool.jsonl"])
        assert len(self.goals(project.path / "pool.jsonl")) == 2


def test_options_of_a_real_list_are_selected_together(browser):
    case = Case("click-scroll-list", "other", 1000)
    program = 'click("option", "Rosa")\nclick("option", "Ida")\nclick("button", "Submit")'
    env = MiniwobPage(browser, case)
    episode, _ = play(env, [program])
    assert episode.solved, episode.explain()
