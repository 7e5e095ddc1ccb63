"""The baseline in every process of a run: what it says of an item as that ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.core.events import Called
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.outcome import Change, Outcome
from pytest_miniwob_agent.plugin.options import Settings
from pytest_miniwob_agent.results.file import Result, Results, read_results
from pytest_miniwob_agent.results.gate import Gate, weaknesses


class Baseline:
    """Results that the items of a run are compared with.

    Args:
        results: the results of the earlier run.
        gate: when the run fails against them.
    """

    def __init__(self, results: Results, gate: Gate) -> None:
        self.results = results
        self.gate = gate
        self._weaknesses = weaknesses(results, gate)

    def apply(self, item: pytest.Item, report: Any) -> None:
        """Note how an item changed; turn a failure that the baseline allows into an xfail.

        An unsolved item that the baseline does not solve either is an expected failure. One that
        the baseline solves fails the item under the gate `items` alone: the other gates judge all
        items together.
        """
        outcome: Outcome = report.miniwob
        case = outcome.case
        name = f"{case.category}/{case.task}/{case.seed}"
        before = self.results.items.get(name)
        if outcome.episode is None or before is None or not before.conclusive:
            return
        weakness = self._weaknesses.get(name)
        if outcome.solved != (weakness is None):
            change = Change.PROGRESSED if outcome.solved else Change.REGRESSED
            report.miniwob = replace(outcome, change=change)
        allowed = weakness is not None or self.gate.kind != "items"
        if allowed and report.failed and not outcome.solved and not item.config.option.runxfail:
            report.outcome = "skipped"
            report.wasxfail = (
                f"the baseline does not solve it either: {weakness}"
                if weakness is not None
                else f"solved in the baseline; the gate {self.gate} judges all items together"
            )


def load_baseline(settings: Settings) -> Baseline | None:
    """Return the baseline that the options name, None if they name none.

    A file that this run is the first to write is not a baseline yet.

    Raises:
        UsageError: the baseline can't be read, or the gate is not one.
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


def result_of(outcome: Outcome) -> Result:
    """Return the line of an outcome in a results file."""
    found: dict[str, Any] = {}
    if (episode := outcome.episode) is not None:
        calls = [event for event in episode.events if isinstance(event, Called)]
        found = {
            "solved_at": episode.solved_at,
            "endings": tuple(map(str, episode.endings)),
            "steps": episode.steps,
            "calls": dict(Counter(call.purpose for call in calls)),
            "tokens": {
                "prompt": _sum([call.completion.prompt_tokens for call in calls]),
                "completion": _sum([call.completion.completion_tokens for call in calls]),
            },
        }
    else:
        causes = outcome.drift.causes if outcome.drift is not None else ()
        found["reason"] = ", ".join(cause.kind for cause in causes) or outcome.error
    case = outcome.case
    return Result(
        category=case.category,
        task=case.task,
        seed=case.seed,
        repeat=case.repeat,
        agent=outcome.agent,
        model=outcome.model,
        params=outcome.params,
        prompts=outcome.prompts,
        outcome=outcome.status,
        **found,
    )


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
