"""The same tasks for the agent of browser-use, which drives the browser itself."""

import pytest
from tasks import TASKS

AGENT = ("with_browser_use:BrowserUse", {"width": 1280, "height": 720})


@pytest.mark.miniwob(*TASKS, seeds=[1], trials=1, steps=20, agents=[AGENT])
def test_admin(miniwob_episode):
    """The agent does what it is asked to do in the admin."""
    assert miniwob_episode.solved, miniwob_episode.explain()
