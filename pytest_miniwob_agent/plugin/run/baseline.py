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
from pytest_miniwob_agent.results.gate import Gate


class Baseline:
    """Results that the items of a run are compared with, in the process that runs them.

    Args:
        results: the results of the earlier run.
        gate: when the run fails against them.
    """

    def __init__(self, results: Results, gate: Gate) -> None:
        self.results = results
        self.gate = gate

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
        before = self.results.items.get(outcome.case.item)
        if before is None:
            excuse = "the baseline does not have it, so it decides nothing yet"
        elif not before.conclusive:
            excuse = "the baseline is inconclusive about it, so it decides nothing yet"
        else:
            was_solved = before.count_as_solved(self.gate.at_least)
            change = None
            if outcome.episode is not None and outcome.solved != was_solved:
                change = Change.PROGRESSED if outcome.solved else Change.REGRESSED
            earlier = Earlier(before.solved, before.conclusive, describe(before))
            report.miniwob = replace(outcome, earlier=earlier, change=change)
            excuse = f"the baseline does not solve it either: {earlier.text}"
            if was_solved and self.gate.kind == "items":
                return
            if was_solved:
                excuse = f"solved in the baseline; the gate {self.gate} judges all items together"
        if excusable and report.failed and outcome.episode and not item.config.option.runxfail:
            report.outcome = "skipped"
            report.wasxfail = excuse


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
