"""Ten easy tasks for the agents of this folder that drive the browser themselves."""

import pytest


@pytest.mark.miniwob(
    "choose-list",
    "click-button",
    "click-checkboxes",
    "click-collapsible",
    "click-dialog",
    "click-option",
    "click-test",
    "enter-text",
    "focus-text",
    "login-user",
    seeds=[1000],
    trials=1,
)
def test_solves(miniwob_episode):
    """The agent solves the task."""
    assert miniwob_episode.solved, miniwob_episode.explain()
