"""The shipped suite: the 43 tasks of the reflective agent's paper, replayed from `cassettes/`."""

import pytest


@pytest.mark.miniwob("1-screen-1-step", "1-screen-n-step", seeds=[1000], trials=5)
@pytest.mark.miniwob("n-screen-n-step", seeds=[1000, 1001, 1002], trials=5)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
