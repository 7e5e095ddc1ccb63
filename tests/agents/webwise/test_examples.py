"""Pools of examples: written by the parameter `save_examples`, read by `examples`."""

import json
import random
from dataclasses import dataclass

import pytest

from pytest_miniwob_agent import (
    Acted,
    Case,
    Click,
    Episode,
    Observation,
    Remark,
    Transition,
    UsageError,
)
from pytest_miniwob_agent.agents.webwise import WebWISEAgent
from pytest_miniwob_agent.agents.webwise.examples import read_examples
from pytest_miniwob_agent.testing import FakeEnvironment, ScriptedLLM

GOOD = '{"goal": "g", "stages": [{"objects": "o", "program": "p"}]}'


@dataclass(frozen=True)
class Outcome:
    """The parts of an item's outcome that agents need."""

    case: Case
    episode: Episode | None


def outcome(task="click-tab", seed=1, text=GOOD, reward=1.0, repeat=1):
    """An item that was solved, or not, and of which the agent remarked a text."""
    case = Case(task, "other", seed, repeat)
    judged = Transition(Observation("g"), reward, done=True)
    events = (Acted(1, 0, Click(1), judged), Remark("example", text, 1, 1))
    return Outcome(case, Episode(case, "webwise", "m", events))


def example(goal):
    return GOOD.replace('"g"', json.dumps(goal))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, from which paths in parameters count."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def goals(path):
    return [(saved.task, saved.goal) for saved in read_examples(path)[0]]


class TestSaving:
    def test_the_two_lowest_seeds_of_each_task_are_kept_in_any_order_of_the_items(
        self, folder, monkeypatch
    ):
        outcomes = [
            outcome(task, seed, example(f"{task} {seed}"))
            for task in ("click-tab", "click-menu")
            for seed in (10, 9, 2, 1)
        ]
        agent = WebWISEAgent(save_examples="pool.jsonl")
        (folder / "other").mkdir()
        monkeypatch.chdir(folder / "other")  # paths count from where the agent was made
        for seed in range(5):
            random.Random(seed).shuffle(outcomes)
            assert agent.run_finished(outcomes).startswith("saved 4 examples to ")
            assert goals(folder / "pool.jsonl") == [
                (task, f"{task} {seed}") for task in ("click-menu", "click-tab") for seed in (1, 2)
            ]

    def test_equal_examples_of_two_repeats_are_one_of_the_task_that_was_solved(self, folder):
        text = GOOD.replace("{", '{"task": "mine", ', 1)
        outcomes = [outcome(repeat=1, text=text), outcome(repeat=2)]
        summary = WebWISEAgent(save_examples="pool.jsonl").run_finished(outcomes)
        assert summary == "saved 1 example to pool.jsonl"
        assert goals(folder / "pool.jsonl") == [("click-tab", "g")]

    def test_without_a_solved_item_the_file_is_left_as_it_was(self, folder):
        (folder / "pool.jsonl").write_text("as before")
        drifted = Outcome(Case("click-tab", "other", 3), None)
        outcomes = [outcome(seed=1, reward=-1.0), outcome(seed=2, reward=0.5), drifted]
        summary = WebWISEAgent(save_examples="pool.jsonl").run_finished(outcomes)
        assert summary == "no examples to save; pool.jsonl is not written"
        assert (folder / "pool.jsonl").read_text() == "as before"


class TestTheParameter:
    def test_it_changes_neither_the_name_nor_a_prompt(self, folder):
        prompts = []
        for params in ({}, {"save_examples": "pool.jsonl"}):
            agent = WebWISEAgent(**params, programs=1)
            assert agent.name == "webwise"
            llm = ScriptedLLM(["pass"])
            agent.solve(FakeEnvironment("Do nothing.", {"start": []}), llm, lambda note: None)
            prompts.append(llm.prompts)
        assert prompts[0] == prompts[1]

    @pytest.mark.parametrize("path", [".", "", 5])
    def test_a_path_that_is_not_one_of_a_file_is_refused(self, folder, path):
        with pytest.raises(UsageError, match=f"save_examples {path!r} is not the path of a file"):
            WebWISEAgent(save_examples=path)

    @pytest.mark.parametrize("shown", ["./pool.jsonl", "link.jsonl"])
    def test_the_examples_that_the_agent_is_shown_are_not_overwritten(self, folder, shown):
        (folder / "pool.jsonl").write_text("")
        (folder / "link.jsonl").symlink_to("pool.jsonl")
        with pytest.raises(UsageError, match=r"would overwrite the examples that the agent is sho"):
            WebWISEAgent(examples=shown, save_examples="pool.jsonl")


OPEN = '```\nclick("button", "Menu")\n```'
SAVE = '```\nclick("a", "Save")\n```'
QUIT = '```\nclick("a", "Quit")\n```'


def solve(prompt):
    """A model that solves the fake page of the project, except at one seed."""
    if "Save" not in prompt.split("The objects on the page now:\n")[1].split("\n\n")[0]:
        return OPEN
    return QUIT if "click-menu-2 1\n" in prompt else SAVE


MENU_TEST = """
    import pytest

    @pytest.mark.miniwob("click-menu-2", "click-tab*", seeds=[10, 9, 1, 2])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved
"""


def test_a_run_saves_its_examples_with_workers_as_without(project, chat_server):
    project.makepyfile(MENU_TEST)
    chat_server.reply = solve
    args = ["--miniwob-agent=webwise", '--miniwob-agent-params={"save_examples": "pool.jsonl"}']
    result = project.runpytest(
        *args, "--miniwob-record=once", f"--miniwob-base-url={chat_server.url}"
    )
    assert result.parseoutcomes() == {"passed": 23, "failed": 1}
    result.stdout.fnmatch_lines(["saved 12 examples to pool.jsonl"])
    pool = project.path / "pool.jsonl"
    assert [goal[-14:] for _, goal in goals(pool)[:2]] == [
        "click-menu-2 2", "click-menu-2 9",
    ]  # fmt: skip
    first = pool.read_bytes()
    pool.unlink()
    project.runpytest(*args, "-n", "2")
    assert pool.read_bytes() == first
