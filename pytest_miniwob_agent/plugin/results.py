"""Results of a run: the baseline of its items, the results file, its shard, and the gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_miniwob_agent.core.data import canonical_json, digest, to_data
from pytest_miniwob_agent.core.errors import NoResultsYet, UsageError
from pytest_miniwob_agent.core.events import Called
from pytest_miniwob_agent.core.files import (
    check_writable,
    display_path,
    same_file,
    shown_from_here,
)
from pytest_miniwob_agent.core.outcome import Change, Earlier, Outcome
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.plugin.reading import project_folder, record_command
from pytest_miniwob_agent.plugin.settings import Settings
from pytest_miniwob_agent.plugin.state import State

if TYPE_CHECKING:
    from pytest_miniwob_agent.results.comparison import Comparison
    from pytest_miniwob_agent.results.file import Result, Results, Shard
    from pytest_miniwob_agent.results.gate import Gate, Verdict


NAMED = 20
"""Number of items that the gate names of a list; all with -v."""


class Baseline(NamedTuple):
    """Results that the items of a run are compared with, in the process that runs them."""

    results: Results
    gate: Gate

    def apply(self, item: pytest.Item, report: Any, *, excusable: bool) -> None:
        """Mark how an item changed; turn a failure that the baseline or gate allows into an xfail.

        An unsolved item that the baseline does not solve either is an expected failure, and so is
        one of which the baseline knows nothing. One that the baseline solves fails the item under
        the gate `items` alone: the other gates judge all items together.

        Args:
            item: the item.
            report: the last report of its set-up or call.
            excusable: True if nothing failed but that the episode is not solved.
        """
        from pytest_miniwob_agent.results.comparison import describe

        outcome: Outcome = report.miniwob
        before = self.results.items.get(outcome.case.item)
        if before is None:
            excuse = "the baseline does not have it, so it decides nothing yet"
        elif not before.conclusive:
            excuse = "the baseline is inconclusive about it, so it decides nothing yet"
        else:
            was_solved = before.count_as_solved(self.gate.at_least)
            change = None
            if outcome.episode is not None and outcome.solved != was_solved:
                change = Change.PROGRESSED if outcome.solved else Change.REGRESSED
            earlier = Earlier(before.solved, before.conclusive, describe(before))
            report.miniwob = replace(outcome, earlier=earlier, change=change)
            excuse = f"the baseline does not solve it either: {earlier.text}"
            if was_solved and self.gate.kind == "items":
                return
            if was_solved:
                excuse = f"solved in the baseline; the gate {self.gate} judges all items together"
        excusable = excusable and report.failed and outcome.episode is not None
        if excusable and not item.config.getoption("runxfail", True):  # also without its plugin
            report.outcome = "skipped"
            report.wasxfail = excuse


BASELINE = pytest.StashKey[Baseline]()
"""Key of the baseline in the stash of a run's configuration, where it has one."""


def load_baseline(settings: Settings, *, gate_asked_for: bool) -> Baseline | str | None:
    """Return the baseline that the options name, None if they name none.

    Return a remark in its place if there is none yet: this run is the first to write it, or its
    commit has none. Of a file that this run writes again the committed version counts, so that a
    second run is judged alike. `gate_asked_for` is True if the command line names a gate.

    Raises:
        UsageError: the baseline can't be read, the gate is not valid, or has no baseline.
    """
    if not (settings.baseline or gate_asked_for or settings.results):
        return None
    from pytest_miniwob_agent.results.gate import Gate

    gate = Gate.parse(settings.gate)
    if settings.baseline:
        try:
            return Baseline(_read_baseline(settings), gate)
        except NoResultsYet as error:
            return f"no baseline yet, nothing judged: {error}"
    if gate_asked_for:
        raise UsageError(
            f"--miniwob-gate={settings.gate} has nothing to compare with: name a baseline with "
            "--miniwob-baseline, such as git:main"
        )
    return None


