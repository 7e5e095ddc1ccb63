"""A login whose code is shown as a picture, `pages/login-code.html`, for an agent that looks."""

import pytest


@pytest.mark.miniwob("login-code", seeds=[1000, 1001, 1002], trials=3)
def test_logs_in(miniwob_episode):
    """The agent logs in."""
    assert miniwob_episode.solved, miniwob_episode.explain()
