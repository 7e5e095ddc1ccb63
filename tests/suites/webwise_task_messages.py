"""WebWISE's multi-step tasks at one seed with the 13 task messages of its table 5.

    pytest tests/suites/webwise_task_messages.py --miniwob-results=messages.jsonl
    miniwob-agent compare messages.jsonl

Each message goes with no example and with one. The tasks are those of webwise_multi_step.py.

Not collected unless it is named.
"""

import pytest

OPENED = ("click-collapsible-2", "click-pie", "click-tab-2", "click-tab-2-hard", "navigate-tree")
EMAILS = ("email-inbox", "email-inbox-*nl*")
TYPED = ("search-engine", "terminal")
AGENTS = [
    ("webwise", {"task_message": number, "examples": examples})
    for number in range(1, 14)
    for examples in ("none", "built-in")
]


@pytest.mark.miniwob(*OPENED, *EMAILS, *TYPED, seeds=[1000], agents=AGENTS)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
