"""Sixty items for gates in rounds, each decided by one call of the model."""

from support.projects import suite_source

ITEMS = 60
SUITE = suite_source('"click-menu-2", "click-tab", "click-dialog", seeds=range(20), trials=1')
CHANGED = "Plan every action"
"""Another wording of the prompt."""

PAGE = """
    import pytest
    from pytest_miniwob_agent import Element
    from pytest_miniwob_agent.testing import FakePage

    @pytest.fixture
    def miniwob_page(miniwob_case):
        return FakePage(
            f"Click Save, for {miniwob_case.task} {miniwob_case.seed}",
            {"start": [Element(1, "a", "Save"), Element(2, "a", "Quit")]},
            rewards={("start", "click id=1"): 1.0, ("start", "click id=2"): -1.0},
        )
"""


def solve(prompt):
    return "click id=1"


def fail(prompt):
    return "click id=2"


def judged(result):
    """The lines of the gate, in one."""
    return " ".join(result.stdout.str().partition("MiniWoB++ gate =")[2].split())
