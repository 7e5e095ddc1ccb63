"""All tasks at seed 1000, for the agent that is shown everything and may do everything.

    pytest tests/suites/full_screen.py \\
        --miniwob-agent-params='{"screen": "full", "actions": "all"}' \\
        --miniwob-baseline=cassettes/reflective-full-screen-all-actions/results.jsonl

Two are left out, which no recording has played to the end: the page of `hover-shape` never judges,
and `moving-items` asks for a click on each of many things that move.

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest

from pytest_miniwob_agent.tasks.catalogue import installed_tasks

TASKS = [task for task in installed_tasks() if task not in ("hover-shape", "moving-items")]


@pytest.mark.miniwob(*TASKS, seeds=[1000], trials=3)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
