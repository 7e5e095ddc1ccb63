"""The report of a pytest run: which folder it goes to, which outcomes and pictures are in it.

Lives in every process of the run. Workers of pytest-xdist put pictures into the folder, whose names
travel with the outcomes; the controller writes the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.protocols import Environment, Visible
from pytest_miniwob_agent.plugin.options import Settings
from pytest_miniwob_agent.plugin.trace import Run, Trace
from pytest_miniwob_agent.report.site import Report

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.item import ItemCassette


class Reporting:
    """What a run keeps for its report.

    Raises:
        UsageError: the folder holds something else than a report, or can't be read.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        assert settings.report is not None
        self._config = config
        self._settings = settings
        self._outcomes: list[Mapping[str, Any]] = []
        self._report = Report(settings.report)
        self._written = False
        self._problem = ""
        if self._leads:
            self._report.check()

    def trace(self, run: Run, environment: Environment) -> Trace:
        """What is to be kept of an item that does not run yet."""
        keep = self._report.add_picture if isinstance(environment, Visible) else None
        return Trace(run, keep, pictures=self._settings.trace == "on")

    def finish(self, trace: Trace, outcome: dict[str, Any], cassette: ItemCassette | None) -> None:
        """Put what was kept into the item's outcome; replay the item if it lacks its pictures."""
        unsolved = "episode" in outcome and not outcome["episode"]["solved"]
        retained = self._settings.trace == "retain-on-failure" and (unsolved or "drift" in outcome)
        if retained and trace.keep is not None:
            if cassette is None:
                trace.note = (
                    "There are no pictures: this model is not behind a cassette, so that the item "
                    "can't be replayed for them. Run it with --miniwob-trace=on"
                )
            else:
                cassette.freeze()
                trace.replay()
        outcome["trace"] = trace.to_data()
        if "episode" in outcome:
            del outcome["trace"]["events"]  # they are the episode's

    @property
    def _leads(self) -> bool:
        return not hasattr(self._config, "workerinput") and not self._config.option.collectonly

    def pytest_sessionstart(self) -> None:
        """Make the folder known as a report's before pictures come in."""
        if self._leads:
            try:
                self._report.prepare()
            except MiniwobError as error:
                raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what an item's report carries."""
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._outcomes.append(outcome)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report; a run whose report can't be written has failed."""
        if self._leads and self._outcomes:
            try:
                self._report.write(
                    self._outcomes,
                    judged=self._settings.baseline is not None,
                    broken=bool(session.shouldstop or session.shouldfail)
                    or session.exitstatus == pytest.ExitCode.INTERRUPTED,
                )
                self._written = True
            except MiniwobError as error:
                self._problem = str(error)
                session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the report is, or why there is none."""
        if self._problem:
            terminalreporter.section("MiniWoB++ report", red=True)
            terminalreporter.line(self._problem, red=True)
        if self._written and terminalreporter.verbosity >= 0:
            terminalreporter.line(f"report: {display_path(self._report.index)}")
