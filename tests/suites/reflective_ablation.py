"""Five hard tasks at 25 seeds with each memory, for the reflective paper's ablations (figure 7).

    pytest tests/suites/reflective_ablation.py --miniwob-results=memories.jsonl
    miniwob-agent tables memories.jsonl

The paper does not print the names of its five tasks. These are the five that gain most from
reflection in its table 13.

Not collected unless it is named.
"""

import pytest

TASKS = ("click-menu-2", "click-tab-2", "click-tab-2-hard", "search-engine", "use-autocomplete")
MEMORIES = ("structured", "plain", "unconstrained")
AGENTS = [("reflective", {"memory": memory}) for memory in MEMORIES]


@pytest.mark.miniwob(*TASKS, seeds="1000-1024", trials=3, agents=AGENTS)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
