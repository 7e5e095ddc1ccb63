"""Memories of the reflective agent side by side, on the pages on which a first plan fails.

    pytest tests/suites/memories.py --miniwob-baseline=cassettes/memories.jsonl \\
        --miniwob-results=.miniwob/memories.jsonl
    miniwob-agent tables .miniwob/memories.jsonl
    miniwob-agent compare .miniwob/memories.jsonl --first=reflective/claude

All twenty pages of the suite `reflection`, up to five trials. Variants share the answers to equal
prompts, so that pairs differ by the memory alone: trial 1 is the same for all. Three of them are
controls: `none` plans each trial anew, `retry` changes one click at random without a model, and
`retry-then-plan` plans on after that click.

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest

COMPARED = ["reflective", ("reflective", {"memory": "plain"})]
NAMES = ("unconstrained", "none", "retry-then-plan")
OTHERS = [("reflective", {"memory": name}) for name in NAMES]
RETRY = ("reflective", {"memory": "retry"})


@pytest.mark.miniwob("reflection", seeds="1000-1007", agents=[*COMPARED, RETRY])
@pytest.mark.miniwob("reflection", seeds="1000-1002", agents=OTHERS)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
