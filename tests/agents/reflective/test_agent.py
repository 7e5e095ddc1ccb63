"""The reflective agent: staged planning, endings of trials, and algorithm 1."""

from itertools import pairwise

import pytest
from support import scripted
from support.scripted import actions, advice, button, menu, prompts, reflections

from pytest_miniwob_agent.agents.reflective import ReflectiveAgent
from pytest_miniwob_agent.core.events import Ending
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.testing import FakePage


def play(env, replies, **limits):
    return scripted.play(ReflectiveAgent(), env, replies, **limits)


class TestPlanning:
    def test_one_screen_costs_one_call(self):
        steps = ["a", "b", "c", "d"]
        moves = {(here, "click id=1"): after for here, after in pairwise(steps)}
        screens = {name: [button(1, name)] for name in steps}
        env = FakePage("Click on", screens, moves, {("d", "click id=1"): 1.0})
        episode, llm = play(env, ["click id=1\n" * 4])
        assert episode.solved_at == 1
        assert llm.purposes == ["plan"]
        assert actions(episode) == ["click id=1"] * 4

    def test_past_actions_are_summarised_once_a_later_plan_needs_them(self):
        episode, llm = play(menu(3), ["click id=1", "The menu\nwas opened.", "click id=3"])
        assert episode.solved_at == 1
        assert llm.purposes == ["plan", "summarise", "plan"]
        first, second = prompts(llm, "plan")
        assert "Save</button>" not in first
        assert "1. The menu was opened." in second
        assert "Save</button>" in second
        [sentence] = prompts(llm, "summarise")
        assert '<button id="1" pos="top-left">Menu</button>' in sentence
        assert "click id=1" in sentence

    def test_a_click_without_an_id_costs_a_grounding_call(self):
        episode, llm = play(menu(3), ["click the Menu", "id=1", "s", 'click "Save"', "id=3"])
        assert episode.solved
        assert llm.purposes == ["plan", "ground", "summarise", "plan", "ground"]
        assert 'click "Save"' in prompts(llm, "ground")[1]


ONE = {"start": [button(1, "a"), button(2, "b")]}
TWO = {**ONE, "other": [button(1, "a"), button(3, "c")]}
TO_AND_FRO = {("start", "click id=1"): "other", ("other", "click id=1"): "start"}


class TestEndings:
    @pytest.mark.parametrize(
        ("screens", "moves", "rewards", "replies", "ending", "text"),
        [
            (ONE, {}, {("start", "click id=1"): 1.0}, ["click id=1"], "correct", None),
            (ONE, {}, {("start", "click id=1"): -1.0}, ["click id=1"], "failed", "judged that"),
            (ONE, {}, {("start", "click id=1"): 0.5}, ["click id=1"], "failed", "not wholly"),
            (ONE, {}, {}, ["click id=1"], "no-change", "changed nothing"),
            (ONE, {}, {}, ["DONE"], "incomplete", "nothing more to do"),
            (ONE, {}, {}, ["click id=9"], "exception", "out: there is no element with id=9 on"),
            (ONE, {}, {}, ["click it", "NONE"], "exception", "out: no element for 'click it': 'N"),
            (ONE, {}, {}, ["I won't."], "exception", "out: no action in the reply: "),
            (TWO, TO_AND_FRO, {}, ["click id=1\nclick id=1"], "cycle", "led you back"),
            (TWO, TO_AND_FRO, {}, ["click id=1\n" * 9], "step-limit", "as many actions"),
        ],
    )
    def test_each_ending_has_a_text_for_the_reflection(
        self, screens, moves, rewards, replies, ending, text
    ):
        reply = "For action index=0, you should click id=2."
        replies = [*replies, reply, "DONE", *["sentence"] * 2, "DONE"]
        episode, llm = play(FakePage("g", screens, moves, rewards), replies, trials=2, steps=4)
        assert episode.endings[0] is Ending(ending)
        reflected = prompts(llm, "reflect")
        if text is None:
            assert reflected == []
        else:
            assert text in reflected[0]

    def test_a_plan_is_carried_out_up_to_its_first_unreadable_line(self):
        env = FakePage("g", TWO, TO_AND_FRO)
        replies = ["click id=1\nenter id=3\nclick id=1", "?", "?"]
        episode, llm = play(env, replies, trials=2, calls=2)
        assert actions(episode) == ["click id=1"]
        assert episode.endings[0] is Ending.EXCEPTION
        assert "Action index=1: not an action: 'enter id=3'" in prompts(llm, "reflect")[0]

    def test_a_screen_of_an_earlier_stage_may_come_again(self):
        popup = [button(1, "Close")]
        env = FakePage(
            "Log in", {"start": [button(2, "Name"), button(3, "Login")], "popup": popup},
            {("start", "click id=2"): "popup", ("popup", "click id=1"): "start"},
            {("start", "click id=3"): 1.0},
        )  # fmt: skip
        replies = ["click id=2", "s", "click id=1", "s", "click id=3"]
        assert play(env, replies, trials=1)[0].endings == (Ending.CORRECT,)

    def test_a_replayed_or_suggested_action_may_leave_the_screen_as_it_was(self):
        env = FakePage("g", TWO, TO_AND_FRO, {("start", "click id=2"): 1.0})
        replies = [
            "click id=1", "s", "DONE", "For action index=1, you should click id=1.", "s",
            "click id=2",
        ]  # fmt: skip
        episode, _ = play(env, replies, trials=2)
        assert episode.endings == (Ending.INCOMPLETE, Ending.CORRECT)
        assert actions(episode, 2) == ["click id=1", "click id=1", "click id=2"]

    def test_a_click_that_only_moves_the_focus_is_a_change(self):
        env = FakePage("g", {"start": [Element(1, "input_text"), button(2, "b")]})
        episode, _ = play(env, ["click id=1", "s", "click id=1", "?", "?"], trials=2, calls=4)
        assert actions(episode) == ["click id=1", "click id=1"]
        assert episode.endings[0] is Ending.NO_CHANGE


