"""RCI as published with and without agent grounding, on the two tasks that asked for it.

    pytest tests/suites/rci_grounding.py --miniwob-results=grounding.jsonl
    miniwob-agent compare grounding.jsonl

They are the tasks of rci.py whose items, played as published at seed 1000, had an instruction that
could not be carried out.

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest

PUBLISHED = {"as_published": True}
AGENTS = [("rci", PUBLISHED), ("rci", {**PUBLISHED, "without": "agent"})]


@pytest.mark.miniwob("enter-date", seeds="1000-1004", agents=AGENTS)
@pytest.mark.miniwob("terminal", seeds="1000-1003", agents=AGENTS)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
