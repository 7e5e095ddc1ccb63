"""Statuses of items as pytest shows them: letters (docs/output.md), and words in verbose runs."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_miniwob_agent.core.outcome import Change, Outcome, Status
from pytest_miniwob_agent.core.text import counted, sanitize_line

TestStatus = tuple[str, str, Any]
"""Category, letter and word, as of the hook `pytest_report_teststatus`."""


def letter(result: str, outcome: Outcome) -> TestStatus | None:
    """Return the status of a report with this outcome, None where pytest's own will do.

    `result` is pytest's own outcome of it: `passed`, `failed` or `skipped`.
    """
    match result:
        case "failed" if outcome.status is Status.DRIFTED:
            return "drifted", "D", ("drift", {"red": True})
        case "failed" if outcome.change is Change.REGRESSED:
            return "failed", "F", ("REGRESSED", {"red": True})
        case "skipped" if outcome.change is Change.REGRESSED:
            return "regressed", "L", ("REGRESSED", {"yellow": True})
        case "skipped" if outcome.status is Status.WAITING:
            return "waiting", "w", ("waiting", {"yellow": True})
        case "skipped" if outcome.status is Status.BUDGET:
            return "budget", "b", ("budget", {"yellow": True})
        case "passed" if outcome.change is Change.PROGRESSED:
            return "progressed", "P", ("PROGRESSED", {"green": True})
    return None


def verbose(status: TestStatus, report: pytest.TestReport, setup_seconds: float) -> TestStatus:
    """Add the item's outcome, calls, steps and seconds to the word of a verbose run."""
    category, letter, word = status
    outcome: Outcome | None = getattr(report, "miniwob", None)
    if outcome is None or not word:
        return status
    word, *markup = word if isinstance(word, tuple) else (word,)
    shown = outcome_word(outcome)
    expected = {Status.SOLVED: "PASSED", Status.UNSOLVED: "FAILED"}.get(outcome.status, shown)
    word = shown if word == expected else f"{word} {shown}"
    if (episode := outcome.episode) is not None:
        word += (
            f"  {counted(episode.calls, 'call')}, {counted(episode.steps, 'step')}, "
            f"{report.duration + setup_seconds:.1f} s"
        )
    return category, letter, (word, *markup) if markup else word


def outcome_word(outcome: Outcome) -> str:
    """Return an outcome in a word: `solved@2`, an ending such as `NO_CHANGE`, `drift`."""
    if (episode := outcome.episode) is not None:
        if episode.solved:
            return f"solved@{episode.solved_at}"
        return episode.endings[-1].name if episode.endings else "no trial"
    if outcome.status is Status.ERROR:
        return sanitize_line(outcome.error or "no episode")
    return "drift" if outcome.status is Status.DRIFTED else str(outcome.status)
