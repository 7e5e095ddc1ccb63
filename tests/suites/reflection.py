"""Pages on which a first plan fails, for memories, planners and agents side by side.

    pytest tests/suites/reflection.py --miniwob-baseline=cassettes/reflection.jsonl \\
        --miniwob-results=.miniwob/reflection.jsonl
    miniwob-agent compare .miniwob/reflection.jsonl
    miniwob-agent tables .miniwob/reflection.jsonl

Each of these pages of the suite `reflection` has a consequence that nobody can see beforehand and
that ends the trial. What is right follows from the seed, so that it can be learned from one
trial to the next. A popup interrupts the login of `login-user-popup` as well.

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest

PAGES = [
    f"reflection/{page}"
    for page in (
        *("coupon", "date-format", "dead-end", "delete-in-order", "equal-buttons", "four-keys"),
        *("most-tickets", "moved-entry", "popup", "sorting-list", "taken-times", "two-formats"),
    )
]
MEMORIES = [("reflective", {"memory": "plain"}), ("reflective", {"memory": "unconstrained"})]
PLANNERS = [("reflective", {"planning": way}) for way in ("iterative", "plan-then-adapt")]
POPUP = ["reflective", MEMORIES[0], *PLANNERS]


@pytest.mark.miniwob("login-user-popup", seeds=[1000, 1001], trials=3, agents=POPUP)
@pytest.mark.miniwob(*PAGES, seeds="1000-1004", agents=["reflective"])
@pytest.mark.miniwob(*PAGES, seeds="1000-1002", agents=MEMORIES)
@pytest.mark.miniwob(*PAGES, seeds="1000-1001", agents=PLANNERS)
@pytest.mark.miniwob(*PAGES, seeds=[1000], trials=1, steps=15, agents=["rci", "webwise", "tools"])
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
