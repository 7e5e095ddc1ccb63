"""Failures and errors of items as pytest shows them at the end of a run.

Transcripts are coloured, and errors are shown once for each cause; drift is shown by `summary`.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import pytest

from pytest_miniwob_agent.core.outcome import RECORD_IT, Outcome, Status
from pytest_miniwob_agent.core.text import counted, first_items, sanitize_lines
from pytest_miniwob_agent.terminal.transcript import ColouredTranscript

NAMED = 3
"""Number of items that are named of a cause; all with -v."""


class ShownReports:
    """Has pytest show one error for all items with the same cause, and transcripts in colour.

    It is a plugin of the controller.

    Counts, and what other plugins write, stay as they are.

    Args:
        command: the command that records all items without a cassette.
    """

    def __init__(self, command: str) -> None:
        self._command = command

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Replace reports while pytest shows them: errors of one cause by one, and failures."""
        stats = terminalreporter.stats
        before: dict[str, list[Any]] = {
            kind: stats[kind] for kind in ("error", "failed") if kind in stats
        }
        most = None if terminalreporter.verbosity > 0 else NAMED
        if "error" in before:
            stats["error"] = [
                reports[0] if len(reports) == 1 else self._of_group(reports, most)
                for reports in by_cause(before["error"])
            ]
        if "failed" in before and terminalreporter.config.option.tbstyle != "line":
            stats["failed"] = list(map(_coloured, before["failed"]))
        try:
            return (yield)
        finally:
            stats.update(before)

    def _of_group(self, reports: Sequence[Any], most: int | None) -> Any:
        """Return a report that stands for several, with the number and names of their items."""
        shown = copy.copy(reports[0])
        text, record, _ = str(shown.longrepr).partition(RECORD_IT)
        names = first_items(
            sorted(report.miniwob.case.id for report in reports), most, "all with -v"
        )
        lines = [text, f"{counted(len(reports), 'item')} with this error:"]
        lines += [f"    {name}" for name in names]
        if record:
            lines.append(f"Record them with: {self._command}")
        shown.longrepr = sanitize_lines("\n".join(lines))
        return shown


def _coloured(report: Any) -> Any:
    """Return a report whose transcript has colours; the report itself if it has no transcript."""
    outcome: Outcome | None = getattr(report, "miniwob", None)
    episode = outcome.episode if outcome is not None else None
    if episode is None or not str(report.longrepr).startswith(episode.explain().partition("\n")[0]):
        return report
    shown = copy.copy(report)
    shown.longrepr = ColouredTranscript(report.longrepr)
    return shown


def by_cause(reports: Iterable[Any]) -> list[list[Any]]:
    """Group reports of errors by their cause, in the order of the first of each.

    The items' own names in messages make no difference. An error that is not an item's, or that
    came after an episode, is a cause of its own.
    """
    groups: dict[object, list[Any]] = {}
    for report in reports:
        outcome: Outcome | None = getattr(report, "miniwob", None)
        key: object = id(report)
        if outcome is not None and outcome.status is Status.ERROR and outcome.message:
            place = getattr(report.longrepr, "reprcrash", None)
            key = (
                outcome.error if place else "",
                outcome.message_of_cause,
                place and (place.path, place.lineno),
            )
        groups.setdefault(key, []).append(report)
    return list(groups.values())
