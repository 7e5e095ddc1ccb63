"""Variants of the reflective agent: how each differs from the default."""

from typing import ClassVar

import pytest

from pytest_miniwob_agent.agents.reflective.agent import ReflectiveAgent
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Acted, Ending, Reflected
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.testing import FakeEnvironment, ScriptedLLM

CASE = Case("fake", "other", 0)


def button(id, text):
    return Element(id, "button", text)


MENU = {
    "start": [button(1, "Menu"), button(2, "Help")],
    "open": [button(1, "Menu"), button(3, "Save"), button(4, "Print"), button(5, "Quit")],
}
OPEN = {("start", "click id=1"): "open"}


def quit_page():
    """A menu of which the last entry is the right one."""
    wrong = {("open", f"click id={id}"): -1.0 for id in (3, 4)}
    return FakeEnvironment("Quit", MENU, OPEN, {**wrong, ("open", "click id=5"): 1.0})


def play(env, replies, trials=5, **variant):
    llm = ScriptedLLM(replies)
    agent = ReflectiveAgent(**variant)
    return run_episode(CASE, agent, env, llm, Limits(trials=trials), model="scripted"), llm


def actions(episode, trial=1):
    return [str(e.action) for e in episode.events if isinstance(e, Acted) and e.trial == trial]


def prompts(llm, purpose):
    return [prompt for kind, prompt in llm.prompts if kind == purpose]


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ({}, "reflective"),
        ({"planning": "iterative"}, "reflective-iterative"),
        ({"planning": "plan-then-adapt"}, "reflective-plan-then-adapt"),
        ({"memory": "plain"}, "reflective-plain-memory"),
        ({"memory": "unconstrained"}, "reflective-unconstrained-memory"),
        ({"screen": "full"}, "reflective-full-screen"),
        ({"screen": "full", "actions": "all"}, "reflective-full-screen-all-actions"),
    ],
)
def test_the_name_of_each_variant_differs(variant, name):
    assert ReflectiveAgent(**variant).name == name


def test_an_unknown_variant_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="planning 'stage' is not one of staged, iterative, plan"):
        ReflectiveAgent(planning="stage")


class TestPlanning:
    def test_iterative_planning_asks_before_every_action(self):
        env = FakeEnvironment("Quit", MENU, OPEN, {("open", "click id=5"): 1.0})
        replies = ["click id=1\nclick id=5", "click id=5"]
        episode, llm = play(env, replies, planning="iterative")
        assert episode.solved
        assert llm.purposes == ["plan", "plan"]
        first, second = prompts(llm, "plan")
        assert "Screen index=1" not in first
        assert "Action index=0: click id=1" in second
        assert "Screen index=1:" in second
        assert ">Quit<" in second

    @pytest.mark.parametrize("planning", ["iterative", "plan-then-adapt"])
    def test_the_screen_that_is_asked_about_is_always_shown(self, planning):
        env = FakeEnvironment(
            "g",
            {name: [button(1, name * 9000)] for name in "xy"},
            {("x", "click id=1"): "y"},
            {("y", "click id=1"): 1.0},
        )
        _, llm = play(env, lambda prompt, purpose: "click id=1", 1, planning=planning)
        assert "y" * 9000 in llm.prompts[-1][1]

    def test_plan_then_adapt_makes_its_rough_plan_once(self):
        replies = iter([
            "1. Open the menu.", "click id=1", "click id=3",
            "For action index=1, you should click id=4.",
            "For action index=0, you should click id=1.", "DONE",
        ])  # fmt: skip
        episode, llm = play(
            quit_page(), lambda prompt, purpose: next(replies), 3, planning="plan-then-adapt"
        )
        assert llm.purposes == ["plan", "adapt", "adapt", "reflect", "reflect", "adapt"]
        [sketch] = prompts(llm, "plan")
        assert ">Menu<" in sketch
        assert all("1. Open the menu." in prompt for prompt in prompts(llm, "adapt"))
        assert episode.endings == (Ending.FAILED, Ending.FAILED, Ending.INCOMPLETE)


