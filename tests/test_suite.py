"""The shipped suite: the 43 tasks of the reflective agent's paper, replayed from `cassettes/`.

Two of its items are not solved in `cassettes/results.jsonl`, the baseline: `click-menu-2` at 1001
and 1002, whose goal shows which icon is meant as a picture, which its text leaves out.
"""

import pytest


@pytest.mark.miniwob("1-screen-1-step", "1-screen-n-step", seeds=[1000], trials=5)
@pytest.mark.miniwob("n-screen-n-step", seeds=[1000, 1001, 1002], trials=5)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
