"""The 48 tasks of WebWISE's paper at five seeds.

    pytest tests/suites/webwise.py --miniwob-agent=webwise \\
        --miniwob-baseline=cassettes/webwise/paper.jsonl

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest


@pytest.mark.miniwob("webwise", seeds="1000-1004")
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
