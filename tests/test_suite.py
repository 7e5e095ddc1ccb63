"""The shipped suite: the 43 tasks of the reflective agent's paper, replayed from `cassettes/`."""

import pytest

ICON = "the goal shows which icon is meant as a picture, which its text leaves out"

UNSOLVED = {
    "n-screen-n-step/click-menu-2/1001": ICON,
    "n-screen-n-step/click-menu-2/1002": ICON,
}
"""Items that the recorded model does not solve in its five trials, and why."""


@pytest.mark.miniwob("1-screen-1-step", "1-screen-n-step", seeds=[1000], trials=5)
@pytest.mark.miniwob("n-screen-n-step", seeds=[1000, 1001, 1002], trials=5)
def test_solves(request, miniwob_case, miniwob_episode):
    if reason := UNSOLVED.get(miniwob_case.id):
        request.applymarker(pytest.mark.xfail(reason=reason))
    assert miniwob_episode.solved, miniwob_episode.explain()
