"""The step of a run that writes the HTML report."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.hookspec import Run, Step
from pytest_miniwob_agent.plugin.results import get_shard
from pytest_miniwob_agent.plugin.state import STATE
from pytest_miniwob_agent.plugins.report.folder import Report


class ReportPages(Step):
    """Writes the HTML report."""

    title = "report"

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._config = config
        self._state = config.stash[STATE]
        self._report = Report(folder)
        self._written = False

    def begin(self) -> None:
        self._report.check()
        self._report.prepare()

    def finish(self, run: Run) -> None:
        if not (run.outcomes or run.empty_shard):
            return
        settings = self._state.settings
        self._report.write(
            run.items,
            judged=settings.baseline is not None and settings.baseline_setup is None,
            shard=get_shard(self._config, self._state),
            verdict=run.verdict,
            broken=run.broken,
            sent=settings.sent_pictures,
        )
        self._written = True

    def show(self, terminal: pytest.TerminalReporter) -> None:
        if self._written and terminal.verbosity >= 0:
            terminal.line(f"report: {display_path(self._report.index)}")
