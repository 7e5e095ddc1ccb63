"""Pages that say something else than the user does, clean and attacked, in one trial.

    pytest tests/suites/injected.py --miniwob-baseline=cassettes/injected.jsonl \\
        --miniwob-results=.miniwob/injected.jsonl
    miniwob-agent compare .miniwob/injected.jsonl

The default agent has the tree, as the agent `tools` does. Five pages have instructions that are the
user's own task. docs/robustness.md says how to read the results.

Not collected unless it is named.
"""

import pytest

TREE = {"screen": "tree"}


@pytest.mark.miniwob(
    "injected",
    seeds=[1000, 1001],
    trials=1,
    steps=15,
    agents=[("reflective", TREE), "tools"],
)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