def _read_baseline(settings: Settings) -> Results:
    """Read the results that the options name as the baseline; raises as `load_baseline` says."""
    from pytest_miniwob_agent.results.file import parse_results, read_results
    from pytest_miniwob_agent.results.git import read_at_commit

    source, beside = settings.baseline, settings.baseline_file
    assert source is not None
    if isinstance(source, str):
        beside = beside and shown_from_here(beside)
        return read_results(source, beside=beside, written=settings.results)
    name = shown_from_here(source)
    if settings.results and same_file(source, settings.results):
        try:
            committed = read_at_commit("HEAD", source)
        except UsageError:
            if not source.exists():
                raise NoResultsYet(f"this run is the first to write {name}") from None
        else:
            return parse_results(committed, f"git:HEAD:{name}")
    return read_results(name)


def shard_of(config: pytest.Config, state: State) -> Shard | None:
    """Return the shard that this run is, None if it runs a whole suite."""
    settings, selection = state.settings, state.selection
    if settings.shard is None:
        return None
    from pytest_miniwob_agent.results.file import Shard
    from pytest_miniwob_agent.results.git import checked_out

    items = sorted(case.id for case in selection.cases)
    prompts = sorted(settings.prompts.glob("*.txt")) if settings.prompts else []
    return Shard(
        number=settings.shard[0],
        of=settings.shard[1],
        selected=len(selection.to_run),
        items=len(items),
        deselected=tuple(sorted(case.id for case in selection.cases - selection.wanted)),
        suite={
            "commit": checked_out(project_folder(config)),
            "digest of the items": digest(",".join(items)),
            "--miniwob-agent": settings.agent,
            "--miniwob-agent-params": redact(canonical_json(settings.agent_params)),
            "--miniwob-model": settings.model or "",
            "--miniwob-llm-params": redact(canonical_json(settings.kept_params)),
            "--miniwob-prompts": ", ".join(
                f"{file.name} {digest(file.read_text('utf-8'))}" for file in prompts
            ),
            "--miniwob-trials": str(settings.trials or settings.ini["trials"] or ""),
            "--miniwob-steps": str(settings.steps or settings.ini["steps"] or ""),
        },
    )


