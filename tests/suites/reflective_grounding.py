"""The reflective agent with and without the call that finds an action's element, at one seed.

    pytest tests/suites/reflective_grounding.py --miniwob-prompts=tests/suites/plan_beyond \\
        --miniwob-results=grounding.jsonl
    miniwob-agent compare grounding.jsonl

The agent's own prompt asks for actions on what the screen shows, and no recorded plan lacks an
element. With `plan_beyond/plan.txt` a plan goes beyond the screen: what is not there yet it names
in words. The tasks are those with several screens, one of each kind.

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest

OPENED = ("click-collapsible-2", "click-menu-2", "click-pie", "click-tab-2", "navigate-tree")
OTHERS = ("email-inbox", "search-engine", "social-media", "use-autocomplete")
AGENTS = ["reflective", ("reflective", {"grounding": "none"})]


@pytest.mark.miniwob(*OPENED, *OTHERS, seeds=[1100], trials=3, agents=AGENTS)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
