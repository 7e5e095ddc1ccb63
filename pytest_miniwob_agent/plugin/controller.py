"""The start of a run, and its controller, which at the end writes, judges and shows the outcomes.

Under pytest-xdist the controller is the process that the user started, elsewhere the only one.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError, RecordingStopped
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import RunObserver
from pytest_miniwob_agent.core.secrets import KEY_VARIABLE, redact
from pytest_miniwob_agent.core.text import sanitize_line, sanitize_lines
from pytest_miniwob_agent.models.budget import ENDED, Budget
from pytest_miniwob_agent.plugin.item import REMARK
from pytest_miniwob_agent.plugin.reading import SETTINGS, read_settings, record_command
from pytest_miniwob_agent.plugin.reports import EXPORTS, Exports
from pytest_miniwob_agent.plugin.results import BASELINE, RunResults, load_baseline, shard_of
from pytest_miniwob_agent.plugin.state import STATE, Selection, State
from pytest_miniwob_agent.terminal import statuses

if TYPE_CHECKING:
    from pytest_miniwob_agent.report.folder import Report


_REPORTING = {"html": "htmlpath", "json": "json_report", "allure": "allure_report_dir"}
"""Plugins that report, as `Exports` calls them, and the options that have them report."""


_SHOWING = (
    "cacheshow", "collectonly", "help", "markers", "setupplan", "show_fixtures_per_test",
    "showfixtures", "version",
)  # fmt: skip
"""Options of pytest that only show something, so that nothing is read for a run or written."""


def start(config: pytest.Config) -> None:
    """Give the configuration its state, and register the plugins of this process.

    Files change only once the session starts.

    Raises:
        pytest.UsageError: an option, or a file that it names, is not valid.
    """
    try:
        settings = config.stash[SETTINGS] = read_settings(config)
        state = config.stash[STATE] = State(settings, Selection.of(config))
        if settings.key_variable is not None:  # its value is a secret until the run is over
            patch = pytest.MonkeyPatch()
            patch.setenv(KEY_VARIABLE, settings.key_variable)
            config.add_cleanup(patch.undo)
        if any(config.getoption(name, False) for name in _SHOWING):
            return
        if settings.otel:
            from pytest_miniwob_agent.telemetry import Traces

            state.traces = Traces()
        asked_for = bool(config.getoption("miniwob_gate"))
        baseline = load_baseline(settings, gate_asked_for=asked_for)
        if isinstance(baseline, str):
            state.no_baseline = baseline
        elif baseline is not None:
            config.stash[BASELINE] = baseline
        if plugins := [name for name, key in _REPORTING.items() if config.getoption(key, None)]:
            config.stash[EXPORTS] = Exports(plugins, settings.sent_only_texts)
            config.pluginmanager.register(config.stash[EXPORTS], "miniwob-exports")
        if hasattr(config, "workerinput"):
            shared = config.workerinput["miniwob_shared"]
            state.shared = Path(shared) if shared else None
            state.controller = os.getppid()
        else:
            config.pluginmanager.register(Controller(config, state), "miniwob-controller")
            if settings.record not in ("none", "defer"):
                from pytest_miniwob_agent.terminal.progress import Progress

                folder = tempfile.TemporaryDirectory(prefix="miniwob-")
                config.add_cleanup(folder.cleanup)
                state.shared = Path(folder.name)
                config.pluginmanager.register(
                    Progress(config, settings.price_of), "miniwob-progress"
                )
        if state.shared is not None:
            from pytest_miniwob_agent.models.http import PastMocks
            from pytest_miniwob_agent.plugin.forecast import Forecaster

            state.past_mocks = PastMocks()
            config.pluginmanager.register(Forecaster(config, state), "miniwob-forecaster")
    except MiniwobError as error:
        raise pytest.UsageError(redact(str(error))) from None


class Controller:
    """Plugin of the controller; `pytest_sessionfinish` is the end of a run, step by step.

    Raises:
        UsageError: the results or the report can't be written, or an answer file can't be read.
    """

    def __init__(self, config: pytest.Config, state: State) -> None:
        settings = state.settings
        self._config = config
        self._state = state
        self._report: Report | None = None
        self._last_runs: dict[tuple[str, str], Outcome] = {}
        self._outcomes: list[Outcome] = []
        self._items: list[Outcome] = []
        self._setup_seconds: dict[str, float] = {}
        self._problems: dict[str, list[str]] = defaultdict(list)
        self._remarks: set[object] = set()
        self._waiting = 0
        self._agents_remarks: list[str] = []
        self._report_written = False
        self._running = True
        has_results = settings.results or settings.baseline
        self._results = RunResults(config, state) if has_results else None
        self._header: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin the run, before its header is shown and workers start."""
        self._session = session
        try:
            self._begin()
        except MiniwobError as error:
            raise pytest.UsageError(redact(str(error))) from None

    def _begin(self) -> None:
        """Check what the run will write, and put answers of deferred recording into cassettes."""
        settings, lines = self._state.settings, self._header
        if self._results is not None:
            self._results.check()
        if settings.report:
            from pytest_miniwob_agent.report.folder import Report

            self._report = Report(settings.report)
            self._report.check()  # that the folder holds nothing else
        if settings.model is not None:
            lines.append(f"miniwob cassettes: {display_path(settings.cassettes)}")
        if settings.record == "defer":
            from pytest_miniwob_agent.cassettes.deferred.answers import take_answers
            from pytest_miniwob_agent.cassettes.deferred.pending import read_pending

            if settings.answers is None:
                read_pending(settings.pending)  # a damaged file is reported before the run
            else:
                recorded, *problems = take_answers(
                    settings.answers, settings.pending, settings.cassettes
                )
                lines.append(f"miniwob answers: {recorded}")
                self._remarks |= set(problems)  # below the run: with -q it has no header
        if settings.shard is not None:
            lines.append("miniwob shard: {} of {}".format(*settings.shard))
        if self._report is not None:
            self._report.prepare()  # for pictures

    def pytest_report_header(self) -> list[str]:
        """Show where the cassettes are, and what became of an answer file."""
        return self._header

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep an item's outcome.

        Plugins such as pytest-rerunfailures may run an item again: its last run counts.
        """
        if (
            self._session.shouldfail or self._session.shouldstop
        ):  # as by -x: workers have more items
            self._stop_calls()
        if report.when == "setup":
            self._setup_seconds[report.nodeid] = report.duration
            self._remarks |= {text for name, text in report.user_properties if name == REMARK}
        outcome: Outcome | None = getattr(report, "miniwob", None)
        if outcome is None:
            return
        key = getattr(report, "worker_id", ""), report.nodeid
        earlier = self._last_runs.get(key)
        self._last_runs[key] = outcome if earlier is None else outcome.after(earlier)

    @pytest.hookimpl(tryfirst=True)
    def _stop_calls(self) -> None:
        """Let workers that are still at work make no more model calls."""
        if self._state.shared is not None:
            with suppress(RecordingStopped):  # the ledger is lost
                Budget(self._state.shared).stop(ENDED)

    pytest_keyboard_interrupt = pytest_internalerror = _stop_calls

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
        """Take over what a worker has to tell."""
        self._state.receive(getattr(node, "workeroutput", None) or {})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write and judge the outcomes, step by step, and decide on the exit status.

        A step that fails fails the run; the others still run.
        """
        self._running = False
        by_case = sorted(self._last_runs.values(), key=lambda one: (one.case.id, not one.solved))
        # Of an item that is run several times, as by pytest-repeat, an unsolved run counts.
        items = {(one.test, one.case, one.agent, one.model): one for one in by_case}
        self._outcomes, self._items = by_case, list(items.values())
        nothing_ran = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        # All items went to other shards, which is not a failure.
        empty_shard = nothing_ran and self._state.settings.shard and self._state.selection.wanted
        if self._outcomes:
            with self._step("episodes"):
                self._write_pending()
            with self._step("episodes"):
                self._finish_agents()
        if self._results is not None and (self._state.selection.to_run or empty_shard):
            with self._step("results"):
                self._results.write_and_judge(self._outcomes)
        verdict = self._results.verdict if self._results is not None else None
        if self._report is not None and (self._outcomes or empty_shard):
            with self._step("report"):
                self._report.write(
                    self._items,
                    judged=self._state.settings.baseline is not None,
                    shard=shard_of(self._config, self._state),
                    verdict=verdict,
                    broken=bool(session.shouldstop or session.shouldfail)
                    or session.exitstatus == pytest.ExitCode.INTERRUPTED,
                    sent=self._state.settings.sent_pictures,
                )
                self._report_written = True
        if empty_shard:
            session.exitstatus = pytest.ExitCode.OK
        if (verdict and verdict.failed) or any(self._problems.values()):
            session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    @contextmanager
    def _step(self, title: str) -> Generator[None]:
        """Keep an error of a step, for the section with this title."""
        try:
            yield
        except (MiniwobError, OSError) as error:
            self._problems[title].append(redact(str(error)))

    def _write_pending(self) -> None:
        """Write the model calls that wait for a completion (deferred recording)."""
        settings, selection = self._state.settings, self._state.selection
        if settings.record != "defer":
            return
        from pytest_miniwob_agent.cassettes.deferred.pending import update_pending

        ran = {outcome.cassette for outcome in self._outcomes if outcome.cassette}
        stems = self._state.cassettes_of(selection.cases)
        waiting = update_pending(
            settings.pending,
            ran,
            [outcome.request for outcome in self._outcomes if outcome.request is not None],
            stems if stems and not selection.few else None,
        )
        self._waiting = len(waiting)

    def _finish_agents(self) -> None:
        """Call the `run_finished` of each agent that has one, with the outcomes of its items."""
        try:
            agents = self._state.agents
        except Exception:  # noqa: BLE001 - reported by each item that needed the agent
            return
        for folder, agent in agents.items():
            own = [one for one in self._items if one.case.setup.partition("/")[0] == folder]
            if not own or not isinstance(agent, RunObserver):
                continue
            try:
                if remark := agent.run_finished(own):
                    self._agents_remarks.append(remark)
            except MiniwobError:
                raise
            except Exception:  # noqa: BLE001 - the agent may be anybody's
                raise MiniwobError(
                    f"run_finished() of the agent {agent.name} failed:\n{traceback.format_exc()}"
                ) from None

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_terminal_summary")
    def pytest_show_missing_once(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None]:
        """Leave several missing cassettes out of pytest's own lists of errors."""
        stats, errors = terminalreporter.stats, terminalreporter.stats.get("error", [])
        others = [
            one
            for one in errors
            if not getattr(getattr(one, "miniwob", None), "not_recorded", False)
        ]
        if len(errors) - len(others) > 1:
            stats["error"] = others
        yield
        if errors:
            stats["error"] = errors

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show drift, errors, episodes, the ledger of calls, the gate, and the files."""
        from pytest_miniwob_agent.terminal import summary

        terminal, settings = terminalreporter, self._state.settings
        command = record_command(self._config)
        price_of = settings.price_of
        kept = None  # of the calls that this run recorded
        if self._state.shared is not None:
            with suppress(RecordingStopped):  # the ledger is lost
                kept = Budget(self._state.shared).recorded()
        summary.show_drift(terminal, self._items, price_of=price_of, command=command)
        missing = [outcome for outcome in self._items if outcome.not_recorded]
        if len(missing) > 1:
            cassettes = settings.cassettes
            summary.show_missing(terminal, missing, cassettes=cassettes, command=command)
        summary.show_errors(terminal, [one for one in self._items if not one.not_recorded])
        if (self._outcomes or (kept and kept.calls)) and terminal.verbosity >= 0:
            terminal.section("MiniWoB++ episodes")
            summary.show_episodes(terminal, self._items)
            summary.show_ledger(
                terminal,
                self._outcomes,
                model=settings.model,
                price_of=price_of,
                waiting=self._waiting if settings.record == "defer" else None,
                pending=display_path(settings.pending),
                kept=kept,
            )
            for remark in self._agents_remarks:
                terminal.line(sanitize_line(redact(remark)))
        for text in self._problems["episodes"]:
            terminal.line(sanitize_lines(text), red=True)
        if self._remarks:
            terminal.section("MiniWoB++ cassettes")
            for remark in sorted(map(sanitize_line, self._remarks)):
                terminal.line(remark, yellow=True)
        self._show_problems(terminal, "results")
        if self._results is not None:
            self._results.show(terminal)
        self._show_problems(terminal, "report")
        if self._state.untraced:
            terminal.line(self._state.untraced, yellow=True)
        if self._report_written and self._report is not None and terminal.verbosity >= 0:
            terminal.line(f"report: {display_path(self._report.index)}")

    def _show_problems(self, terminal: pytest.TerminalReporter, title: str) -> None:
        if self._problems[title]:
            terminal.section(f"MiniWoB++ {title}", red=True)
        for text in self._problems[title]:
            terminal.line(sanitize_lines(text), red=True)
