"""Baseline of a run: marks how an item changed, and turns failures that it allows into xfails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.outcome import Change, Earlier, Outcome
from pytest_miniwob_agent.plugin.options.settings import Settings
from pytest_miniwob_agent.results.comparison import describe
from pytest_miniwob_agent.results.file import Results, read_results
from pytest_miniwob_agent.results.gate import Gate, weaknesses


class Baseline:
    """Results that the items of a run are compared with, in the process that runs them.

    Args:
        results: the results of the earlier run.
        gate: when the run fails against them.
    """

    def __init__(self, results: Results, gate: Gate) -> None:
        self.results = results
        self.gate = gate
        self._weaknesses = weaknesses(results, gate)

    def apply(self, item: pytest.Item, report: Any, *, excusable: bool) -> None:
        """Mark how an item changed; turn a failure that the baseline or gate allows into an xfail.

        An unsolved item that the baseline does not solve either is an expected failure, and so is
        one of which the baseline knows nothing. One that the baseline solves fails the item under
        the gate `items` alone: the other gates judge all items together.

        Args:
            item: the item.
            report: the last report of its set-up or call.
            excusable: True if nothing failed but that the episode is not solved.
        """
        outcome: Outcome = report.miniwob
        case = outcome.case
        name = f"{case.category}/{case.task}/{case.seed}"
        before = self.results.items.get(name)
        known = before is not None and bool(before.conclusive)
        if before is not None and known:
            earlier = Earlier(before.solved, before.conclusive, describe(before))
            report.miniwob = outcome = replace(outcome, earlier=earlier)
        if outcome.episode is None:
            return
        weakness = self._weaknesses.get(name)
        if known and outcome.solved != (weakness is None):
            change = Change.PROGRESSED if outcome.solved else Change.REGRESSED
            report.miniwob = replace(outcome, change=change)
        if excusable and report.failed and not item.config.option.runxfail:
            if not known:
                why = "does not have it" if before is None else "is inconclusive about it"
                _expect(report, f"the baseline {why}, so that it decides nothing yet")
            elif weakness is not None:
                _expect(report, f"the baseline does not solve it either: {weakness}")
            elif self.gate.kind != "items":
                _expect(
                    report,
                    f"solved in the baseline; the gate {self.gate} judges all items together",
                )


def _expect(report: Any, reason: str) -> None:
    """Turn a failure into an expected one."""
    report.outcome = "skipped"
    report.wasxfail = reason


def load_baseline(settings: Settings) -> Baseline | None:
    """Return the baseline that the options name, None if they name none.

    A file that this run is the first to write is not a baseline yet.

    Raises:
        UsageError: the baseline can't be read, or the gate is not valid.
    """
    gate = Gate.parse(settings.gate)
    source = settings.baseline
    if source is None or (
        isinstance(source, Path) and source == settings.results and not source.exists()
    ):
        return None
    beside = settings.baseline_file
    if isinstance(source, Path):
        source = display_path(source)
    return Baseline(read_results(source, beside=beside and display_path(beside)), gate)
