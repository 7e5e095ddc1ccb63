"""The controller of a run: collects the outcomes, and at the end does with them all there is to do.

Under pytest-xdist the controller is the process that the user started, elsewhere the only one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import RunObserver
from pytest_miniwob_agent.core.text import counted, sanitize_lines
from pytest_miniwob_agent.plugin.options import record_command
from pytest_miniwob_agent.plugin.state import State
from pytest_miniwob_agent.terminal import statuses

if TYPE_CHECKING:
    from pytest_miniwob_agent.results.file import Result, Results
    from pytest_miniwob_agent.terminal.comparison import ComparisonView

NAMED = 20
"""Number of items that the gate names of a list; all with -v."""


class Controller:
    """Collects the outcomes of a run; writes and judges them when it is over.

    Args:
        config: pytest's configuration.
        state: the state of the run in this process.
        header: lines for the head of the run's output.

    Raises:
        UsageError: the report's folder holds something else than a report.
    """

    def __init__(self, config: pytest.Config, state: State, header: list[str]) -> None:
        self._config = config
        self._state = state
        self._header = header
        self._outcomes: list[Outcome] = []
        self._setup_seconds: dict[str, float] = {}
        self._problems: list[tuple[str, str]] = []
        self._waiting = 0
        self._remark: str | None = None
        self._comparison: ComparisonView | None = None
        self._report_written = False
        self._running = True
        settings = state.settings
        self._report = None
        if settings.report is not None:
            from pytest_miniwob_agent.report.folder import Report

            self._report = Report(settings.report)
            self._report.check()

    # --- While the run goes on ---

    def pytest_report_header(self) -> list[str]:
        """Say what became of an answer file."""
        return self._header

    def pytest_sessionstart(self) -> None:
        """Prepare the report's folder before pictures come in."""
        if self._report is not None and not self._config.option.collectonly:
            try:
                self._report.prepare()
            except MiniwobError as error:
                raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect an item's outcome; the episode takes place in its set-up."""
        if report.when == "setup":
            self._setup_seconds[report.nodeid] = report.duration
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._outcomes.append(outcome)

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
        output = getattr(node, "workeroutput", None) or {}
        self._state.selected |= set(output.get("miniwob_selected", ()))
        self._state.deselected |= set(output.get("miniwob_deselected", ()))

    # --- When it is over ---

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write and judge the outcomes, step by step.

        A step that fails fails the run, and does not keep the others from being done.
        """
        self._running = False
        if self._config.option.collectonly:
            return
        self._outcomes.sort(key=lambda outcome: outcome.case.id)
        for title, step in (
            ("episodes", self._write_pending),
            ("episodes", self._finish_agent),
            ("results", self._write_and_judge_results),
            ("report", lambda: self._write_report(session)),
        ):
            try:
                step()
            except (MiniwobError, OSError) as error:
                self._problems.append((title, str(error)))
        verdict = self._comparison.verdict if self._comparison else None
        if self._problems or (verdict is not None and not verdict.passed):
            session.exitstatus = max(session.exitstatus, pytest.ExitCode.TESTS_FAILED)

    def _write_pending(self) -> None:
        """Write the model calls that wait for a completion (deferred recording)."""
        settings = self._state.settings
        if settings.record != "defer" or not self._outcomes:
            return
        from pytest_miniwob_agent.cassettes.pending import update_pending

        self._waiting = update_pending(
            settings.pending,
            {outcome.cassette for outcome in self._outcomes if outcome.cassette},
            [outcome.request for outcome in self._outcomes if outcome.request is not None],
        )

    def _finish_agent(self) -> None:
        """Call the agent's `run_finished`, if it has one."""
        if not self._outcomes:
            return
        from pytest_miniwob_agent.agents.registry import load_agent

        settings = self._state.settings
        agent = load_agent(settings.agent, settings.prompts, settings.agent_params)
        if isinstance(agent, RunObserver):
            self._remark = agent.run_finished(self._outcomes)

    def _write_and_judge_results(self) -> None:
        """Write the results file, and judge the results by the baseline."""
        state = self._state
        if not state.selected or not (state.settings.results or state.settings.baseline):
            return
        from pytest_miniwob_agent.results.file import Results

        results = Results(_unique(self._outcomes), self._partial(), "this run")
        if state.settings.results:
            results.write(state.settings.results)
        if state.baseline is not None:
            self._judge(results)

    def _judge(self, results: Results) -> None:
        from pytest_miniwob_agent.results.comparison import Comparison
        from pytest_miniwob_agent.results.gate import judge
        from pytest_miniwob_agent.terminal.comparison import ComparisonView
        from pytest_miniwob_agent.terminal.github import report_to_github

        baseline = self._state.baseline
        assert baseline is not None
        left_out = _LeftOut(
            self._state.deselected, self._state.settings.seeds, bool(self._reason_for_few)
        )
        verdict = judge(baseline.results, results, baseline.gate, left_out)
        self._comparison = ComparisonView(Comparison(baseline.results, results), verdict)
        report_to_github(self._comparison)

    def _write_report(self, session: pytest.Session) -> None:
        """Write the HTML report."""
        if self._report is None or not self._outcomes:
            return
        self._report.write(
            self._outcomes,
            judged=self._state.settings.baseline is not None,
            broken=bool(session.shouldstop or session.shouldfail)
            or session.exitstatus == pytest.ExitCode.INTERRUPTED,
        )
        self._report_written = True

    @property
    def _reason_for_few(self) -> str:
        """Why only a few items were collected, so that nothing is known of the others."""
        option = self._config.option
        if getattr(option, "lf", False):
            return "only what failed last"
        if any("::" in str(argument) for argument in self._config.args):
            return "only tests that were named"
        return ""

    def _partial(self) -> tuple[str, ...]:
        """Return the reasons for which the results are not those of all items."""
        ran = {outcome.case.id for outcome in self._outcomes}
        selected, deselected = self._state.selected, self._state.deselected
        reasons = [self._reason_for_few] if self._reason_for_few else []
        if count := len(deselected - selected):
            reasons.append(f"{counted(count, 'item')} deselected")
        if count := len(selected - ran):
            reasons.append(f"{counted(count, 'item')} did not run")
        return tuple(reasons)

    # --- Output ---

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show drift, episodes, the ledger of calls, the gate, and where files were written."""
        from pytest_miniwob_agent.terminal import summary

        settings = self._state.settings
        terminal = terminalreporter
        verbose = terminal.verbosity > 0
        if self._outcomes:
            if self._config.option.tbstyle != "no":
                summary.show_drift(
                    terminal,
                    self._outcomes,
                    verbose=verbose,
                    price=settings.price,
                    command=record_command(self._config),
                )
            if terminal.verbosity >= 0:
                terminal.section("MiniWoB++ episodes")
                summary.show_episodes(terminal, self._outcomes)
                self._show_ledger(terminal)
            self._show_problems(terminal, "episodes")
        self._show_results(terminal)
        self._show_problems(terminal, "report")
        if self._report_written and self._report is not None and terminal.verbosity >= 0:
            terminal.line(f"report: {display_path(self._report.index)}")

    def _show_ledger(self, terminal: pytest.TerminalReporter) -> None:
        from pytest_miniwob_agent.terminal import summary

        settings = self._state.settings
        summary.show_ledger(
            terminal,
            self._outcomes,
            model=settings.model,
            price=settings.price,
            waiting=self._waiting if settings.record == "defer" else None,
            pending=display_path(settings.pending),
        )
        if self._remark:
            terminal.line(self._remark)

    def _show_problems(self, terminal: pytest.TerminalReporter, title: str) -> None:
        texts = [text for where, text in self._problems if where == title]
        if texts and title != "episodes":
            terminal.section(f"MiniWoB++ {title}", red=True)
        for text in texts:
            terminal.line(sanitize_lines(text), red=True)

    def _show_results(self, terminal: pytest.TerminalReporter) -> None:
        """Show the verdict, and where the results are."""
        from pytest_miniwob_agent.terminal import summary

        self._show_problems(terminal, "results")
        comparison, settings = self._comparison, self._state.settings
        verdict = comparison.verdict if comparison else None
        if comparison and verdict and (terminal.verbosity >= 0 or not verdict.passed):
            most = None if terminal.verbosity > 0 else NAMED
            hint = self._how_to_keep() if verdict.progressed or verdict.regressed else ""
            summary.show_gate(terminal, comparison, most=most, hint=hint if verdict.passed else "")
        if settings.results and self._state.selected and terminal.verbosity >= 0:
            terminal.line(f"results: {display_path(settings.results)}")

    def _how_to_keep(self) -> str:
        """Return a hint on how this run becomes the baseline of later ones."""
        source = self._state.settings.baseline
        file = source if isinstance(source, Path) else self._state.settings.baseline_file
        if isinstance(source, str) and (path := source.removeprefix("git:").partition(":")[2]):
            file = Path.cwd() / path
        name = display_path(file) if file else "FILE"
        if file == self._state.settings.results and not self._partial():
            return f"to make this run the baseline, commit {name}"
        run = "all items" if self._partial() else "it again"
        return f"to make this the baseline, run {run} with --miniwob-results={name} and commit that"


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """The case ids that a run left out on purpose.

    `seeds` are those that the command line named, None where it named none; `only` is true where
    just a few items were asked for.
    """

    deselected: Collection[str]
    seeds: Collection[int] | None
    only: bool

    def __contains__(self, case: object) -> bool:
        seed = int(str(case).rpartition("/")[2].partition("-")[0])
        other = self.seeds is not None and seed not in self.seeds
        return self.only or other or case in self.deselected


def _unique(outcomes: Sequence[Outcome]) -> tuple[Result, ...]:
    """Return the results of a run; two tests may have run the same item, if to the same result.

    Raises:
        UsageError: an item was run more than once, with different results.
    """
    from pytest_miniwob_agent.plugin.baseline import result_of

    found: dict[str, Result] = {}
    for outcome in outcomes:
        result = result_of(outcome)
        known = found.setdefault(result.case, result)
        if known != result:
            raise UsageError(
                f"{result.case} was run more than once, with different results: no results were "
                "written and nothing was judged. Run one agent and one model at a time"
            )
    return tuple(found.values())
