"""The steps in which a run ends: pending calls, the agents' `run_finished`, results."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from pytest_miniwob_agent.cassettes.deferred import read_pending, update_pending
from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.files import check_output, display_path, is_stream, same_file
from pytest_miniwob_agent.core.protocols import RunObserver
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import counted, sanitize_line
from pytest_miniwob_agent.hookspec import Run, Step
from pytest_miniwob_agent.plugin.reading import project_folder, record_command
from pytest_miniwob_agent.plugin.results import BASELINE, get_shard
from pytest_miniwob_agent.plugin.state import State
from pytest_miniwob_agent.results.comparison import Comparison
from pytest_miniwob_agent.results.file import Results, one_per_case, read_results
from pytest_miniwob_agent.results.gate import Verdict
from pytest_miniwob_agent.results.twins import find_twins
from pytest_miniwob_agent.terminal.views import (
    ComparisonView,
    TwinsView,
    report_to_github,
    show_gate,
)

NAMED = 20
"""Number of items that the gate names of a list; all with -v."""


class PendingCalls(Step):
    """Deferred recording: takes answers at first, and writes the calls that wait for one."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.taken: list[str] = []
        """What was taken from an answer file, and the answers that were not."""
        self.waiting = 0
        """The number of calls that wait."""

    def begin(self) -> None:
        from pytest_miniwob_agent.cassettes.deferred import take_answers

        settings = self._state.settings
        if settings.answers is None:
            read_pending(settings.pending)  # a damaged file is reported before the run
        else:
            self.taken = take_answers(settings.answers, settings.pending, settings.cassettes)

    def finish(self, run: Run) -> None:
        if not run.outcomes:
            return
        selection = self._state.selection
        stems = self._state.find_cassettes(selection.cases)
        asked = [(one.request, one.group) for one in run.outcomes if one.request is not None]
        waiting = update_pending(
            self._state.settings.pending,
            {outcome.cassette for outcome in run.outcomes if outcome.cassette},
            [request for request, _ in asked],
            # A run of a few items does not show which other requests are still of use.
            stems if stems and not selection.few else None,
            {request["custom_id"]: group for request, group in asked},
        )
        self.waiting = len(waiting)


