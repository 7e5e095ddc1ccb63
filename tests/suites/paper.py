"""The whole evaluation of the reflective agent's paper: 43 tasks at 25 seeds, five trials.

    pytest tests/suites/paper.py --miniwob-baseline=cassettes/reflective/paper.jsonl

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest


@pytest.mark.miniwob("paper", seeds="1000-1024", trials=5)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
