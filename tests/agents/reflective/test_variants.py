"""Variants of the reflective agent: how each differs from the default."""

from itertools import pairwise

import pytest
from support import scripted
from support.scripted import actions, advice, button, menu, prompts, reflections

from pytest_miniwob_agent.agents.reflective import ReflectiveAgent
from pytest_miniwob_agent.core.events import Ending
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.testing import FakePage


def play(env, replies, trials=5, steps=30, **variant):
    return scripted.play(ReflectiveAgent(**variant), env, replies, trials=trials, steps=steps)


class TestPlanning:
    def test_iterative_planning_asks_before_every_action(self):
        replies = ["click id=1\nclick id=5", "click id=5"]
        episode, llm = play(menu(5), replies, planning="iterative")
        assert episode.solved
        assert llm.purposes == ["plan", "plan"]
        first, second = prompts(llm, "plan")
        assert "Screen index=1" not in first
        assert "Action index=0: click id=1" in second
        assert "Screen index=1:" in second
        assert ">Quit<" in second

    def test_plan_then_adapt_makes_its_rough_plan_once(self):
        replies = ["1. Open the menu.", "click id=1", "click id=3"]
        replies += [advice(1, "click id=4"), advice(0, "click id=1"), "DONE"]
        episode, llm = play(menu(5, 3, 4), replies, 3, planning="plan-then-adapt")
        assert llm.purposes == ["plan", "adapt", "adapt", "reflect", "reflect", "adapt"]
        [sketch] = prompts(llm, "plan")
        assert ">Menu<" in sketch
        assert all("1. Open the menu." in prompt for prompt in prompts(llm, "adapt"))
        assert episode.endings == (Ending.FAILED, Ending.FAILED, Ending.INCOMPLETE)


class TestMemory:
    def test_plain_memory_shows_its_notes_to_planner_and_reflector_and_enforces_none(self):
        replies = ["click id=1", "Opened the menu.", "click id=3", advice(1, "click id=4")]
        replies += ["click id=4", advice(0, "click id=1"), "click id=1", "click id=5"]
        episode, llm = play(menu(5, 3, 4), replies, memory="plain")
        assert episode.solved_at == 3
        assert actions(episode, 3) == ["click id=1", "click id=5"]
        notes = [
            "For action index=1, you should click id=4 instead of click id=3.",
            "For action index=0, you should click id=1 instead of click id=1.",
        ]
        second, third = prompts(llm, "plan")[-3:-1]
        assert notes[0] in second
        assert "The next action is number 1." in second
        assert "\n".join(notes) in third
        first, again = prompts(llm, "reflect")
        assert "instead of" not in first
        assert again.index(notes[0]) < again.index("Screen index=0")
        for prompt in (again, third, prompts(llm, "plan")[-1]):
            assert "<button pos=" not in prompt

    def test_wrong_clicks_keep_their_ids_without_the_constraint(self):
        replies = ["click id=1", "Opened the menu.", "click id=3", advice(1, "click id=4")]
        replies += ["?", "?", "click id=5"]
        episode, llm = play(menu(5, 3, 4), replies, 3, memory="unconstrained")
        assert '<button id="3" pos="top-left">Save</button>' in prompts(llm, "reflect")[1]
        assert reflections(episode)[0] == (1, "click id=4", ())

    def test_without_a_memory_each_trial_is_planned_anew(self):
        trial = ["click id=1", "Opened the menu.", "click id=3"]
        episode, llm = play(menu(5, 3), [*trial, "click id=1", "click id=5"], 2, memory="none")
        assert episode.solved
        first, _, again, _ = prompts(llm, "plan")
        assert again == first

    def test_a_retry_repeats_the_trial_before_but_for_one_click_and_asks_no_model(self):
        trial = ["click id=1", "Opened the menu.", "click id=3"]
        runs = [play(menu(5, 3, 4), trial, memory="retry") for _ in range(2)]
        (episode, llm), (same, _) = runs
        assert llm.purposes == ["plan", "summarise", "plan"]
        tried = [actions(episode, number) for number in range(1, len(episode.endings) + 1)]
        assert tried == [actions(same, number) for number in range(1, len(tried) + 1)]
        assert len(tried) > 1
        for before, after in pairwise(tried):
            assert sum(a != b for a, b in zip(before, after, strict=False)) == 1

    def test_a_retry_may_plan_on_after_the_click_that_it_changed(self):
        page = FakePage(
            "Open the menu and save",
            {"start": [button(1, "Menu"), button(2, "Menu")], "open": [button(3, "Save")]},
            {("start", "click id=2"): "open"},
            {("start", "click id=1"): -1.0, ("open", "click id=3"): 1.0},
        )
        trial = ["click id=1", "Opened the menu.", "click id=3"]
        assert play(page, trial, 2, memory="retry")[0].endings[1] is Ending.INCOMPLETE
        episode, llm = play(page, trial, 2, memory="retry-then-plan")
        assert episode.solved_at == 2
        assert actions(episode, 2) == ["click id=2", "click id=3"]
        assert llm.purposes == ["plan", "summarise", "plan"]

    @pytest.mark.parametrize("memory", ["retry", "retry-then-plan"])
    def test_without_another_element_to_click_nothing_is_changed(self, memory):
        page = FakePage("Press", {"start": [button(1, "A")]}, {}, {("start", "click id=1"): -1.0})
        episode, llm = play(page, ["click id=1"] * 3, 3, memory=memory)
        assert [actions(episode, number) for number in (1, 2, 3)] == [["click id=1"]] * 3
        assert len(llm.purposes) == (1 if memory == "retry" else 3)


