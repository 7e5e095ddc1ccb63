"""The last line of a run, whose colour agrees with the exit status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

_RED = {"red": True, "bold": True}


def show_failure(terminal: pytest.TerminalReporter) -> None:
    """Make pytest's progress red from now on, as after a failed test."""
    terminal.stats.setdefault("failed", [])


def make_ending_red(terminal: pytest.TerminalReporter, words: Sequence[str]) -> None:
    """Make the last line of the run red.

    Args:
        terminal: the terminal.
        words: further reasons for the failure, to add to pytest's counts.
    """
    counts = terminal.build_summary_stats_line

    def red_counts() -> tuple[list[tuple[str, dict[str, bool]]], str]:
        parts, _ = counts()
        shown = [
            (text, _RED if text.endswith(" drifted") else {**markup, "bold": "red" in markup})
            for text, markup in parts
        ]
        return [*shown, *((word, _RED) for word in words)], "red"

    reporter: Any = terminal
    reporter.build_summary_stats_line = red_counts