class RunFinished(Step):
    """Calls the `run_finished` of each agent that has one, with the outcomes of its items."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._remarks: list[str] = []

    def finish(self, run: Run) -> None:
        if not run.outcomes:
            return
        try:
            agents = self._state.agents
        except Exception as error:  # noqa: BLE001 - their classes may be anybody's
            reason = f"{type(error).__name__}: {error}"
            self._remarks.append(
                f"run_finished() was not called, as an agent can't be made: {reason}"
            )
            return
        for folder, agent in agents.items():
            own = [one for one in run.items if one.case.setup.partition("/")[0] == folder]
            if not own or not isinstance(agent, RunObserver):
                continue
            try:
                if remark := agent.run_finished(own):
                    self._remarks.append(remark)
            except MiniwobError:
                raise
            except Exception:  # noqa: BLE001 - the agent may be anybody's
                raise MiniwobError(
                    f"run_finished() of the agent {agent.name} failed:\n{traceback.format_exc()}"
                ) from None

    def show(self, terminal: pytest.TerminalReporter) -> None:
        if terminal.verbosity >= 0:
            for remark in self._remarks:
                terminal.line(sanitize_line(mask(remark)))


class ResultsFile(Step):
    """Writes the results file, and judges the results by the baseline."""

    title = "results"

    def __init__(self, config: pytest.Config, state: State) -> None:
        self._config = config
        self._state = state
        self._partial: tuple[str, ...] = ()
        self._written: Path | None = None
        self._stays = ""  # the reason why the results file is left as it was
        self._recordings: Path | None = None  # whose results those of a live app don't replace
        self.verdict: Verdict | None = None
        """The gate's verdict; None if nothing was judged."""

    def begin(self) -> None:
        file = self._state.settings.results
        if file is None:
            return
        try:
            check_output(file)
        except OSError as error:
            raise UsageError(
                f"--miniwob-results: {display_path(file)} can't be written: "
                f"{error.strerror or error}; name another file"
            ) from None

    def finish(self, run: Run) -> None:
        """Write and judge; an item that ran twice with different results is an error."""
        state, outcomes = self._state, run.outcomes
        if not (state.selection.to_run or run.empty_shard):
            return
        missing = state.selection.to_run.difference(
            (outcome.case for outcome in outcomes), run.without_outcome
        )
        self._partial = self._reasons_for_partial(len(missing))
        shard = get_shard(self._config, state)
        found = one_per_case(outcome.result for outcome in outcomes)
        results = Results(found, self._partial, "this run", shard)
        baseline = self._config.stash.get(BASELINE, None)
        try:
            if baseline is not None and shard is None:
                root = project_folder(self._config)
                self.verdict = baseline.judge(results, state.selection, state.settings, root)
                results = self.verdict.keep_needed(results)
                self._partial = results.partial
        finally:  # what ran is kept, also if the gate can't judge it
            self._write(results, whole=not missing)
        if self.verdict and self.verdict.gate.kind == "twins":
            markdown = TwinsView(find_twins(results), self.verdict).markdown()
            report_to_github(markdown, self.verdict)
        elif self.verdict:
            view = ComparisonView(self.verdict.both, self.verdict)
            report_to_github(view.markdown(), self.verdict, view.changed[0])

    def _write(self, results: Results, *, whole: bool) -> None:
        file = self._state.settings.results
        if file is None:
            return
        if results.of_live_apps and _has_recordings(file):
            self._recordings = display_path(file)
            file = file.with_name(f"{file.stem}.live{file.suffix}")
        beside = file.with_name(f"{file.stem}.incomplete{file.suffix}")
        passed = self.verdict is not None and not self.verdict.failed
        kept = not (results.shard or is_stream(file))
        if kept and not (whole and all(each.conclusive for each in results.results)):
            self._stays = "not all items have an outcome"
        elif kept and not passed and self._is_judged_by(file):
            self._stays = "it is the baseline, and the gate failed"
        path = beside if self._stays else file
        results.write(path)
        self._written = path
        if path == file:
            beside.unlink(missing_ok=True)

    def _is_judged_by(self, file: Path) -> bool:
        """True if the baseline is what this file holds, not what is committed of it."""
        if (baseline := self._config.stash.get(BASELINE, None)) is None:
            return False
        source = baseline.results.source
        return not source.startswith("git:") and same_file(Path(source), file)

    def _reasons_for_partial(self, missing: int) -> tuple[str, ...]:
        selection = self._state.selection
        reasons = [selection.few] if selection.few else []
        if (shard := self._state.settings.shard) is not None:
            reasons = [f"shard {shard[0]} of {shard[1]}"]
        if count := len(selection.cases - selection.wanted):
            reasons.append(f"{counted(count, 'item')} deselected")
        if missing:
            reasons.append(f"{counted(missing, 'item')} did not run")
        return tuple(reasons)

    def show(self, terminal: pytest.TerminalReporter) -> None:
        verdict, settings = self.verdict, self._state.settings
        if verdict and (terminal.verbosity >= 0 or verdict.failed):
            most = None if terminal.verbosity > 0 else NAMED
            changed = bool(verdict.progressed or verdict.regressed) and not verdict.failed
            another_run = verdict.both.wanted is None
            hint = self._how_to_keep(verdict.both) if changed and another_run else ""
            given = (reason.options.partition("=")[0] for reason in verdict.reasons)
            command = record_command(self._config, *filter(None, given))
            show_gate(terminal, verdict, most=most, hint=hint, command=command)
        elif verdict:
            terminal.line(f"gate {verdict.gate}: {verdict.decision}")
        if self._state.no_baseline:
            terminal.line(f"gate {settings.gate}: {self._state.no_baseline}", yellow=True)
        if self._written and terminal.verbosity >= 0:
            terminal.line(f"results: {display_path(self._written)}")
            if self._recordings:
                terminal.line(
                    f"the app was live: the results of recordings are in {self._recordings}"
                )
            if self._stays and settings.results:
                kept = display_path(settings.results)
                what = "stays as it was" if settings.results.exists() else "was not written"
                terminal.line(f"{self._stays}, so {kept} {what}")
        if settings.shard and terminal.verbosity >= 0:
            number, of = settings.shard
            terminal.line(
                f"shard {number} of {of}: not judged by itself; "
                "miniwob-agent results merge joins all"
            )

    def _how_to_keep(self, both: Comparison) -> str:
        """Return a hint on when this run becomes the baseline of later ones, and how.

        A baseline that is chosen for its result makes later runs look worse than they are.
        """
        if not both.changed_setup:
            return "same set-up as the baseline: keep the baseline, even if this run is better"
        settings = self._state.settings
        source = settings.baseline
        file = source if isinstance(source, Path) else settings.baseline_file
        if isinstance(source, str) and (path := source.removeprefix("git:").partition(":")[2]):
            file = Path.cwd() / path
        name = display_path(file) if file else "FILE"
        if file == settings.results and not self._partial:
            return f"if the change is kept, this run is the next baseline: commit {name}"
        how = "run all items" if self._partial else "replay this run"
        return (
            f"if the change is kept, {how} with --miniwob-results={name} and commit that: "
            "the next baseline"
        )


def _has_recordings(file: Path) -> bool:
    """True of a file with results of recordings, or of something else that must not be replaced."""
    if not file.is_file():
        return False
    try:
        return not read_results(file).of_live_apps
    except UsageError:
        return True