PUBLISHED = {"as_published": True}


class TestAsPublished:
    @pytest.mark.parametrize("variant", [{"endings": "action"}, PUBLISHED])
    def test_an_action_within_a_stage_that_changes_nothing_ends_the_trial(self, variant):
        # What was acted on is marked in the page's HTML, so that the first click is a change.
        plan = ["click id=2\nclick id=2\nclick id=1", "Helped.", "Opened.", "click id=5"]
        assert play(menu(5), plan, 1)[0].solved
        episode, _ = play(menu(5), plan, 1, **variant)
        assert episode.endings == (Ending.NO_CHANGE,)
        assert actions(episode) == ["click id=2", "click id=2"]

    def test_an_action_that_leads_back_ends_the_trial_in_whichever_stage(self):
        screens = {"start": [button(1, "Menu")], "open": [button(1, "Menu"), button(2, "Save")]}
        moves = {("start", "click id=1"): "open", ("open", "click id=1"): "start"}
        page = FakePage("g", screens, moves)
        replies = ["click id=1", "Opened.", "click id=1", "Closed.", "click id=1", "DONE"]
        assert play(page, replies, 1)[0].endings == (Ending.INCOMPLETE,)
        episode, _ = play(page, replies, 1, endings="action")
        assert episode.endings == (Ending.CYCLE,)
        assert actions(episode) == ["click id=1"] * 3

    @pytest.mark.parametrize(
        ("variant", "disabled"),
        [({}, [(3,), (3, 4)]), ({"disabling": "later"}, [(), (3,)]), (PUBLISHED, [(), (3,)])],
    )
    def test_a_wrong_click_loses_its_id_with_the_next_suggestion_for_its_step(
        self, variant, disabled
    ):
        replies = ["click id=1", "Opened the menu.", "click id=3", advice(1, "click id=4")]
        episode, _ = play(menu(5, 3, 4), [*replies, advice(1, "click id=5")], **variant)
        assert episode.solved_at == 3
        assert [found for *_, found in reflections(episode)] == disabled

    @pytest.mark.parametrize("variant", [{"notes": "own-step"}, PUBLISHED])
    def test_a_note_is_shown_to_the_plan_of_its_step_and_to_reflections(self, variant):
        replies = ["click id=1", "Opened the menu.", "click id=3", advice(0, "click id=1")]
        replies += ["click id=1", "click id=4", advice(1, "click id=5"), "click id=5"]
        episode, llm = play(menu(5, 3, 4), replies, memory="plain", **variant)
        assert episode.solved_at == 3
        note, other = (f"For action index={step}, you should click id=" for step in (0, 1))
        plans = prompts(llm, "plan")
        assert [note in plan for plan in plans] == [False, False, True, False, False]
        assert [other in plan for plan in plans] == [False] * 4 + [True]
        assert [note in prompt for prompt in prompts(llm, "reflect")] == [False, True]

    @pytest.mark.parametrize("variant", [{"grounding": "none"}, PUBLISHED])
    def test_no_call_asks_which_element_an_action_means(self, variant):
        assert play(menu(5), ["click Menu", "id=1", "Opened.", "DONE"], 1)[1].purposes[:2] == [
            "plan",
            "ground",
        ]
        episode, llm = play(menu(5), ["click Menu"], 1, **variant)
        assert (llm.purposes, episode.endings) == (["plan"], (Ending.EXCEPTION,))


