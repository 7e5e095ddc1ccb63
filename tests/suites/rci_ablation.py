"""RCI's ablations on nine tasks (table 4): zero-shot, few-shot, and without each grounding.

    pytest tests/suites/rci_ablation.py --miniwob-results=ablation.jsonl
    miniwob-agent tables ablation.jsonl

Figure 5 has the last three. Figure 6 is the few-shot agent with three models: `-k few-shot/`, with
a `--miniwob-model` each.

Not collected unless it is named; tests/test_shipped.py runs it among the sweeps.
"""

import pytest

WITHOUT = ("none", "plan", "state", "agent")
FEW_SHOT = [("rci", {"exemplars": "built-in", "without": part}) for part in WITHOUT]
EASY = ("click-shape", "click-widget", "enter-date")
MEDIUM = ("click-checkboxes-soft", "click-collapsible-2", "click-tab-2")
HARD = ("click-tab-2-hard", "count-shape", "guess-number")


@pytest.mark.miniwob(*EASY, *MEDIUM, *HARD, seeds=[1000], agents=["rci", *FEW_SHOT])
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
