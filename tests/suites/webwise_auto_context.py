"""WebWISE's single step with and without automatic context (4.5), on its multi-step tasks.

    pytest tests/suites/webwise_auto_context.py --miniwob-results=auto-context.jsonl
    miniwob-agent compare auto-context.jsonl

The tasks and seeds are those of webwise_multi_step.py, which has the multi-step agent. The examples
in webwise_single_step_examples.jsonl are from the items without examples at seeds 0 and 1:

    pytest tests/suites/webwise_multi_step.py --miniwob-agent=webwise --miniwob-seeds=0-1 \
        --miniwob-agent-params='{"steps": "single", "save_examples": "pool.jsonl"}'

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

from pathlib import Path

import pytest

OPENED = ("click-collapsible-2", "click-pie", "click-tab-2", "click-tab-2-hard", "navigate-tree")
EMAILS = ("email-inbox", "email-inbox-*nl*")
TYPED = ("search-engine", "terminal")
POOL = str(Path(__file__).with_name("webwise_single_step_examples.jsonl"))
WITHOUT, WITH = [("webwise", {"steps": "single", "examples": source}) for source in ("none", POOL)]


@pytest.mark.miniwob(*OPENED, *EMAILS, *TYPED, seeds=[0, 1], agents=[WITHOUT])
@pytest.mark.miniwob(*OPENED, *EMAILS, *TYPED, seeds=[1000, 1001], agents=[WITHOUT, WITH])
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
