"""BrowserGym's action texts and observations on our pages, an agent of its kind, and Gymnasium."""

import csv
import json
import re
import subprocess

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from support.frameworks import BROWSERGYM, find_program
from support.in_browser import run_script
from support.projects import ROOT
from support.scripted import actions, prompts
from support.scripted import play as play_episode

import pytest_miniwob_agent.gymnasium  # noqa: F401 - registers the environments
from pytest_miniwob_agent import Element, UsageError
from pytest_miniwob_agent.browser.local import find_browser
from pytest_miniwob_agent.browsergym import BrowserGymAgent, Player
from pytest_miniwob_agent.tasks.catalogue import PROBLEM_LISTS, page_path
from pytest_miniwob_agent.testing import FakePage, VisibleFakePage

RED = Element(1, "button", "Red")


def bids(seen):
    lines = re.findall(r"\[(\d+)\] (.*?), visible", seen["axtree_txt"])
    return {what: bid for bid, what in lines}


def fields(seen, role="textbox"):
    return re.findall(rf"\[(\d+)\] {role}", seen["axtree_txt"])


def middle(browser, selector):
    return run_script(
        browser,
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]",
        selector,
    )


def end(player, *texts):
    """Play action texts; the last must end the trial, and none of them may be refused."""
    for text in texts:
        seen, transition = player.step(text)
        assert seen["last_action_error"] == ""
        assert seen["last_action"] == text
    assert transition.done
    return transition.reward


@pytest.fixture
def play(page):
    def start(task, seed=1, screenshot=False):
        player = Player(page(task, seed), screenshot=screenshot)
        return player, player.reset()

    return start


WRITTEN = {
    '"one\ntwo"': "one\ntwo",
    "'one\r\ntwo'": "one\ntwo",
    '"""one\n"two" """': 'one\n"two" ',
    "'''it's\n'''": "it's\n",
    r"'one\ntwo'": "one\ntwo",
    r"'\$5 \u00e9 \\n'": "$5 é \\n",
    "'one\\\ntwo'": "one\ntwo",
    "'(a, b) # c'": "(a, b) # c",
    "'a',  # it's (a)\n": "a",
}
"""Texts as they stand in an action, and what they type."""

NO_ACTIONS = [
    "", "I click it", "fly('1')", "click()", "click('a51')", "click('1', button='back')",
    "I (do) fly('1')", "# click('1')", "fill('1', 'a\n)", "a('" * 9000,
    "click('1'); click('1')", "import os", "keyboard_press('F13')", "scroll(5, 0)",
    "fill('1', 'text')", "mouse_click('a', 'b')", "keyboard_type(5)", "__init__()",
    "click('1', modifiers=['Meta'])", "noop('long')", "click(open('x'))", "click(" * 300,
    "scroll(0, 1e999)", "mouse_click(1e999, 0)", "noop(1e999)",
]  # fmt: skip


