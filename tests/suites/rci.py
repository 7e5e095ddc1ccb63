"""The 54 tasks of RCI's paper at one seed.

    pytest tests/suites/rci.py --miniwob-agent=rci --miniwob-baseline=cassettes/rci/paper.jsonl

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest


@pytest.mark.miniwob("rci", seeds=[1000])
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
