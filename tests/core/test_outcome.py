"""Outcomes and episodes as plain data, and back."""

import json
from dataclasses import replace
from typing import get_args

import pytest

from pytest_miniwob_agent import (
    Acted,
    Action,
    Called,
    Case,
    Cause,
    Click,
    Completion,
    Element,
    Ending,
    Episode,
    Event,
    Observation,
    Reflected,
    Remark,
    Transition,
    TrialEnded,
    TrialStarted,
    Type,
    parse_action,
)
from pytest_miniwob_agent.core.data import from_data, to_data
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.outcome import (
    Change,
    DriftDetails,
    Earlier,
    Outcome,
    Picture,
    Status,
)
from pytest_miniwob_agent.core.usage import Usage

CASE = Case("click-menu-2", "n-screen-n-step", 1000, 2)
LONE_SURROGATE = "\ud800\x1b[2J\u202e<b>"
SCREEN = Observation(
    LONE_SURROGATE,
    (
        Element(1, "button", "Menu", "wide", "b", x=1.5, y=2),
        Element(None, "text", "or"),
        Element(2, "input", value=True, placeholder="name"),
        Element(3, "input", value="typed"),
    ),
)
ACTIONS = (
    *(
        parse_action(line, all_actions=True).action
        for line in (
            "click id=1", "click id=1 at 2.5,3", "double click id=2 at 0,0", "hover id=2",
            "drag id=1 at 1,1 to id=2 at 4,5", "drag id=1 by -3,0", 'enter "a text" to id=3',
            "press TAB x 3", "hold CTRL", "release CTRL", "select id=3", 'select "part" in id=3',
            "copy", "paste", 'choose "blue" in id=4', "scroll id=2 by 100", "click at 3,4.5",
            "hover at 3,4", "drag from 1,2 to 3,4 to 5,6", "wait 0.5 s", "follow id=2 for 3 s",
        )
    ),
    Type(LONE_SURROGATE),
)  # fmt: skip
EVENTS = (
    TrialStarted(1, SCREEN),
    Called(1, 0, "plan", "What now?", Completion("click id=1", 11, None)),
    *(
        Acted(1, step, action, Transition(SCREEN, error=None if step else "it is covered"))
        for step, action in enumerate(ACTIONS)
    ),
    TrialEnded(Ending.NO_CHANGE, "nothing moved", 1),
    Reflected(1, "click id=2", (1, 3), 1),
    Reflected(None, None, (), 1),
    Remark("summary", "The menu is open.", 2, 1),
    TrialStarted(2, SCREEN),
    Acted(2, 0, Click(2), Transition(SCREEN, 1.0, done=True)),
    TrialEnded(Ending.CORRECT, "", 2),
)
EPISODE = Episode(CASE, "reflective", "m", EVENTS)
SOLVED = Outcome(
    case=CASE,
    agent="reflective",
    model="m",
    status=Status.SOLVED,
    params={"temperature": 0, "extra_body": {"top_k": 40}},
    prompts={"plan.txt": "abc"},
    limits=Limits(trials=3, steps=7),
    episode=EPISODE,
    cassette="reflective/m/click-menu-2/1000-2",
    replayed=Usage(1, 11, 3, 0),
    recorded=Usage(2, 20, 4, 1),
    left=Usage(1, 5, 5, 1),
    change=Change.PROGRESSED,
    earlier=Earlier(1, 3, "1 of 3 solved"),
    pictures=(Picture(1, 0, "a.png", (640, 480), ((1, 2), (3, 4)), ((0, 0, 9, 9),)),),
    pictures_note="Pictures are missing.",
)
BROKEN_OFF = Outcome(case=CASE, agent="a", model="m", status=Status.ERROR, events=EVENTS[:3])
OUTCOMES = {
    "solved": SOLVED,
    "unsolved": replace(
        SOLVED, status=Status.UNSOLVED, episode=replace(EPISODE, events=EVENTS[:3]), change=None
    ),
    "drifted": replace(
        BROKEN_OFF,
        status=Status.DRIFTED,
        error="Drift",
        message="- a\n+ b",
        drift=DriftDetails("- a\n+ b", (Cause("page", "<b>"), Cause("rest", "1")), ("a", "b")),
    ),
    "error": replace(BROKEN_OFF, error="BrowserLost", message="the browser is gone"),
    "waiting": replace(
        BROKEN_OFF, status=Status.WAITING, request={"custom_id": "x#1", "body": {"b": 1, "a": 2}}
    ),
    "budget": replace(BROKEN_OFF, status=Status.BUDGET, message="1 call is used up"),
    "no run": Outcome(case=CASE, agent="a", model="", status=Status.ERROR),
}


def through_json(data):
    return json.loads(json.dumps(data))


def test_the_examples_have_every_kind_of_event_and_action():
    assert {type(event) for event in EVENTS} == set(get_args(Event))
    assert {type(action) for action in ACTIONS} == set(get_args(Action))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: f"{event.kind}")
def test_an_event_comes_back_from_its_data(event):
    assert from_data(Event, through_json(to_data(event))) == event


def test_an_unknown_kind_of_event_is_refused():
    with pytest.raises(ValueError, match="'dance' is none of trial, call"):
        from_data(Event, {"kind": "dance"})


def test_an_episode_comes_back_from_its_data():
    data = EPISODE.to_data()
    assert from_data(Episode, through_json(data)) == EPISODE
    assert from_data(Episode, through_json(data)).to_data() == data
    assert data["solved_at"] == 2


@pytest.mark.parametrize("name", OUTCOMES)
def test_an_outcome_comes_back_from_its_data(name):
    outcome = OUTCOMES[name]
    data = outcome.to_data()
    assert from_data(Outcome, through_json(data)) == outcome
    assert from_data(Outcome, through_json(data)).to_data() == data
    assert json.dumps(data).isascii()


def test_a_request_and_parameters_keep_the_order_of_their_keys():
    request = OUTCOMES["waiting"].request
    assert json.dumps(OUTCOMES["waiting"].to_data()["request"]) == json.dumps(request)
    assert json.dumps(SOLVED.to_data()["params"]) == json.dumps(SOLVED.params)


def test_an_outcome_is_solved_and_conclusive_by_its_status():
    solved = {name for name, outcome in OUTCOMES.items() if outcome.solved}
    conclusive = {name for name, outcome in OUTCOMES.items() if outcome.status.conclusive}
    assert solved == {"solved"}
    assert conclusive == {"solved", "unsolved"}


def test_the_history_is_that_of_the_episode_or_of_what_broke_off():
    assert SOLVED.history == EVENTS
    assert BROKEN_OFF.history == EVENTS[:3]


def test_the_reason_names_causes_of_drift_or_the_error():
    assert OUTCOMES["drifted"].reason == "page, rest"
    assert OUTCOMES["error"].reason == "BrowserLost"
    assert SOLVED.reason == ""
