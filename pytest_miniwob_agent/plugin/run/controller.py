"""Controller of a run: collects the outcomes, and at its end writes, judges and shows them.

Under pytest-xdist the controller is the process that the user started, elsewhere the only one.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.outcome import Outcome, Status
from pytest_miniwob_agent.core.protocols import RunObserver
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import sanitize_line, sanitize_lines
from pytest_miniwob_agent.core.usage import Usage
from pytest_miniwob_agent.plugin.items.run import REMARK
from pytest_miniwob_agent.plugin.options.commands import record_command
from pytest_miniwob_agent.plugin.run.shard import is_empty_shard, shard_of
from pytest_miniwob_agent.plugin.run.state import State
from pytest_miniwob_agent.terminal import statuses
from pytest_miniwob_agent.terminal.ending import make_ending_red, show_failure

if TYPE_CHECKING:
    from pytest_miniwob_agent.plugin.run.results import RunResults
    from pytest_miniwob_agent.report.folder import Report


class Controller:
    """Plugin of the controller; the end of a run is `pytest_sessionfinish`, step by step.

    Args:
        config: pytest's configuration.
        state: the state of the run in this process.
        results: the results to write and to judge, if that is asked for.
        report: the HTML report to write, if one is asked for.
        header: lines for the head of the run's output.
    """

    def __init__(
        self,
        config: pytest.Config,
        state: State,
        results: RunResults | None,
        report: Report | None,
        header: list[str],
    ) -> None:
        self._config = config
        self._state = state
        self._report = report
        self._header = header
        self._results = results
        self._last_runs: dict[tuple[str, str], Outcome] = {}
        self._outcomes: list[Outcome] = []
        self._setup_seconds: dict[str, float] = {}
        self._problems: dict[str, list[str]] = {"episodes": [], "results": [], "report": []}
        self._remarks: set[object] = set()
        self._waiting = 0
        self._remark: str | None = None
        self._report_written = False
        self._empty_shard = False
        self._running = True

    def pytest_report_header(self) -> list[str]:
        """Show where cassettes lie, and what became of an answer file."""
        return self._header

    def pytest_sessionstart(self) -> None:
        """Prepare the report's folder before pictures come in."""
        if self._report is not None:
            try:
                self._report.prepare()
            except MiniwobError as error:
                raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect an item's outcome; the episode takes place in its set-up.

        Plugins may run an item again, as pytest-rerunfailures does: its last run counts.
        """
        if report.when == "setup":
            self._setup_seconds[report.nodeid] = report.duration
            self._remarks |= {text for name, text in report.user_properties if name == REMARK}
        if (outcome := getattr(report, "miniwob", None)) is not None:
            terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            if outcome.status is Status.DRIFTED and terminal is not None:
                show_failure(terminal)
            key = getattr(report, "worker_id", ""), report.nodeid
            earlier = self._last_runs.get(key)
            self._last_runs[key] = outcome if earlier is None else outcome.after(earlier)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Show the item's outcome in its line of a verbose run.

        The short summary at the end keeps pytest's own words, which people and tools search for.
        """
        status = yield
        if not self._running:
            return status
        return statuses.verbose(status, report, self._setup_seconds.get(report.nodeid, 0.0))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over which items a worker has selected and deselected."""
        self._state.receive_selection(getattr(node, "workeroutput", None) or {})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write and judge the outcomes, step by step, and decide on the exit status.

        A step that fails fails the run, and does not keep the others from being done.
        """
        self._running = False
        if self._config.option.collectonly:
            return
        self._outcomes = sorted(self._last_runs.values(), key=lambda outcome: outcome.case.id)
        self._empty_shard = is_empty_shard(session, self._state)
        for title, step in (
            ("episodes", self._write_pending),
            ("episodes", self._call_run_finished),
            ("results", self._write_and_judge_results),
            ("report", lambda: self._write_report(session)),
        ):
            try:
                step()
            except (MiniwobError, OSError) as error:
                self._problems[title].append(redact(str(error)))
        self._decide_exit_status(session)

    def _write_pending(self) -> None:
        """Write the model calls that wait for a completion (deferred recording)."""
        settings = self._state.settings
        if settings.record != "defer" or not self._outcomes:
            return
        from pytest_miniwob_agent.cassettes.deferred.answers import read_refused
        from pytest_miniwob_agent.cassettes.deferred.pending import update_pending
        from pytest_miniwob_agent.cassettes.folder.stems import Used

        stems, cases = self._state.collected
        named = any("::" in str(argument) for argument in self._config.args)
        only_some = named or bool(getattr(self._config.option, "lf", False))
        waiting = update_pending(
            settings.pending,
            {outcome.cassette for outcome in self._outcomes if outcome.cassette},
            [outcome.request for outcome in self._outcomes if outcome.request is not None],
            Used(settings.cassettes, stems, cases) if (stems or cases) and not only_some else None,
        )
        self._waiting = len(set(waiting) - read_refused(settings.pending).keys())

    def _call_run_finished(self) -> None:
        """Call the `run_finished` of the agent that `--miniwob-agent` names, if it has one.

        Raises:
            MiniwobError: raised by the agent, or made of any other exception of the agent.
        """
        if not self._outcomes:
            return
        from pytest_miniwob_agent.agents.registry import load_agent

        settings = self._state.settings
        try:
            agent = load_agent(settings.agent, settings.prompts, settings.agent_params)
        except Exception:  # noqa: BLE001 - reported by each item that needed the agent
            return
        if not isinstance(agent, RunObserver):
            return
        try:
            self._remark = agent.run_finished(self._outcomes)
        except MiniwobError:
            raise
        except Exception:  # noqa: BLE001 - the agent may be anybody's
            raise MiniwobError(
                f"run_finished() of the agent {agent.name} failed:\n{traceback.format_exc()}"
            ) from None

    def _write_and_judge_results(self) -> None:
        """Write the results file, and judge the results by the baseline."""
        if self._results is not None and (self._state.selected or self._empty_shard):
            self._results.write_and_judge(self._outcomes)

    def _write_report(self, session: pytest.Session) -> None:
        """Write the HTML report."""
        if self._report is None or not (self._outcomes or self._empty_shard):
            return
        comparison = self._results.comparison if self._results is not None else None
        self._report.write(
            self._outcomes,
            judged=self._state.settings.baseline is not None,
            shard=shard_of(self._config, self._state),
            verdict=comparison.verdict if comparison else None,
            warnings=comparison.both.warnings if comparison else (),
            broken=bool(session.shouldstop or session.shouldfail)
            or session.exitstatus == pytest.ExitCode.INTERRUPTED,
            sent=self._state.settings.sent_pictures,
        )
        self._report_written = True

    @property
    def _failed(self) -> bool:
        """True if the gate failed."""
        return self._results is not None and self._results.failed

    def _decide_exit_status(self, session: pytest.Session) -> None:
        """Fail the run if a step failed, or the gate; pytest has counted failed items."""
        if self._empty_shard:
            session.exitstatus = pytest.ExitCode.OK
        if self._failed or any(self._problems.values()):
            session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show drift, episodes, the ledger of calls, the gate, and where files were written."""
        terminal = terminalreporter
        drifted = any(outcome.status is Status.DRIFTED for outcome in self._outcomes)
        if drifted or self._failed or any(self._problems.values()):
            make_ending_red(terminal, ["gate failed"] if self._failed else [])
        kept = self._kept()
        if self._outcomes:
            self._show_drift(terminal)
        if self._outcomes or (kept and kept.calls):
            self._show_episodes(terminal, kept)
        if self._remarks:
            terminal.section("MiniWoB++ cassettes")
            for remark in sorted(map(sanitize_line, self._remarks)):
                terminal.line(remark, yellow=True)
        self._show_problems(terminal, "results")
        if self._results is not None:
            self._results.show(terminal)
        self._show_problems(terminal, "report")
        if self._report_written and self._report is not None and terminal.verbosity >= 0:
            terminal.line(f"report: {display_path(self._report.index)}")

    def _show_drift(self, terminal: pytest.TerminalReporter) -> None:
        from pytest_miniwob_agent.terminal.summary import show_drift

        show_drift(
            terminal,
            self._outcomes,
            verbose=terminal.verbosity > 0,
            price=self._state.settings.price,
            command=record_command(self._config),
        )

    def _kept(self) -> Usage | None:
        """Return what the calls have taken whose completions are kept, None without recording."""
        if self._state.shared is None:
            return None
        from pytest_miniwob_agent.models.budget import Budget

        return Budget(self._state.shared).recorded()

    def _show_episodes(self, terminal: pytest.TerminalReporter, kept: Usage | None) -> None:
        """Show the table and the ledger, the agent's remark, and what went wrong with them."""
        from pytest_miniwob_agent.terminal.summary import show_episodes, show_ledger, show_shared

        settings = self._state.settings
        if terminal.verbosity >= 0:
            terminal.section("MiniWoB++ episodes")
            show_episodes(terminal, self._outcomes)
            show_shared(terminal, self._outcomes)
            show_ledger(
                terminal,
                self._outcomes,
                model=settings.model,
                price=settings.price,
                waiting=self._waiting if settings.record == "defer" else None,
                pending=display_path(settings.pending),
                kept=kept,
            )
            if self._remark:
                terminal.line(sanitize_line(redact(self._remark)))
        for text in self._problems["episodes"]:
            terminal.line(sanitize_lines(text), red=True)

    def _show_problems(self, terminal: pytest.TerminalReporter, title: str) -> None:
        if self._problems[title]:
            terminal.section(f"MiniWoB++ {title}", red=True)
        for text in self._problems[title]:
            terminal.line(sanitize_lines(text), red=True)