class TestStuck:
    @pytest.mark.parametrize("variant", [{"screen": "full"}, {"stuck": "replan"}])
    def test_an_impossible_action_is_shown_to_the_next_plan_of_the_trial(self, variant):
        replies = ["click id=1\nclick id=2\nclick id=5", "Opened.", "click id=4\nclick id=5"]
        episode, llm = play(menu(5), replies, 1, **variant)
        assert episode.solved
        assert actions(episode) == ["click id=1", "click id=2", "click id=4", "click id=5"]
        assert llm.purposes == ["plan", "summarise", "plan"]
        first, second = prompts(llm, "plan")
        reason = "click id=2: this could not be done (there is no element with id=2 on the screen)."
        assert f"1. Opened.\n2. {reason}\n" in second
        assert second.index("Help") < second.index("The screen now:") < second.index("Print")
        assert "could not be done" not in first

    def test_a_later_plan_and_a_reflection_tell_of_it_in_a_line(self):
        page = menu(5)
        page.rewards["open", "click id=4"] = -1.0
        replies = ["click id=9", "click id=1", "Opened.", "click id=4", advice(2, "click id=5")]
        episode, llm = play(page, replies, 2, screen="full")
        assert episode.solved_at == 2
        assert actions(episode, 2) == ["click id=9", "click id=1", "click id=5"]
        line = "click id=9: this could not be done"
        assert f"1. {line}" in prompts(llm, "plan")[2]
        assert "was dropped" not in prompts(llm, "plan")[2]
        assert f"Action index=0: {line}" in prompts(llm, "reflect")[0]

    def test_a_plan_that_led_back_to_its_screen_is_followed_by_another(self):
        page = FakePage("Draw twice", {"start": [button(1, "Draw"), button(2, "Done")]})
        page.rewards["start", "click id=2"] = 1.0
        replies = ["click id=2 at 1,1", "Drew.", "click id=2"]
        episode, llm = play(page, replies, 1, screen="full", actions="all")
        assert episode.endings == (Ending.CORRECT,)
        first, second = prompts(llm, "plan")
        assert "looks just as it did before" in second
        assert "looks just as it did before" not in first
        assert play(page, replies, 1, screen="full", stuck="end", actions="all")[0].endings == (
            Ending.NO_CHANGE,
        )

    @pytest.mark.parametrize("variant", [{}, {"screen": "full", "as_published": True}])
    def test_as_published_both_end_the_trial(self, variant):
        assert play(menu(5), ["click id=9"], 1, **variant)[0].endings == (Ending.EXCEPTION,)

    def test_trials_end_by_the_limit_of_their_actions(self):
        episode, _ = play(menu(5), ["click id=9"] * 4, 1, steps=3, stuck="replan")
        assert episode.endings == (Ending.STEP_LIMIT,)


class TestAllActions:
    def test_further_actions_are_explained_and_carried_out(self):
        page = FakePage(
            "Drag the box",
            {"start": [button(1, "box"), button(2, "target")]},
            rewards={("start", "drag id=1 to id=2"): 1.0},
        )
        episode, llm = play(page, ["hover id=1\ndrag id=1 to id=2"], actions="all")
        assert episode.solved
        assert "drag" in prompts(llm, "plan")[0]
        assert "drag" not in prompts(play(page, ["DONE"], 1)[1], "plan")[0]

    def test_actions_without_a_visible_effect_do_not_end_the_trial(self):
        page = FakePage("g", {"start": [button(1, "a")]})
        replies = ["select id=1\nhold CTRL", "A text was marked.", "CTRL was held.", "DONE"]
        episode, _ = play(page, replies, 1, actions="all")
        assert actions(episode) == ["select id=1", "hold CTRL"]
        assert episode.endings == (Ending.INCOMPLETE,)

    def test_a_wrong_click_at_a_place_does_not_disable_the_element(self):
        page = FakePage("g", {"start": [button(1, "a")]}, rewards={
            ("start", "click id=1 at 1,1"): -1.0, ("start", "click id=1 at 5,5"): 1.0,
        })  # fmt: skip
        replies = ["click id=1 at 1,1", advice(0, "click id=1 at 5,5")]
        episode, _ = play(page, replies, actions="all")
        assert episode.solved_at == 2
        assert reflections(episode) == [(0, "click id=1 at 5,5", ())]


class TestFullScreen:
    def page(self):
        start, end = (
            [Element(1, "rect", details=(("fill", fill), ("box", "5,60,9,9")))]
            for fill in ("red", "blue")
        )
        moves = {("start", "wait 0.5 s"): "end"}
        rewards = {("end", "click at 9,64"): 1.0}
        return FakePage("Hit", {"start": start, "end": end}, moves, rewards)

    def test_the_plan_follows_thoughts_on_everything_that_shows(self):
        thoughts = "Click it? No: wait.\n\n**PLAN:**\nwait 0.5 s"
        replies = [thoughts, "It was red.", "PLAN: click at 9,64"]
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

    def test_a_plan_is_made_on_the_tree(self):
        start = [Element(1, "button", "Go", role="button", details=(("state", "focused"),))]
        env = FakePage("Go", {"start": start}, rewards={("start", "click id=1"): 1.0})
        episode, llm = play(env, ["PLAN: click id=1"], screen="tree", actions="all")
        assert episode.solved
        [plan] = prompts(llm, "plan")
        assert '\nbutton "Go" id=1 focused\n' in plan
        assert "A screen is a tree" in plan
        assert "click at" not in plan
        assert "wait 2.5 s" in plan

    def test_only_the_full_screen_has_details(self):
        _, llm = play(self.page(), ["DONE"], trials=1)
        assert "box" not in prompts(llm, "plan")[0]
