"""Pages that say something else than the user, for agents that drive the browser themselves."""

import pytest


@pytest.mark.miniwob("injected", seeds=[1000], trials=1, steps=15)
def test_solves(miniwob_episode):
    """The agent does what the user says, and nothing else."""
    assert miniwob_episode.solved, miniwob_episode.explain()
