"""A recorded project, for the commands."""

import pytest

from .shown_episode import click_quit_first


@pytest.fixture
def recorded(project, recordings):
    kept = recordings / "click_quit_first"
    project.use_recordings(kept, click_quit_first, "-k", "click-menu-2/1")
    return project
