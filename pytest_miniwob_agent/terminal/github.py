"""Job summary and annotations of GitHub Actions."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pytest_miniwob_agent.terminal.comparison import ComparisonView

ANNOTATIONS = 10  # that GitHub shows for a step


def report_to_github(view: ComparisonView) -> None:
    """Write the job's summary and annotations, if this runs on GitHub Actions.

    The Markdown is appended to the file that GITHUB_STEP_SUMMARY names. Regressions become errors
    if there is no gate or it failed the run, else warnings, and so do a gate's reasons.
    Annotations go to standard error, which the runner reads as it does standard output.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(view.markdown() + "\n")
    verdict = view.verdict
    kind = "warning" if verdict and not verdict.failed else "error"
    found = []
    if verdict:
        decided = verdict.decision != "inconclusive"
        title = "MiniWoB++ gate" if decided else "MiniWoB++ gate is inconclusive"
        found = [(title, reason.text) for reason in verdict.reasons]
    found += [("MiniWoB++ regression", str(pair)) for pair in view.changed[0]]
    if len(found) > ANNOTATIONS:
        rest = len(found) - ANNOTATIONS + 1
        found[ANNOTATIONS - 1 :] = [("MiniWoB++", f"and {rest} more; see the job's summary")]
    for title, message in found:
        print(f"::{kind} title={_encode(title, ':,')}::{_encode(message)}", file=sys.stderr)


def _encode(text: str, more: str = "") -> str:
    """Encode a part of a workflow command, with `more` characters that it can't contain.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    shown = (c if c.isprintable() or c in "\r\n" else " " for c in text)
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in shown)
