"""A check-out in three custom pages, `pages/shop/`, at three seeds."""

import pytest


@pytest.mark.miniwob("shop", seeds=[1000, 1001, 1002], trials=3)
def test_orders(miniwob_episode):
    """The agent orders what it is asked to order."""
    assert miniwob_episode.solved, miniwob_episode.explain()
