"""Results: the baseline that items are compared with, and the shard that a run is."""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import canonical_json, digest
from pytest_miniwob_agent.core.errors import NoResultsYet, UsageError
from pytest_miniwob_agent.core.files import same_file, shown_from_here
from pytest_miniwob_agent.core.outcome import Change, Earlier, Outcome
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import listed, nearest
from pytest_miniwob_agent.plugin.reading import project_folder
from pytest_miniwob_agent.plugin.settings import Settings
from pytest_miniwob_agent.plugin.state import STATE, Selection, State
from pytest_miniwob_agent.results.comparison import describe
from pytest_miniwob_agent.results.file import (
    Results,
    Shard,
    as_committed,
    checked_out,
    parse_results,
    read_results,
)
from pytest_miniwob_agent.results.gate import Gate, Verdict, judge, judge_setups


class Baseline(NamedTuple):
    """Results that the items of a run are compared with, in the process that runs them.

    With a `first` set-up, or an empty name for the first one that is collected, the run has no
    other baseline: its other set-up is compared with this one.
    """

    results: Results
    gate: Gate
    first: str | None = None

    def name_pair(self, case: Case) -> str:
        """Return what a case and the one that it is compared with have in common: their item."""
        return case.item if self.first is None else replace(case, setup="").item

    def find_first(self, selection: Selection, to_run: Set[Case]) -> str:
        """Return the set-up that the other one of this run is compared with.

        Raises:
            UsageError: these are not two set-ups with the same cases.
        """
        found: dict[str, set[Case]] = {}
        for case in chain.from_iterable(selection.offered.values()):
            if case in to_run:
                found.setdefault(case.setup, set()).add(replace(case, setup=""))
        names = [setup or "the one of the options" for setup in found]
        if self.first and self.first not in found:
            raise UsageError(
                f"--miniwob-baseline=setup:{self.first} is no set-up of this run"
                f"{nearest(self.first, names)}, which has {', '.join(names)}"
            )
        if len(found) == 1:
            why = (
                "has nothing to compare with: name a baseline with --miniwob-baseline, such as "
                "git:main, or run two set-ups, by agents=[...] or models=[...] of the marker"
            )
        elif len(found) > 2:
            why = (
                f"compares two set-ups, not {len(found)}: select two of {', '.join(names)} with -k"
            )
        elif alone := set.symmetric_difference(*found.values()):
            only = listed(sorted(case.id for case in alone))
            why = f"compares two set-ups on the same items, and one does not have {only}"
        else:
            return self.first or next(iter(found))
        raise UsageError(f"--miniwob-gate={self.gate} {why}")

    def judge(
        self, results: Results, selection: Selection, settings: Settings, root: Path
    ) -> Verdict:
        """Judge the results of a run; raises as `judge` and `find_first` do."""
        if self.first is None:
            left_out = selection.left_out(self.results, root, settings.seeds)
            return judge(self.results, results, self.gate, left_out, settings.prices)
        first = self.find_first(selection, selection.to_run)
        wanted = {self.name_pair(case) for case in selection.to_run}
        return judge_setups(results, first, self.gate, settings.prices, wanted)

    def apply(self, item: pytest.Item, report: Any, *, excusable: bool) -> None:
        """Mark how an item changed; turn a failure that the baseline or gate allows into an xfail.

        An unsolved item is an expected failure if the baseline does not solve it either, or does
        not contain it. If the baseline solves it, the item fails under the gate `items` alone: the
        other gates judge all items together.

        Args:
            item: the item.
            report: the last report of its set-up or call.
            excusable: True if nothing failed but that the episode is not solved.
        """
        outcome: Outcome = report.miniwob
        before = self.results.items.get(outcome.result.item)
        if before is None and (self.gate.kind == "twins" or self.first is not None):
            excuse = f"the gate {self.gate} judges all items together"
        elif before is None:
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
"""Key of the baseline in the stash of a run's configuration, if it has one."""


def check_baseline(config: pytest.Config) -> None:
    """Check that the set-ups that are collected can be compared, if they are to be.

    Raises:
        pytest.UsageError: they can't.
    """
    baseline, state = config.stash.get(BASELINE, None), config.stash[STATE]
    wanted = state.selection.wanted
    if baseline is None or baseline.first is None or not wanted:
        return
    if state.settings.shard is not None and baseline.gate.kind == "until-decided":
        raise pytest.UsageError(
            f"--miniwob-gate={baseline.gate} can't compare two set-ups of a run in shards: "
            "run them without, or use the gate paired"
        )
    try:
        baseline.find_first(state.selection, wanted)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def load_baseline(settings: Settings, *, asked_for: bool) -> Baseline | str | None:
    """Return the baseline that the options name, None if they name none.

    Return a remark in its place if there is no baseline yet: its commit has no file, or this run is
    the first to write it and it is that of the ini file. Of a file that this run writes again the
    committed version counts, so that a second run is judged alike. `asked_for` is True if the
    command line names a baseline or a gate.

    A gate that judges the run by its own pairs alone, or by its set-ups, has a baseline without
    items. The latter is the case without a baseline if the command line names a gate.

    Raises:
        UsageError: the baseline can't be read, or the gate is not valid.
    """
    gate = Gate.parse(settings.gate)
    first = settings.baseline_setup
    if settings.baseline and first is None:
        needed = asked_for and gate.kind != "twins"
        try:
            return Baseline(_read_baseline(settings, needed=needed), gate)
        except NoResultsYet as error:
            if gate.kind != "twins":
                return f"no baseline yet, nothing judged: {error}"
    itself = Results((), source="the run itself")
    if gate.kind == "twins":
        return Baseline(itself, gate)
    return Baseline(itself, gate, first or "") if asked_for or first is not None else None


def _read_baseline(settings: Settings, *, needed: bool) -> Results:
    """Read the results that the options name as the baseline; raises as `load_baseline` says."""
    source, beside = settings.baseline, settings.baseline_file
    assert source is not None
    if isinstance(source, str):
        beside = beside and shown_from_here(beside)
        return read_results(source, beside=beside, written=settings.results)
    name = shown_from_here(source)
    if settings.results and same_file(source, settings.results):
        if (committed := as_committed(source)) is not None:
            return parse_results(committed, f"git:HEAD:{name}")
        named_alike = os.path.abspath(source) == os.path.abspath(settings.results)  # by no link
        if named_alike and not needed and not source.exists():
            raise NoResultsYet(f"this run is the first to write {name}")
    return read_results(name)


def get_shard(config: pytest.Config, state: State) -> Shard | None:
    """Return the shard that this run is, None if it runs a whole suite."""
    settings, selection = state.settings, state.selection
    if settings.shard is None:
        return None
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
            "--miniwob-agent-params": mask(canonical_json(settings.agent_params)),
            "--miniwob-model": settings.model or "",
            "--miniwob-llm-params": mask(canonical_json(settings.kept_params)),
            "--miniwob-prompts": ", ".join(
                f"{file.name} {digest(file.read_text('utf-8'))}" for file in prompts
            ),
            "--miniwob-trials": str(settings.trials or settings.ini["trials"] or ""),
            "--miniwob-steps": str(settings.steps or settings.ini["steps"] or ""),
        },
    )
