"""Thirty tasks at seed 1000 for the agent that looks at pictures: `picture` alone, or `both`.

    pytest tests/suites/vision.py \\
        --miniwob-agent-params='{"screen": "picture", "actions": "all"}' \\
        --miniwob-baseline=cassettes/reflective-picture-screen-all-actions/results.jsonl

The first twenty have canvases, pictures, colours or geometry; on the first four of them the agent
that reads the full screen as text does not reach the full reward. The other ten are those of
ten_tasks.py, with its limits.

Not collected unless it is named; tests/test_shipped.py runs it for every variant with cassettes.
"""

import pytest


@pytest.mark.miniwob(
    "bisect-angle", "circle-center", "find-midpoint", "right-angle", seeds=[1000], trials=3
)
@pytest.mark.miniwob(
    "count-shape", "count-sides", "identify-shape", "number-checkboxes", seeds=[1000], trials=3
)
@pytest.mark.miniwob(
    "click-color", "click-shades", "click-shape", "use-colorwheel-2", seeds=[1000], trials=3
)
@pytest.mark.miniwob(
    "drag-shapes", "draw-circle", "draw-line", "grid-coordinate", seeds=[1000], trials=3
)
@pytest.mark.miniwob(
    "find-greatest", "simon-says", "tic-tac-toe", "visual-addition", seeds=[1000], trials=3
)
@pytest.mark.miniwob(
    "click-checkboxes", "click-dialog-2", "click-link", "click-option", "click-tab-2", seeds=[1000]
)
@pytest.mark.miniwob(
    "click-widget", "email-inbox", "enter-password", "login-user", "use-autocomplete", seeds=[1000]
)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