class TestMemory:
    def test_plain_memory_shows_all_suggestions_and_enforces_none(self):
        episode, llm = play(
            quit_page(),
            [
                "click id=1", "Opened the menu.", "click id=3",
                "For action index=1, you should click id=4.",
                "click id=4",
                "For action index=0, you should click id=1.",
                "click id=1", "click id=5",
            ],
            memory="plain",
        )  # fmt: skip
        assert episode.solved_at == 3
        second, third = prompts(llm, "plan")[-3], prompts(llm, "plan")[-2]
        assert "For action index=1, you should click id=4 instead of click id=3." in second
        assert "The next action is number 1." in second
        assert "For action index=1, you should click id=4 instead of click id=3.\n" in third
        assert "For action index=0, you should click id=1 instead of click id=1." in third
        assert actions(episode, 3) == ["click id=1", "click id=5"]

    def test_plain_memory_shows_its_notes_to_the_reflector_and_keeps_all_ids(self):
        again = "For action index=1, you should click id=4."
        _, llm = play(
            quit_page(),
            ["click id=1", "s", "click id=3", again, "click id=3", again, "click id=5"],
            memory="plain",
        )
        first, second = prompts(llm, "reflect")
        assert "instead of" not in first
        assert "For action index=1, you should click id=4 instead of click id=3." in second
        assert second.index("instead of click id=3") < second.index("Screen index=0")
        for prompt in (second, prompts(llm, "plan")[-1]):
            assert '<button id="3" pos="top-left">Save</button>' in prompt

    @pytest.mark.parametrize(
        ("memory", "keeps_id"), [("structured", False), ("unconstrained", True)]
    )
    def test_wrong_clicks_keep_their_ids_without_the_constraint(self, memory, keeps_id):
        replies = [
            "click id=1", "Opened the menu.", "click id=3",
            "For action index=1, you should click id=4.", "?", "?", "click id=5",
        ]  # fmt: skip
        episode, llm = play(quit_page(), replies, 3, memory=memory)
        second = prompts(llm, "reflect")[1]
        assert ('<button id="3" pos="top-left">Save</button>' in second) is keeps_id
        reflections = [e.disabled for e in episode.events if isinstance(e, Reflected)]
        assert reflections[0] == (() if keeps_id else (3,))


class TestFullScreen:
    SCREENS: ClassVar = {
        "start": [Element(1, "rect", details=(("fill", "red"), ("box", "5,60,9,9")))],
        "end": [Element(1, "rect", details=(("fill", "blue"), ("box", "5,60,9,9")))],
    }

    def page(self):
        moves = {("start", "wait 0.5 s"): "end"}
        return FakeEnvironment("Hit", self.SCREENS, moves, {("end", "click at 9,64"): 1.0})

    def test_the_plan_follows_thoughts_on_everything_that_shows(self):
        replies = [
            "Click it? No: wait.\n\n**PLAN:**\nwait 0.5 s",
            "It was red.",
            "PLAN: click at 9,64",
        ]
        episode, llm = play(self.page(), replies, screen="full", actions="all")
        assert episode.solved
        first, second = prompts(llm, "plan")
        assert '<rect id="1" fill="red" box="5,60,9,9"></rect>' in first
        assert "1. It was red." in second
        assert "pos=" not in first
        for form in ("wait 2.5 s", "follow id=4 for 5 s", "click at 40,120", "drag from 10,20 to"):
            assert form in first
        [note] = prompts(llm, "summarise")
        assert "goal: Hit" in note

    def test_the_compact_screen_of_the_same_page_has_none_of_it(self):
        _, llm = play(self.page(), ["DONE"], trials=1)
        [prompt] = prompts(llm, "plan")
        assert '<rect id="1" pos="top-left"></rect>' in prompt
        assert "box" not in prompt

    def test_a_reply_without_the_line_is_read_as_a_whole(self):
        episode, _ = play(self.page(), ["click id=1"] + ["DONE"] * 9, screen="full", trials=1)
        assert actions(episode) == ["click id=1"]
