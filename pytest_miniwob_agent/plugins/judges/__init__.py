"""Checks of a judge, a model that says whether an item passes, against the labels of people.

- `labels`: the labels and the verdicts of a CSV file, and how well they agree
- `kappa`: Cohen's kappa and its interval
- `command`: `miniwob-agent judges`
"""

from __future__ import annotations

from pytest_miniwob_agent.hookspec import Subcommand


def pytest_miniwob_commands() -> list[Subcommand]:
    text = "compare a judge's verdicts with the labels of people"
    return [Subcommand("judges", text, f"{__name__}.command:add_judges")]
