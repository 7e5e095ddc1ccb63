"""The nine tasks of RCI's ablations (table 4), whole and without each grounding (figure 5).

    pytest tests/suites/rci_ablation.py --miniwob-results=ablation.jsonl
    miniwob-agent tables ablation.jsonl

Figure 6 is the whole agent with three models: `-k few-shot/`, with a `--miniwob-model` each.

Not collected unless it is named.
"""

import pytest

WITHOUT = ("none", "plan", "state", "agent")
AGENTS = [("rci", {"exemplars": "built-in", "without": part}) for part in WITHOUT]
EASY = ("click-shape", "click-widget", "enter-date")
MEDIUM = ("click-checkboxes-soft", "click-collapsible-2", "click-tab-2")
HARD = ("click-tab-2-hard", "count-shape", "guess-number")


@pytest.mark.miniwob(*EASY, *MEDIUM, *HARD, seeds=[1000], agents=AGENTS)
def test_solves(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
