"""Episodes and outcomes: what they say of what happened, and their plain data."""

import json
import pickle
from dataclasses import replace

from pytest_miniwob_agent import (
    Acted,
    Called,
    Case,
    Click,
    Completion,
    Element,
    Ending,
    Episode,
    Observation,
    Outcome,
    Reflected,
    Remark,
    Status,
    Transition,
    TrialEnded,
    TrialStarted,
    Usage,
)
from pytest_miniwob_agent.core.outcome import Result, Tokens

CASE = Case("click-menu-2", "n-screen-n-step", 1000, 2)
SCREEN = Observation("\ud800\x1b[2J\u202e<b>", (Element(1, "button", "Menu"),))
EVENTS = (
    TrialStarted(1, SCREEN),
    Called(1, 0, "plan", "What now?", Completion("click id=1", 11, None, "m-1", "fp")),
    Acted(1, 0, Click(1), Transition(SCREEN, error="it is covered")),
    Acted(1, 1, Click(1, (2, 3)), Transition(SCREEN, -1.0, done=True)),
    TrialEnded(Ending.FAILED, "reward -1", 1),
    Reflected(1, "click id=2", (1, 3), 1),
    Reflected(None, None, (), 1),
    Remark("summary", "The menu is open.", 2, 1),
    TrialStarted(2, SCREEN),
    Acted(2, 0, Click(2), Transition(SCREEN, 1.0, done=True)),
    TrialEnded(Ending.CORRECT, "", 2),
)
EPISODE = Episode(CASE, "reflective", "m", EVENTS)
SOLVED = Outcome(result=Result.of(EPISODE, Status.SOLVED), episode=EPISODE)
BROKEN_OFF = Outcome(
    result=Result.of(Episode(CASE, "a", "m", EVENTS[:3]), Status.ERROR), events=EVENTS[:3]
)


def test_an_episode_says_what_happened():
    assert (EPISODE.solved_at, EPISODE.trials, EPISODE.steps, EPISODE.calls) == (2, 2, 3, 1)
    assert (EPISODE.rewards, EPISODE.reward, EPISODE.tokens) == ((-1.0, 1.0), 1.0, None)
    assert EPISODE.endings == (Ending.FAILED, Ending.CORRECT)
    assert EPISODE.explain().splitlines() == [
        "solved in trial 2",
        "item: n-screen-n-step/click-menu-2/1000-2, reflective with m",
        "goal: [2J <b>",
        "trial 1: FAILED, reward -1",
        "  reflection: action 1 should be click id=2",
        "  reflection: could not be read",
        "trial 2: CORRECT",
        "  0. click id=2  -> reward 1",
    ]


def test_the_data_of_an_episode_and_an_outcome_is_plain():
    data = json.loads(json.dumps(SOLVED.to_data()))
    assert data["episode"] == json.loads(json.dumps(EPISODE.to_data()))
    assert (data["result"]["outcome"], data["episode"]["solved_at"]) == ("solved", 2)
    act = data["episode"]["events"][3]
    assert (act["kind"], act["action"]) == ("act", {"kind": "click", "element": 1, "at": [2, 3]})


def test_an_outcome_can_be_pickled():
    assert pickle.loads(pickle.dumps(SOLVED)) == SOLVED


def test_an_outcome_is_solved_and_conclusive_by_its_status():
    assert [status for status in Status if status.conclusive] == [Status.SOLVED, Status.UNSOLVED]
    assert SOLVED.solved
    assert not BROKEN_OFF.solved


def test_the_history_is_that_of_the_episode_or_of_what_broke_off():
    assert SOLVED.history == EVENTS
    assert SOLVED.answered_by == ["m-1 (fp)"]
    assert BROKEN_OFF.history == EVENTS[:3]


def test_a_result_has_figures_only_of_an_episode_that_is_over():
    assert (SOLVED.result.solved_at, SOLVED.result.endings) == (2, ("failed", "correct"))
    assert (SOLVED.result.steps, SOLVED.result.calls) == (3, {"plan": 1})
    assert SOLVED.result.tokens == Tokens(11, None)
    broken_off = BROKEN_OFF.result
    assert (broken_off.endings, broken_off.steps, broken_off.calls) == ((), 0, {})
    assert (broken_off.response_models, broken_off.system_fingerprints) == (("m-1",), ("fp",))


def test_calls_of_an_earlier_run_that_are_replayed_count_as_recorded_alone():
    first = replace(SOLVED, recorded=Usage(2, 20, 4))
    both = replace(SOLVED, replayed=Usage(2, 20, 4), recorded=Usage(1, 9, 1)).after(first)
    assert (both.recorded, both.replayed) == (Usage(3, 29, 5), Usage())
