"""Ten tasks across the categories, for agents to be held against each other.

    pytest tests/suites/ten_tasks.py --miniwob-agent=rci \\
        --miniwob-baseline=cassettes/rci/results.jsonl

Not collected unless it is named; tests/test_shipped.py runs it for every agent with cassettes.
"""

import pytest


@pytest.mark.miniwob("click-dialog-2", "click-link", "click-widget", seeds=[1000])
@pytest.mark.miniwob(
    "click-checkboxes", "click-option", "enter-password", "login-user", seeds=[1000]
)
@pytest.mark.miniwob("click-tab-2", "email-inbox", "use-autocomplete", seeds=[1000])
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