@pytest.mark.integration
class TestActions:
    def test_fields_are_filled_and_replaced(self, play):
        player, seen = play("login-user")
        user, password = re.findall('"(.*?)"', seen["goal"])
        first, second = fields(seen)
        login = bids(seen)["button 'Login'"]
        assert end(
            player, f"fill('{first}', 'somebody else')", f"fill({first!r}, {user!r})",
            f'fill(bid="{second}", value="{password}")', f"click('{login}')",
        ) == 1  # fmt: skip

    @pytest.mark.parametrize(
        ("task", "role", "value"),
        [("enter-date", "Date", r"(\d+)/(\d+)/(\d+)"), ("enter-time", "InputTime", r"(\d+):(\d+)")],
    )
    def test_dates_and_times_are_filled_as_playwright_takes_them(self, play, task, role, value):
        player, seen = play(task)
        numbers = re.search(value, seen["goal"]).groups()
        if task == "enter-date":
            month, day, year = numbers
            text = f"{year}-{month}-{day}"
        else:
            hours, minutes = int(numbers[0]) % 12 + 12 * ("PM" in seen["goal"]), numbers[1]
            text = f"{hours:02}:{minutes}"
        [field], submit = fields(seen, role), bids(seen)["button 'Submit'"]
        assert end(player, f"fill({field!r}, {text!r})", f"click({submit!r})") == 1

    def test_fields_that_take_no_text_are_set(self, pages):
        values = {
            "color": "#00cc88", "range": "20", "month": "2024-02", "week": "2024-W09",
            "datetime-local": "2024-02-29T13:45",
        }  # fmt: skip
        reward = f"""[...document.querySelectorAll('input')].map(({{ value }}) => value).join()
            === '{",".join(values.values())}' ? 1 : 0"""
        task = f'<script>window.task = {{ goal: "g", reward: () => {reward} }};</script>'
        inputs = "".join(f"<input type={kind}>" for kind in values)
        player = Player(pages.make(task + inputs), screenshot=False)
        bids = re.findall(r'<input[^>]* bid="(\d+)"', player.reset()["pruned_html"])
        filled = zip(bids, values.values(), strict=True)
        assert end(player, *(f"fill({bid!r}, {value!r})" for bid, value in filled)) == 1

    def test_a_drag_happens_at_mouse_up(self, play, browser):
        player, seen = play("drag-circle")
        x, y = middle(browser, "circle")
        ways = {"up": (0, -60), "down": (0, 60), "left": (-60, 0), "right": (60, 0)}
        right, below = ways[re.search("up|down|left|right", seen["goal"])[0]]
        before = seen["pruned_html"]
        for text in (f"mouse_down({x}, {y})", f"mouse_move({x + right / 2}, {y + below / 2})"):
            seen, _ = player.step(text)
            assert seen["pruned_html"] == before
        seen, transition = player.step(f"mouse_up({x + right}, {y + below})")
        assert seen["pruned_html"] != before or transition.done

    def test_points_are_clicked_and_clicked_twice(self, play, browser):
        player, _ = play("click-test")
        twice = "document.ondblclick = ({ clientX, clientY }) => { twice = [clientX, clientY] }"
        run_script(browser, twice)
        seen, _ = player.step("mouse_dblclick(20, 150)")
        assert seen["last_action_error"] == ""
        assert run_script(browser, "return twice") == [20, 150]
        x, y = middle(browser, "button")
        assert end(player, f"mouse_move({x}, {y})", f"mouse_click({x}, {y}, 'left')") == 1

    def test_keys_are_pressed_with_modifiers(self, play):
        player, seen = play("enter-text")
        name = re.search('"(.*?)"', seen["goal"])[1]
        [field] = fields(seen)
        submit = bids(seen)["button 'Submit'"]
        assert end(
            player, f"click({field!r})", "keyboard_type('wrong')", "keyboard_press('Control+KeyA')",
            "keyboard_press('Backspace')", f"keyboard_type({name!r})", "noop()", "scroll(0, 10)",
            f"click({submit!r}, modifiers=['Shift'])",
        ) == 1  # fmt: skip

    def test_a_key_is_released_where_its_click_is_impossible(self, play, browser):
        player, _ = play("click-test")
        seen, _ = player.step("click('999', modifiers=['Control'])")
        assert "there is no element with id=999" in seen["last_action_error"]
        assert browser.held == set()

    def test_what_shows_is_a_tree_html_and_a_picture(self, play):
        player, seen = play("click-checkboxes", screenshot=True)
        boxes = [what for what in bids(seen) if what.startswith("checkbox")]
        assert len(boxes) > 1
        bid = bids(seen)[boxes[0]]
        assert f'<input bid="{bid}" type="checkbox"' in seen["pruned_html"]
        assert "data-ref" not in seen["pruned_html"]
        assert seen["screenshot"].shape == (480, 640, 3)
        after, _ = player.step(f"click({bid!r})")
        assert f"[{bid}] {boxes[0]}, visible, checked='true'" in after["axtree_txt"]
        assert (seen["screenshot"] != after["screenshot"]).any()

    def test_a_text_is_read_as_browsergym_reads_it(self, play, browser):
        player, seen = play("text-editor")
        run_script(browser, "area.innerHTML = '<textarea></textarea><input>'")
        seen, _ = player.step("noop(1)")
        area, line = fields(seen)
        for written, typed in WRITTEN.items():
            text = f"I'll (maybe) fill it.\n# fill('1', '')\nfill(\n  {area!r}, {written})  # now"
            seen, transition = player.step(text)
            assert (seen["last_action_error"], transition.done) == ("", False)
            assert run_script(browser, "return area.querySelector('textarea').value") == typed
        player.step(f"fill({line!r}, 'one\\r\\ntwo')")
        assert run_script(browser, "return area.querySelector('input').value") == "onetwo"

    def test_what_is_no_action_is_an_error_and_changes_nothing(self, play):
        player, first = play("click-test")
        for text in NO_ACTIONS:
            seen, transition = player.step(text)
            assert seen["last_action_error"], text
            assert (seen["pruned_html"], transition.done) == (first["pruned_html"], False), text


class Scripted:
    """What AgentLab's agents look like from outside."""

    def __init__(self, llm):
        self.llm = llm

    def get_action(self, obs):
        prompt = f"{obs['goal']}\n{obs['axtree_txt']}\n{obs['last_action_error']}"
        return self.llm.complete(prompt, "act").text or None, {"think": "so"}


class FromBrowserGym(BrowserGymAgent):
    name = "scripted"
    screenshot = False

    def make(self, llm):
        return Scripted(llm)


def run(*replies, steps=10):
    rewards = {("start", "click id=1"): 1.0}
    env = FakePage("Click Red.", {"start": [RED]}, rewards=rewards)
    return play_episode(FromBrowserGym(), env, replies, trials=1, steps=steps)