class RunResults:
    """Results of a run, written and judged when it is over."""

    def __init__(self, config: pytest.Config, state: State) -> None:
        self._config = config
        self._state = state
        self._partial: tuple[str, ...] = ()
        self._written: Path | None = None
        self._stays = ""  # the reason why the results file is left as it was
        self.verdict: Verdict | None = None
        """The gate's verdict; None where nothing was judged."""

    def check(self) -> None:
        """Check that the file can be written, before anything is run or paid for.

        Raises:
            UsageError: it can't be.
        """
        file = self._state.settings.results
        if file is None:
            return
        try:
            if file.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            check_writable(file.resolve())
        except OSError as error:
            raise UsageError(
                f"--miniwob-results: {display_path(file)} can't be written: "
                f"{error.strerror or error}; name another file"
            ) from None

    def write_and_judge(self, outcomes: Sequence[Outcome]) -> None:
        """Write the results file, and judge the results by the baseline.

        Raises:
            UsageError: an item was run more than once, with different results.
            OSError: the file can't be written.
        """
        from pytest_miniwob_agent.results.file import Results, one_per_case

        state = self._state
        self._partial = self._reasons_for_partial(outcomes)
        shard = shard_of(self._config, state)
        results = Results(one_per_case(map(result_of, outcomes)), self._partial, "this run", shard)
        baseline = self._config.stash.get(BASELINE, None)
        if baseline is not None and shard is None:
            from pytest_miniwob_agent.results.gate import judge

            before, gate = baseline
            root, seeds = project_folder(self._config), state.settings.seeds
            left_out = state.selection.left_out(before, root, seeds)
            self.verdict = judge(before, results, gate, left_out, state.settings.prices)
        if file := state.settings.results:
            whole = state.selection.to_run <= {outcome.case for outcome in outcomes}
            beside = file.with_name(f"{file.stem}.incomplete{file.suffix}")
            if not shard and not (whole and all(result.conclusive for result in results.results)):
                self._stays = "not all items have an outcome"
            elif self.verdict and self.verdict.failed and self._is_judged_by(file):
                self._stays = "it is the baseline, and the gate failed"
            path = beside if self._stays else file
            results.write(path.resolve())
            self._written = path
            if path == file:
                beside.unlink(missing_ok=True)
        if self.verdict:
            from pytest_miniwob_agent.terminal.comparison import ComparisonView
            from pytest_miniwob_agent.terminal.github import report_to_github

            report_to_github(ComparisonView(self.verdict.both, self.verdict))

    def _is_judged_by(self, file: Path) -> bool:
        """True if the baseline is what this file holds, not what is committed of it."""
        source = self._config.stash[BASELINE].results.source
        return not source.startswith("git:") and same_file(Path(source), file)

    def _reasons_for_partial(self, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
        """Return the reasons for which the results are not those of all items."""
        selection = self._state.selection
        reasons = [selection.few] if selection.few else []
        if (shard := self._state.settings.shard) is not None:
            reasons = [f"shard {shard[0]} of {shard[1]}"]
        if count := len(selection.cases - selection.wanted):
            reasons.append(f"{counted(count, 'item')} deselected")
        if count := len(selection.to_run - {outcome.case for outcome in outcomes}):
            reasons.append(f"{counted(count, 'item')} did not run")
        return tuple(reasons)

    def show(self, terminal: pytest.TerminalReporter) -> None:
        """Show the verdict of the gate, and the path of the results file."""
        verdict, settings = self.verdict, self._state.settings
        if verdict and (terminal.verbosity >= 0 or verdict.failed):
            from pytest_miniwob_agent.terminal.comparison import show_gate

            most = None if terminal.verbosity > 0 else NAMED
            changed = bool(verdict.progressed or verdict.regressed) and not verdict.failed
            hint = self._how_to_keep(verdict.both) if changed else ""
            given = (reason.options.partition("=")[0] for reason in verdict.reasons)
            command = record_command(self._config, *filter(None, given))
            show_gate(terminal, verdict, most=most, hint=hint, command=command)
        elif verdict:
            terminal.line(f"gate {verdict.gate}: {verdict.decision}")
        if self._state.no_baseline:
            terminal.line(f"gate {settings.gate}: {self._state.no_baseline}", yellow=True)
        if self._written and terminal.verbosity >= 0:
            terminal.line(f"results: {display_path(self._written)}")
            if self._stays and settings.results:
                kept = display_path(settings.results)
                terminal.line(f"{self._stays}, so {kept} stays as it was")
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
            return "same set-up as the baseline: keep the baseline, also if this run is better"
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


def result_of(outcome: Outcome) -> Result:
    """Return the line of an outcome in a results file."""
    from pytest_miniwob_agent.results.file import Result, add_tokens

    found: dict[str, Any] = {"reason": outcome.reason}
    calls = [event for event in outcome.history if isinstance(event, Called)]
    completions = [call.completion for call in calls]
    cached = {
        "cached": sum(answer.cached_tokens for answer in completions),
        "written": sum(answer.written_tokens for answer in completions),
    }
    if (episode := outcome.episode) is not None:
        found = {
            "solved_at": episode.solved_at,
            "endings": tuple(map(str, episode.endings)),
            "rewards": episode.rewards,
            "steps": episode.steps,
            "typings": episode.typings,
            "calls": dict(Counter(call.purpose for call in calls)),
            "tokens": {
                "prompt": add_tokens(answer.prompt_tokens for answer in completions),
                "completion": add_tokens(answer.completion_tokens for answer in completions),
                **{name: count for name, count in cached.items() if count},
            },
        }
    return Result(
        **asdict(outcome.case),
        agent=outcome.agent,
        model=outcome.model,
        params=outcome.params,
        prompts=outcome.prompts,
        sent=outcome.sent,
        limits=None if outcome.limits is None else to_data(outcome.limits),
        response_models=_names(completion.model for completion in completions),
        system_fingerprints=_names(completion.system_fingerprint for completion in completions),
        outcome=outcome.status,
        test=outcome.test,
        **found,
    )


def _names(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name is not None}))
