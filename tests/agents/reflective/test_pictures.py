"""The reflective agent that is shown pictures, alone or beside the text of the screen."""

import re
from itertools import pairwise

import pytest
from support import scripted
from support.drawn_pictures import opened
from support.scripted import advice

from pytest_miniwob_agent.agents.reflective import ReflectiveAgent
from pytest_miniwob_agent.agents.reflective.dialogue import MOST_PICTURES
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.models.api import digests_in, extract
from pytest_miniwob_agent.pictures import pixel_digest
from pytest_miniwob_agent.testing import FakePage, VisibleFakePage

SCREENS = {
    "start": [Element(1, "button", "Menu"), Element(2, "button", "Help")],
    "open": [Element(1, "button", "Menu"), Element(3, "button", "Save"), Element(4, "b", "Quit")],
}
MOVES = {("start", "click id=1"): "open"}
REWARDS = {("open", "click id=3"): -1.0, ("open", "click id=4"): 1.0}
SECOND_TRIAL = [
    "It shows a menu.\nPLAN:\nclick id=1",
    "The menu was opened.",
    "PLAN:\nclick id=3",
    advice(1, "click id=4"),
]


def play(replies, screen, env=None, **variant):
    env = env or VisibleFakePage("Quit", SCREENS, MOVES, REWARDS)
    return scripted.play(ReflectiveAgent(screen=screen, **variant), env, replies, trials=2)


def pictures(llm):
    return [digests_in(extract(request.body)[0]) for request in llm.requests]


@pytest.mark.parametrize("screen", ["picture", "both"])
def test_each_call_has_the_pictures_of_its_screens(screen):
    episode, llm = play(SECOND_TRIAL, screen)
    assert episode.solved_at == 2
    assert llm.purposes == ["plan", "summarise", "plan", "reflect"]
    [start], [again], [opened_menu], both = pictures(llm)
    assert start == again != opened_menu
    assert both == [start, opened_menu]
    for _, prompt in llm.prompts:
        assert ("Menu</button>" in prompt) == (screen == "both")
    reflection = llm.prompts[-1][1]
    for number in (1, 2):
        assert len(re.findall(rf"^\[picture {number}\]$", reflection, re.M)) == 2
    assert "Action index=0: click id=1" in reflection


@pytest.mark.parametrize("screen", ["picture", "both"])
def test_a_plan_after_an_impossible_action_has_both_screens_in_order(screen):
    replies = ["PLAN:\nclick id=1\nclick id=2", "The menu was opened.", "PLAN:\nclick id=4"]
    episode, llm = play(replies, screen)
    assert (episode.solved_at, llm.purposes) == (1, ["plan", "summarise", "plan"])
    [start], _, both = pictures(llm)
    assert both[0] == start != both[1]
    text = llm.prompts[-1][1]
    assert text.rindex("[picture 1]") < text.index("The screen now:") < text.rindex("[picture 2]")


def test_a_wrong_click_loses_its_mark():
    replies = ["click id=2", advice(0, "press ENTER"), "A key was pressed."]
    replies += ["click id=1", "The menu was opened.", "click id=4"]
    env = VisibleFakePage("Quit", SCREENS, MOVES, REWARDS | {("start", "click id=2"): -1.0})
    shots, look = [], env.look
    env.look = lambda *args, **options: shots.append(look(*args, **options)) or shots[-1]
    play(replies, "picture", env)
    assert [shot.marked for shot in shots[:3]] == [(1, 2), (1,), (1, 2)]
    assert {shot.zoom for shot in shots} == {3}
    assert pixel_digest(opened(shots[0].png)) != pixel_digest(opened(shots[1].png))


def test_a_long_trajectory_shows_the_first_and_the_last_picture():
    names = [f"s{number}" for number in range(MOST_PICTURES + 2)]
    screens = {name: [Element(1, "button", f"Go {name}")] for name in names}
    moves = {(name, "click id=1"): after for name, after in pairwise(names)}
    env = VisibleFakePage("Go", screens, moves, {(names[-1], "click id=1"): -1.0})
    unread = advice(len(names), "press ENTER")
    _, llm = play(["click id=1\n" * len(names), unread, unread] * 2, "picture", env)
    assert len(pictures(llm)[1]) == 2
    assert "Action index=5: click id=1" in llm.prompts[1][1]


def test_a_page_without_pictures_is_refused_by_name():
    with pytest.raises(UsageError, match="gives no pictures"):
        play(["click id=1"], "picture", FakePage("Quit", SCREENS, MOVES, REWARDS))
