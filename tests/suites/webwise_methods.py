"""WebWISE's 48 tasks at one seed with the eight methods of its tables 1 and 2.

    pytest tests/suites/webwise_methods.py --miniwob-results=methods.jsonl
    miniwob-agent tables methods.jsonl

The ninth is automatic context, which takes two runs: see docs/reproduce.md.

Not collected unless it is named.
"""

import pytest

SINGLE = [{"steps": "single", "objects": objects} for objects in ("none", "whole", "filtered")]
AGENTS = [
    ("webwise", {**method, "examples": examples})
    for method in (*SINGLE, {"steps": "multi"})
    for examples in ("none", "built-in")
]


@pytest.mark.miniwob("webwise", seeds=[1000], agents=AGENTS)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
