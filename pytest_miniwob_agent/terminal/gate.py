"""A gate's verdict as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.core.text import counted, first_items
from pytest_miniwob_agent.results.gate import Verdict
from pytest_miniwob_agent.terminal.layout import wrap

if TYPE_CHECKING:
    import pytest

_WORDS = {"passed": "passed", "inconclusive": "inconclusive", "failed": "FAILED"}


def verdict_lines(
    verdict: Verdict,
    width: int = 80,
    most: int | None = 20,
    *,
    changes: bool = True,
    more: str = "",
) -> list[str]:
    """Lay out a verdict for a terminal.

    Args:
        verdict: the verdict.
        width: columns of the terminal.
        most: the number of items named in each list, None for all.
        changes: True to list the items that changed.
        more: a way to see the items that are left out, shown beside their number.
    """

    def add_list(details: Sequence[str]) -> None:
        for detail in first_items(details, most, more):
            lines.extend(wrap(detail, width, 4))

    lines = wrap(f"gate {verdict.gate}: {_WORDS[verdict.decision]}", width)
    named: set[str] = set()
    for reason in verdict.reasons:
        lines += wrap(reason.text, width, 2)
        if changes or reason.kind != "regressed":
            add_list(reason.details)
            named.update(reason.details)
        if reason.hint:
            lines += wrap(f"-> {reason.hint}", width, 2)
    for note in verdict.notes:
        lines += wrap(note, width, 2)
    for pairs, text in (
        (verdict.regressed, "no longer solved, which this gate allows"),
        (verdict.progressed, "solved now and not in the baseline"),
    ):
        others = [str(pair) for pair in pairs if str(pair) not in named]
        if changes and others:
            lines += wrap(f"{counted(len(others), 'item')} {text}", width, 2)
            add_list(others)
    return lines


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """A verdict in plain JSON types."""
    return {
        "gate": str(verdict.gate),
        "verdict": verdict.decision,
        "passed": verdict.passed,
        "reasons": list(map(asdict, verdict.reasons)),
        "regressed": [pair.item for pair in verdict.regressed],
        "progressed": [pair.item for pair in verdict.progressed],
        "notes": verdict.notes,
    }


def show_gate(
    terminal: pytest.TerminalReporter, verdict: Verdict, *, most: int | None, hint: str
) -> None:
    """Show what differs between the runs, the verdict on them, and a hint.

    Lists name `most` items, None for all.
    """
    colour = {"passed": "green", "inconclusive": "yellow", "failed": "red"}[verdict.decision]
    terminal.write_sep("=", "MiniWoB++ gate", **{colour: True})
    width = terminal._tw.fullwidth

    def show(text: str, **markup: bool) -> None:
        for line in wrap(text, width):
            terminal.line(line, **markup)

    for name, before, after in verdict.both.changed_setup:
        text = f"{name}: {before} -> {after}"
        warned = text in verdict.both.warnings
        show("warning: " * warned + text, yellow=warned)
    for line in verdict_lines(verdict, width, most, more="all with -v"):
        terminal.line(line)
    show(hint)
