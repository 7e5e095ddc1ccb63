"""The word of an outcome, as verbose runs show it."""

import pytest

from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.events import Acted, Ending, Episode, TrialEnded
from pytest_miniwob_agent.core.observations import Observation, Transition
from pytest_miniwob_agent.core.outcome import Outcome, Status
from pytest_miniwob_agent.terminal.statuses import outcome_word

CASE = Case("click-menu-2", "n-screen-n-step", 1)


def outcome(status, **fields):
    return Outcome(case=CASE, agent="reflective", model="m", status=status, **fields)


def episode(*endings):
    """An episode with a trial for each ending."""
    events = []
    for trial, ending in enumerate(endings, 1):
        reward = 1.0 if ending is Ending.CORRECT else -1.0
        done = Transition(Observation(""), reward, done=True)
        events += [Acted(trial, 0, Click(1), done), TrialEnded(ending, "", trial)]
    return Episode(CASE, "reflective", "m", tuple(events))


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("solved@2", outcome(Status.SOLVED, episode=episode(Ending.FAILED, Ending.CORRECT))),
        ("NO_CHANGE", outcome(Status.UNSOLVED, episode=episode(Ending.FAILED, Ending.NO_CHANGE))),
        ("no trial", outcome(Status.UNSOLVED, episode=episode())),
        ("drift", outcome(Status.DRIFTED, error="Drift")),
        ("waiting", outcome(Status.WAITING)),
        ("no episode", outcome(Status.ERROR)),
        ("a [2J", outcome(Status.ERROR, error="a\x1b[2J")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_outcome_has_a_word(word, outcome):
    assert outcome_word(outcome) == word
