"""Errors of a run, shown once for each cause; drift is shown by `summary`."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import pytest

from pytest_miniwob_agent.core.outcome import Outcome, Status
from pytest_miniwob_agent.core.text import counted, first_items, sanitize_lines

NAMED = 3
"""Number of items that are named of a cause; all with -v."""

RECORD_IT = "\nRecord it with: "
"""Precedes the command that records an item, at the end of the message of a missing cassette."""


class GroupedErrors:
    """Has pytest show one error for all items with the same cause; a plugin of the controller.

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
        """Replace the errors of each cause by one of them while pytest shows them."""
        stats = terminalreporter.stats
        errors = stats.get("error")
        if errors:
            most = None if terminalreporter.verbosity > 0 else NAMED
            stats["error"] = [
                reports[0] if len(reports) == 1 else self._of_group(reports, most)
                for reports in by_cause(errors)
            ]
        try:
            return (yield)
        finally:
            if errors:
                stats["error"] = errors

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
            message = outcome.message.partition(RECORD_IT)[0]
            place = getattr(report.longrepr, "reprcrash", None)
            key = (
                outcome.error if place else "",
                message.replace(f"{outcome.case.task}/{outcome.case.sample}", "…"),
                place and (place.path, place.lineno),
            )
        groups.setdefault(key, []).append(report)
    return list(groups.values())
