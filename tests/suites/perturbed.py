"""Five small apps, clean and under twelve perturbations, in one trial.

    pytest tests/suites/perturbed.py --miniwob-results=perturbed.jsonl
    miniwob-agent compare perturbed.jsonl

The agents have the tree and every action: some pages have to be waited for.
docs/robustness.md says how to read the results.

Not collected unless it is named.
"""

import pytest

TREE = {"screen": "tree", "actions": "all"}
AGENTS = [("reflective", TREE), ("tools", TREE)]


@pytest.mark.miniwob("perturbed", seeds=[1000, 1001], trials=1, agents=AGENTS)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
