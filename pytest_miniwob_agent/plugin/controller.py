"""The start of a run, and its controller, which at the end writes, judges and shows the outcomes.

Under pytest-xdist the controller is the process that the user started, otherwise the only one.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.builtin import joined
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import MiniwobError, RecordingStopped
from pytest_miniwob_agent.core.files import display_path, shared_folder
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.secrets import KEY_VARIABLE, mask
from pytest_miniwob_agent.core.text import sanitize_lines
from pytest_miniwob_agent.hookspec import Run, Step
from pytest_miniwob_agent.models.apis import find_provider
from pytest_miniwob_agent.models.budget import ENDED, Budget
from pytest_miniwob_agent.plugin.item import REMARK
from pytest_miniwob_agent.plugin.reading import (
    SETTINGS,
    blocked_options,
    known_secrets,
    read_options,
    read_settings,
    record_command,
)
from pytest_miniwob_agent.plugin.results import BASELINE, load_baseline
from pytest_miniwob_agent.plugin.state import STATE, Selection, State
from pytest_miniwob_agent.plugin.steps import PendingCalls, ResultsFile, RunFinished
from pytest_miniwob_agent.terminal.run import (
    Progress,
    show_drift,
    show_episodes,
    show_errors,
    show_ledger,
    show_missing,
    verbose_status,
)

# Options of sessions that only show something, so that nothing is read for a run or written.
_SHOWING = ("cacheshow", "collectonly", "setupplan", "show_fixtures_per_test", "showfixtures")


@contextmanager
def _as_usage_error() -> Generator[None]:
    try:
        yield
    except MiniwobError as error:
        raise pytest.UsageError(mask(str(error))) from None


def configure(config: pytest.Config) -> None:
    """Give the configuration its settings and state.

    Raises:
        pytest.UsageError: an option is not valid.
    """
    with _as_usage_error():
        settings = config.stash[SETTINGS] = read_settings(config)
        declared = joined(config.hook.pytest_miniwob_options())
        options = {each: read_options(config, each) for each in declared}
        config.stash[STATE] = State(settings, Selection.of(config), config.hook, options)
    variables = [find_provider(f"/{name}").key_variable for name in settings.upstream or ()]
    if names := list(filter(None, [settings.key_variable, *variables])):
        patch = pytest.MonkeyPatch()
        patch.setenv(KEY_VARIABLE, " ".join(names))  # with secrets, until the run is over
        config.add_cleanup(patch.undo)


def begin(session: pytest.Session) -> None:
    """Begin this process of a run, before its header is shown and workers start.

    Raises:
        pytest.UsageError: a file that an option names is not valid, or can't be written.
    """
    config = session.config
    state, manager = config.stash[STATE], config.pluginmanager
    settings = state.settings
    if any(config.getoption(name, False) for name in _SHOWING):
        return
    with _as_usage_error():
        asked_for = any(map(config.getoption, ("miniwob_baseline", "miniwob_gate")))
        baseline = load_baseline(settings, asked_for=asked_for)
        if isinstance(baseline, str):
            state.no_baseline = baseline
        elif baseline is not None:
            config.stash[BASELINE] = baseline
        config.hook.pytest_miniwob_begin(session=session)
        if hasattr(config, "workerinput"):
            shared = config.workerinput["miniwob_shared"]
            state.shared = Path(shared) if shared else None
            state.controller = os.getppid()
        else:
            manager.register(Controller(session, state), "miniwob-controller")
            if settings.record not in ("none", "defer"):
                stack = ExitStack()
                config.add_cleanup(stack.close)
                state.shared = stack.enter_context(shared_folder())
                manager.register(Progress(session, settings.find_price), "miniwob-progress")
        if state.shared is not None:
            from pytest_miniwob_agent.models.http import PastMocks
            from pytest_miniwob_agent.plugin.forecast import Forecaster

            state.past_mocks = PastMocks()
            manager.register(Forecaster(config, state), "miniwob-forecaster")


class Controller:
    """Plugin of the controller: collects the outcomes, and ends the run step by step."""

    def __init__(self, session: pytest.Session, state: State) -> None:
        settings = state.settings
        self._session = session
        self._state = state
        self._last_runs: dict[tuple[str, str], Outcome] = {}
        self._without_outcome: set[Case] = set()
        self._setup_seconds: dict[str, float] = {}
        self._remarks: set[object] = set()
        self._run: Run | None = None
        self._problems: dict[str, list[str]] = defaultdict(list)
        config = session.config
        self._pending = PendingCalls(state) if settings.record == "defer" else None
        has_results = settings.results or settings.baseline or BASELINE in config.stash
        self._results = ResultsFile(config, state) if has_results else None
        steps = (self._pending, RunFinished(state), self._results)
        self._steps: list[Step] = [step for step in steps if step]
        self._steps += joined(config.hook.pytest_miniwob_step(config=config))
        for step in self._steps:
            step.begin()
        if self._pending:
            self._remarks |= set(self._pending.taken[1:])  # below the run: -q has no header

    def pytest_report_header(self) -> list[str]:
        settings, lines = self._state.settings, []
        if settings.model is not None:
            lines.append(f"miniwob cassettes: {display_path(settings.cassettes)}")
        if self._pending and self._pending.taken:
            lines.append(f"miniwob answers: {self._pending.taken[0]}")
        if settings.shard is not None:
            lines.append("miniwob shard: {} of {}".format(*settings.shard))
        config = self._session.config
        ignored = blocked_options(config, config.getini)
        return [*lines, *(f"{option.ini} does nothing: {why}" for option, why in ignored)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._session.shouldfail or self._session.shouldstop:
            self._stop_calls()  # as by -x: workers have more items
        self._remarks |= {text for name, text in report.user_properties if name == REMARK}
        if report.when == "setup":
            self._setup_seconds[report.nodeid] = report.duration
        if id_ := getattr(report, "miniwob_without_outcome", ""):
            self._without_outcome.add(Case.from_id(id_))
        outcome: Outcome | None = getattr(report, "miniwob", None)
        if outcome is None:
            return
        key = getattr(report, "worker_id", ""), report.nodeid
        earlier = self._last_runs.get(key)
        # Plugins such as pytest-rerunfailures may run an item again: its last run counts.
        self._last_runs[key] = outcome if earlier is None else outcome.after(earlier)

    @pytest.hookimpl(tryfirst=True)
    def _stop_calls(self) -> None:
        if self._state.shared is not None:
            with suppress(RecordingStopped):  # the ledger is lost
                Budget(self._state.shared).stop(ENDED)

    pytest_keyboard_interrupt = pytest_internalerror = _stop_calls

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        status = yield
        # The short summary at the end keeps pytest's own words, which people and tools search for.
        if self._run is not None:
            return status
        return verbose_status(status, report, self._setup_seconds.get(report.nodeid, 0.0))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._state.receive(getattr(node, "workeroutput", None) or {})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        runs = self._last_runs.values()
        outcomes = sorted(runs, key=lambda one: (one.result.case, not one.solved))
        # Of an item that is run several times, as by pytest-repeat, an unsolved run counts.
        name = attrgetter("test", "case", "agent", "model")
        items = {name(one.result): one for one in outcomes}
        nothing_ran = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        shard = self._state.settings.shard is not None
        stopped = bool(session.shouldstop or session.shouldfail)
        run = self._run = Run(
            outcomes,
            list(items.values()),
            empty_shard=nothing_ran and shard and bool(self._state.selection.wanted),
            broken=stopped or session.exitstatus == pytest.ExitCode.INTERRUPTED,
            without_outcome=self._without_outcome,
        )
        for step in self._steps:
            try:
                step.finish(run)
            except (MiniwobError, OSError) as error:  # which fails the run; other steps go on
                self._problems[step.title].append(mask(str(error)))
            if step is self._results:
                run = self._run = run._replace(verdict=self._results.verdict)
        if run.empty_shard:
            session.exitstatus = pytest.ExitCode.OK
        verdict = self._results and self._results.verdict
        if (verdict and verdict.failed) or self._problems:
            session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        # pytest-json-report keeps log records by itself.
        json_report.update(mask(json_report, known_secrets(self._session.config)))

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_terminal_summary")
    def pytest_show_missing_once(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None]:
        # Several missing cassettes have a section of ours.
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
        if self._run is None:  # the session did not begin
            return
        terminal = terminalreporter
        self._show_episodes(terminal, self._run)
        if self._remarks:
            terminal.section("MiniWoB++ cassettes")
            for remark in sorted(map(sanitize_lines, map(str, self._remarks))):
                terminal.line(remark, yellow=True)
        for step in self._steps:
            if step.title != Step.title:  # those are shown with the episodes
                self._show_step(terminal, step)

    def _show_episodes(self, terminal: pytest.TerminalReporter, run: Run) -> None:
        settings = self._state.settings
        command = record_command(self._session.config)
        kept = None  # of the calls that this run recorded
        if self._state.shared is not None:
            with suppress(RecordingStopped):  # the ledger is lost
                kept = Budget(self._state.shared).recorded()
        show_drift(terminal, run.items, find_price=settings.find_price, command=command)
        missing = [outcome for outcome in run.items if outcome.not_recorded]
        if len(missing) > 1:
            show_missing(terminal, missing, cassettes=settings.cassettes, command=command)
        show_errors(terminal, [one for one in run.items if not one.not_recorded])
        if (run.outcomes or (kept and kept.calls)) and terminal.verbosity >= 0:
            terminal.section("MiniWoB++ episodes")
            show_episodes(terminal, run.items)
            show_ledger(
                terminal,
                run.outcomes,
                model=settings.model,
                find_price=settings.find_price,
                waiting=self._pending.waiting if self._pending else None,
                pending=display_path(settings.pending),
                again=Record(settings.record).again,
                kept=kept,
            )
        for step in self._steps:
            if step.title == Step.title:
                step.show(terminal)
        for text in self._problems[Step.title]:
            terminal.line(sanitize_lines(text), red=True)

    def _show_step(self, terminal: pytest.TerminalReporter, step: Step) -> None:
        if problems := self._problems[step.title]:
            terminal.section(f"MiniWoB++ {step.title}", red=True)
            for text in problems:
                terminal.line(sanitize_lines(text), red=True)
        step.show(terminal)
