"""Five tasks on Django's admin for the agent `tools`."""

import pytest
from graders import GRADERS
from tasks import TASKS


@pytest.mark.miniwob(*TASKS, seeds=[1], trials=1, steps=20, agents="tools", graders=GRADERS)
def test_admin(miniwob_episode):
    """The agent does what it is asked to do in the admin."""
    assert miniwob_episode.solved, miniwob_episode.explain()
