"""Two items on which the reflective agent has to reflect, for its ablations and baselines.

    pytest tests/suites/reflection.py --miniwob-agent-params='{"planning": "iterative"}' \\
        --miniwob-baseline=cassettes/reflective-iterative/results.jsonl

A popup interrupts the login, which no plan on the first screen can foresee.

Not collected unless it is named; tests/test_shipped.py runs it for every variant with cassettes.
"""

import pytest


@pytest.mark.miniwob("login-user-popup", seeds=[1000, 1001], trials=3)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
