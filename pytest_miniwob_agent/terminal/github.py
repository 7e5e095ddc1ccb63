"""Job summary and annotations of GitHub Actions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from pytest_miniwob_agent.terminal.comparison import ComparisonView

ANNOTATIONS = 10
"""The number of errors that GitHub shows for a step."""


def report_to_github(
    view: ComparisonView, environ: Mapping[str, str] | None = None, stream: TextIO | None = None
) -> None:
    """Write the job's summary and annotations, if this runs on GitHub Actions.

    The Markdown is appended to the file that GITHUB_STEP_SUMMARY names. Regressions become errors
    if there is no gate or it failed, else warnings; an inconclusive gate is a warning itself.

    Args:
        view: the comparison.
        environ: the environment variables; by default those of the process.
        stream: the stream for annotations; by default standard error, which the runner reads as it
            does standard output.
    """
    environ = os.environ if environ is None else environ
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(view.markdown() + "\n")
    verdict = view.verdict
    kind = "warning" if verdict and not verdict.failed else "error"
    found = []
    if verdict:
        title = "MiniWoB++ gate" if verdict.failed else "MiniWoB++ gate is inconclusive"
        found = [(title, reason.text) for reason in verdict.reasons]
    found += [("MiniWoB++ regression", str(pair)) for pair in view.changed[0]]
    if len(found) > ANNOTATIONS:
        rest = len(found) - ANNOTATIONS + 1
        found[ANNOTATIONS - 1 :] = [("MiniWoB++", f"and {rest} more; see the job's summary")]
    for title, message in found:
        print(annotation(kind, title, message), file=stream or sys.stderr)


def annotation(kind: str, title: str, message: str) -> str:
    """Encode an annotation of a `kind` (error, warning, notice) as a workflow command.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """

    def encode(text: str, more: str = "") -> str:
        shown = (c if c.isprintable() or c in "\r\n" else " " for c in text)
        return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in shown)

    return f"::{kind} title={encode(title, ':,')}::{encode(message)}"
