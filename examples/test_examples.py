"""Four easy tasks for the agents of this folder; README.md says which of them each has recorded."""

import pytest


@pytest.mark.miniwob(
    "click-checkboxes", "click-test-2", "enter-text", "login-user", seeds=[1000], trials=1
)
def test_solves(miniwob_episode):
    """The agent solves the task."""
    assert miniwob_episode.solved, miniwob_episode.explain()
