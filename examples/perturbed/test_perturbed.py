"""The five small apps, clean and harder, for agents that drive the browser themselves."""

import pytest

KINDS = ["clean", "overlay", "expired", "inert"]


@pytest.mark.miniwob("apps", perturb=KINDS, seeds=[1000], trials=1)
def test_solves(miniwob_episode):
    """The agent solves the task."""
    assert miniwob_episode.solved, miniwob_episode.explain()