class TestReflection:
    def test_the_suggestion_is_enforced_after_replaying_what_came_before(self):
        replies = ["click id=1", "Opened the menu.", "click id=3", advice(1, "click id=4")]
        episode, llm = play(menu(4, 3), replies)
        assert episode.solved_at == 2
        assert actions(episode, 2) == ["click id=1", "click id=4"]
        assert llm.purposes == ["plan", "summarise", "plan", "reflect"]
        assert reflections(episode) == [(1, "click id=4", (3,))]
        [prompt] = prompts(llm, "reflect")
        for part in ("Action index=0: click id=1", "Screen index=1:", "Action index=1: click id=3"):
            assert part in prompt

    def test_wrong_clicks_of_a_step_are_disabled_for_planner_and_reflector(self):
        replies = ["click id=1", "Opened the menu.", "click id=3", advice(1, "click id=4")]
        repeated = advice(1, "click id=3")  # was wrong already: not enforced
        episode, llm = play(menu(5, 3, 4), [*replies, repeated, "click id=5"])
        assert episode.solved_at == 3
        assert reflections(episode) == [(1, "click id=4", (3,)), (1, "click id=3", (3, 4))]
        second, plan = prompts(llm, "reflect")[1], prompts(llm, "plan")[-1]
        assert '<button pos="top-left">Save</button>' in second
        assert '<button id="4" pos="top-left">Print</button>' in second
        assert '<button pos="top-left">Print</button>' in plan
        assert '<button id="5" pos="top-left">Quit</button>' in plan

    @pytest.mark.parametrize(
        ("suggestion", "grounded"),
        [('enter "x" to id=1', []), ('enter "x" to the field', ["id=1"])],
    )
    def test_a_click_that_should_have_been_typing_does_not_disable_its_element(
        self, suggestion, grounded
    ):
        field = Element(1, "input_text")
        env = FakePage("g", {"start": [field]}, {}, {
            ("start", "click id=1"): -1.0, ("start", 'enter "x" to id=1'): 1.0,
        })  # fmt: skip
        reply = f"For action index=0, you should {suggestion}."
        episode, llm = play(env, ["click id=1", reply, *grounded])
        assert episode.solved_at == 2
        assert reflections(episode) == [(0, suggestion, ())]
        assert all('<input_text id="1"' in prompt for prompt in prompts(llm, "ground"))

    def test_an_earlier_correction_drops_the_mistakes_of_later_steps(self):
        env = menu(5, 3, 4)
        env.screens["help"] = [button(6, "x"), button(3, "Save")]
        env.moves["start", "click id=2"] = "help"
        env.rewards["help", "click id=3"] = 1.0
        replies = ["click id=1", "Opened the menu.", "click id=3", advice(1, "click id=4")]
        replies += [advice(0, "click id=2"), "Opened the help.", "click id=3"]
        episode, llm = play(env, replies)
        assert episode.solved_at == 3
        assert reflections(episode) == [(1, "click id=4", (3,)), (0, "click id=2", (1,))]
        # Save was disabled at step 1 of the other path only.
        assert '<button id="3" pos="top-left">Save</button>' in prompts(llm, "plan")[-1]

    @pytest.mark.parametrize(
        ("reply", "problem"),
        [
            ("Try harder.", "no suggestion in the reply: 'Try harder.'"),
            ("For action index=7, you should click id=1.", "no screen for an action 7"),
        ],
    )
    def test_an_unreadable_reflection_is_asked_for_once_more(self, reply, problem):
        env = FakePage("g", ONE, {}, {
            ("start", "click id=1"): -1.0, ("start", "click id=2"): 1.0,
        })  # fmt: skip
        again = "For action index=0, you should click id=2."
        episode, llm = play(env, ["click id=1", reply, again])
        assert reflections(episode) == [(0, "click id=2", (1,))]
        assert episode.solved_at == 2
        first, second = prompts(llm, "reflect")
        assert second.startswith(first)
        assert problem in second.removeprefix(first)

    def test_a_reflection_that_stays_unreadable_leaves_the_memory_as_it_was(self):
        unread = ["click id=1", "Opened the menu.", "click id=3", "I do not know.", "What?"]
        episode, llm = play(menu(4, 3), [*unread, "click id=1", "click id=4"])
        assert reflections(episode) == [(None, None, ())]
        assert episode.solved_at == 2
        assert llm.purposes.count("summarise") == 1  # asked once per episode

    def test_a_long_trajectory_keeps_the_first_and_the_last_screen_and_the_actions(self):
        screens = {name: [button(1, name * 9000)] for name in "xyz"}
        moves = {("x", "click id=1"): "y", ("y", "click id=1"): "z"}
        env = FakePage("g", screens, moves, {("z", "click id=1"): -1.0})
        _, llm = play(env, ["click id=1\n" * 3, "?", "?"], trials=2, calls=2)
        prompt = prompts(llm, "reflect")[0]
        assert [name * 9000 in prompt for name in "xyz"] == [True, False, True]
        assert prompt.index("Action index=1") < prompt.index("Screen index=2:\n<button")
