"""The rounds of a run: items in their order, a look after each round, and what is not needed."""

from __future__ import annotations

import pickle
from collections.abc import Generator
from contextlib import ExitStack
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.cassettes.folder import finished_stems
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import shared_folder, write_atomically
from pytest_miniwob_agent.core.outcome import Result
from pytest_miniwob_agent.plugin.collection import get_cases, get_problem
from pytest_miniwob_agent.plugin.item import RUN
from pytest_miniwob_agent.plugin.reading import project_folder
from pytest_miniwob_agent.plugin.results import Baseline
from pytest_miniwob_agent.plugin.state import STATE, Selection
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.rounds import plan_rounds

_FOLDER = "miniwob_rounds"

NOT_RECORDED = "its round is not recorded"
RECORD_BEFORE = "the round before is not recorded: record it, and judge the merged shards"


class Rounds:
    """Runs the items round by round, in every process, and skips those after the decision.

    The controller looks when all items of a round have ended. Workers of pytest-xdist do not wait
    for each other, so that a few items of the next round may run; they decide nothing.
    """

    name = "miniwob-rounds-run"

    def __init__(self, config: pytest.Config, baseline: Baseline) -> None:
        self._config = config
        self._baseline = baseline
        self._state = config.stash[STATE]
        self._ended: dict[str, Result | None] = {}  # by case
        self._looked = 0
        worker = getattr(config, "workerinput", None)
        self._controls = worker is None
        if worker is None:
            stack = ExitStack()
            config.add_cleanup(stack.close)
            self._folder = stack.enter_context(shared_folder())
            if getattr(config.option, "maxschedchunk", 1) is None:
                config.option.maxschedchunk = 1  # larger portions would run into later rounds
        else:
            self._folder = Path(worker[_FOLDER])
        self._over = self._folder / "over.txt"  # from which round on, and why
        self._judged = self._folder / "judged.txt"  # the number of rounds that did not decide
        self._plan = self._folder / "plan.pickle"  # for the controller, which collects nothing

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_FOLDER] = str(self._folder)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        name, known = self._baseline.name_pair, self._baseline.results.items
        names = map(name, get_cases(items)) if self._baseline.first is not None else known
        rounds = plan_rounds({*names}, by_task=self._baseline.gate.by_task)
        places = {item: place for place, item in enumerate(chain.from_iterable(rounds))}

        def place(item: pytest.Item) -> int:
            problem = get_problem(item)
            return places.get(name(problem.case), len(places)) if problem else -1

        items.sort(key=place)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        write_atomically(self._plan, pickle.dumps((self._rounds, self._state.selection)))

    @cached_property
    def _rounds(self) -> list[list[str]]:
        selection, seeds = self._state.selection, self._state.settings.seeds
        by_task, before = self._baseline.gate.by_task, self._baseline.results
        if self._baseline.first is not None:
            names = {self._baseline.name_pair(case) for case in selection.to_run}
            return plan_rounds(names, by_task=by_task)
        cases = selection.left_out(before, project_folder(self._config), seeds)
        known = before.items
        left_out = {i for i in known if all(r.case in cases for r in known[i].results)}
        return plan_rounds(known, left_out, by_task=by_task)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {item: number for number, part in enumerate(self._rounds) for item in part}

    def _number(self, case: Case) -> int:
        return self._numbers.get(self._baseline.name_pair(case), len(self._rounds))

    @cached_property
    def _unrecorded(self) -> set[str]:
        stems, state = {*finished_stems(self._state.settings.cassettes)}, self._state
        cases, name = state.selection.cases, self._baseline.name_pair
        return {name(one) for one in cases if not stems.issuperset(state.find_cassettes([one]))}

    @cached_property
    def _unrecorded_round(self) -> int:
        """The first round that was not all recorded when the run began."""
        lacking = self._unrecorded & self._numbers.keys()
        return min(map(self._numbers.__getitem__, lacking), default=len(self._rounds))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        problem, settings = get_problem(item), self._state.settings
        if problem is None:
            return
        name, number = self._baseline.name_pair(problem.case), self._number(problem.case)
        if self._over.exists():
            first, _, reason = self._over.read_text("utf-8").partition(" ")
            if number >= int(first):
                pytest.skip(reason)
        if number and settings.record == "none" and name in self._unrecorded:
            pytest.skip(NOT_RECORDED)
        if settings.shard is not None and number > self._unrecorded_round:
            pytest.skip(RECORD_BEFORE)

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_runtest_setup")
    def pytest_skip_drift_ahead(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Skip an item that drifts before the rounds before its own were judged.

        Workers are ahead, and rounds that were not recorded again have the tapes of the baseline.
        """
        __tracebackhide__ = True
        try:
            return (yield)
        except pytest.fail.Exception:
            run, judged = item.stash.get(RUN, None), 0
            if self._judged.exists():
                judged = int(self._judged.read_text("utf-8"))
            if run is None or run.drift is None or self._number(run.problem.case) <= judged:
                raise
            del item.stash[RUN]  # with its outcome
            pytest.skip(NOT_RECORDED)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._ended[outcome.result.case] = outcome.result
        elif id_ := getattr(report, "miniwob_without_outcome", ""):
            self._ended.setdefault(id_, None)
        if not self._controls:
            return
        if self._state.settings.shard is None:
            if report.when == "teardown" and self._plan.exists():
                self._look()
        elif outcome and (outcome.recorded.calls or not outcome.result.conclusive):
            self._end_shard(outcome.case)

    def _end_shard(self, case: Case) -> None:
        """Let the round of a case, which was not recorded, be the last of this run."""
        name, (rounds, _) = self._baseline.name_pair(case), self._collected
        for number, items in enumerate(rounds, start=1):
            if name in items and not self._over.exists():
                write_atomically(self._over, f"{number} {RECORD_BEFORE}")

    @cached_property
    def _collected(self) -> tuple[list[list[str]], Selection]:
        collected: tuple[list[list[str]], Selection] = pickle.loads(self._plan.read_bytes())
        return collected

    def _look(self) -> None:
        """Judge the rounds whose items have all ended, and say if no further one is needed."""
        rounds, selection = self._collected
        settings, root = self._state.settings, project_folder(self._config)
        while self._looked < len(rounds) and not self._over.exists():
            names = set(chain.from_iterable(rounds[: self._looked + 1]))
            seen = [case for case in selection.to_run if self._baseline.name_pair(case) in names]
            if any(case.id not in self._ended for case in seen):
                return
            self._looked += 1
            ended = [self._ended[case.id] for case in seen]
            found = Results(tuple(one for one in ended if one is not None))
            try:
                verdict = self._baseline.judge(found, selection, settings, root)
            except UsageError:  # the run's end says so
                return
            number = f"round {self._looked} of {len(rounds)}"
            if verdict.needed is not None:
                write_atomically(self._over, f"{self._looked} not needed: {number} has decided")
            elif any(reason.kind in ("missing", "unclear") for reason in verdict.reasons):
                text = f"{self._looked} not run: {number} has items without an outcome"
                write_atomically(self._over, text)
            else:
                write_atomically(self._judged, str(self._looked))
