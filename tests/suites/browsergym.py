"""BrowserGym's protocol: the 590 problems of its 625 episodes.

Ten actions and one trial per item; any reward above 0 counts::

    pytest tests/suites/browsergym.py --miniwob-agent-params='{"screen": "full", "actions": "all"}'
"""

import pytest


@pytest.mark.miniwob("browsergym")
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
