"""The word of an outcome, as verbose runs show it."""

from dataclasses import replace

import pytest
from support.made_report import made_up, without_result

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.terminal.run import outcome_word

CASE = Case("click-menu-2", "n-screen-n-step", 1)
UNSOLVED = made_up(CASE, None)


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("solved@2", made_up(CASE, 2)),
        ("FAILED", UNSOLVED),
        ("no trial", replace(UNSOLVED, episode=replace(UNSOLVED.episode, events=()))),
        ("drift", without_result(CASE, Status.DRIFTED, error="Drift")),
        ("waiting", without_result(CASE, Status.WAITING)),
        ("no episode", without_result(CASE, Status.ERROR)),
        ("a [2J", without_result(CASE, Status.ERROR, error="a\x1b[2J")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_outcome_has_a_word(word, outcome):
    assert outcome_word(outcome) == word