class TestAgent:
    def test_an_agent_with_get_action_plays_a_trial(self):
        episode, llm = run("noop(5)", "click('1')")
        assert episode.solved
        assert actions(episode) == ["wait 0.005 s", "click id=1"]
        assert "[1] button 'Red', visible" in prompts(llm, "act")[0]

    def test_an_action_of_none_ends_the_trial(self):
        episode, _ = run("")
        assert not episode.solved

    def test_texts_count_once_whatever_they_take(self):
        texts = ("fly()", "keyboard_press('Control+Shift+a')", "click('1')")
        assert run(*texts, steps=3)[0].solved
        assert not run(*texts, steps=2)[0].solved

    def test_an_error_is_told_to_the_agent(self):
        _, llm = run("fly()", "click('1')")
        assert "there is no action fly" in prompts(llm, "act")[1]

    def test_an_agent_that_makes_nothing_says_what_is_missing(self):
        with pytest.raises(NotImplementedError, match=r"Empty\.make"):
            type("Empty", (BrowserGymAgent,), {"name": "empty"})().make(None)

    def test_a_page_without_pictures_says_so(self):
        with pytest.raises(UsageError, match="screenshot=False"):
            Player(FakePage("Click Red.", {"start": [RED]}))

    def test_a_page_with_pictures_has_a_screenshot(self):
        page = VisibleFakePage("Click Red.", {"start": [RED]})
        assert Player(page).reset()["screenshot"].dtype == np.uint8


def test_an_app_takes_a_message_to_the_user_as_its_answer():
    screens, text = {"start": [Element(1, "button", "Go")]}, "send_msg_to_user('11:00')"
    rewards = {("start", 'answer "11:00"'): 1.0}
    player = Player(VisibleFakePage("When?", screens, rewards=rewards))
    player.reset()
    assert end(player, text) == 1
    other = Player(VisibleFakePage("When?", screens))
    other.reset()
    assert "there is no action send_msg" in other.step(text)[0]["last_action_error"]


@pytest.mark.integration
@pytest.mark.sweep
def test_problems_are_those_of_browsergym(page):
    """Every fifteenth of the 590 has the goal that BrowserGym's own environment gives it."""
    schedule = csv.DictReader(PROBLEM_LISTS["browsergym"].file.read_text("utf-8").splitlines())
    sample = list({(row["task"], row["seed"]): row for row in schedule}.values())[::15]
    assert len(sample) == 40
    theirs = subprocess.run(
        [
            find_program(BROWSERGYM, "python"), ROOT / "tests" / "browser" / "browsergym_goals.py",
            page_path("click-test").parent, find_browser(headed=True),
        ],
        input="\n".join(f"{row['task']} {row['task_seed']}" for row in sample),
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    differences = [
        (row["task"], row["seed"], ours, their)
        for row, their in zip(sample, map(json.loads, theirs.stdout.splitlines()), strict=True)
        if (ours := page(row["task"], int(row["seed"])).reset().goal) != their
    ]
    # The page shows a patch of colour, for which BrowserGym writes the colour's code.
    assert [row for row in differences if row[0] != "use-colorwheel-2"] == []


@pytest.mark.integration
class TestGymnasium:
    def test_an_environment_passes_the_check_of_gymnasium(self):
        env = gymnasium.make("miniwob-agent/click-tab-2-v0")
        try:
            check_env(env.unwrapped)
            first, info = env.reset(seed=7)
            assert (info["seed"], info["raw_reward"]) == (7, 0.0)
            again, _ = env.reset(seed=7)
            assert first["goal"] == again["goal"]
            assert (first["screenshot"] == again["screenshot"]).all()
        finally:
            env.close()

    def test_any_reward_above_zero_is_one(self):
        env = gymnasium.make("miniwob-agent/click-test-v0", screenshot=False, max_episode_steps=2)
        try:
            seen, _ = env.reset(seed=1)
            [bid] = [bid for what, bid in bids(seen).items() if what.startswith("button")]
            env.step("noop(2)")
            seen, reward, terminated, truncated, info = env.step(f"click({bid!r})")
            assert (reward, terminated, truncated) == (1.0, True, True)
            assert 0 < info["raw_reward"] <= 1
            assert seen["pruned_html"] == seen["axtree_txt"] == ""
        finally:
            env.close()

    def test_environments_run_in_processes(self):
        envs = gymnasium.make_vec(
            "miniwob-agent/click-button-v0", num_envs=2, vectorization_mode="async",
            screenshot=False, vector_kwargs={"shared_memory": False},
        )  # fmt: skip
        try:
            seen, info = envs.reset(seed=[1, 2])
            assert list(info["seed"]) == [1, 2]
            trees = [{"axtree_txt": tree} for tree in seen["axtree_txt"]]
            clicks = [f"click({next(iter(bids(tree).values()))!r})" for tree in trees]
            _, rewards, *_ = envs.step(clicks)
            assert len(rewards) == 2
        finally:
            envs.close()
