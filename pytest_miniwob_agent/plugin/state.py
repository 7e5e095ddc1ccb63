"""State of a run in one process, kept in the stash of pytest's configuration."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from pluggy import HookRelay

from pytest_miniwob_agent.agents.registry import load_agent
from pytest_miniwob_agent.cassettes.folder import model_folder, stem
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.protocols import Agent
from pytest_miniwob_agent.episode import AgentLoops
from pytest_miniwob_agent.plugin.settings import Settings
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.tasks.catalogue import TaskPage

# In the output of a worker of pytest-xdist, pickled: its selection, and its set-ups.
_TOLD = "miniwob_told"
_SETUPS = "miniwob_setups"


DRIFT_FORECAST = "drift.txt"
"""The file in the run's shared folder with what is to be said once recorded items drift."""


class Setup(NamedTuple):
    """An agent, as `--miniwob-agent` takes it, with its parameters, and a model's id.

    `prompts` is a folder of its own, whose name is then part of the agent's.
    """

    agent: str
    params: Mapping[str, Any]
    model: str | None
    prompts: Path | None = None

    @classmethod
    def of_options(cls, settings: Settings) -> Setup:
        return cls(settings.agent, settings.agent_params, settings.model)

    def make_agent(self, state: State, **item: Any) -> Agent:
        """Make a new agent for an item (`task`, `seed`, `folder`); raises as `load_agent`."""
        prompts = self.prompts or state.settings.prompts
        agent = load_agent(self.agent, prompts, self.params, item=item, hook=state.hook)
        if self.prompts is not None:
            agent.name = f"{agent.name}-{self.prompts.name}"
        return agent


@dataclass(slots=True)
class Selection:
    """Which cases a run offers, runs and leaves out; filled while pytest collects.

    Args:
        few: why the run looks for a few items only, so that it does not show that others are gone:
            `--lf`, or tests that are named on the command line. Empty if it does not.
        paths: the files and folders to collect, if the run does not look for a few items only.
        offered: the cases that the markers of each collected test select, by the test's node id.
        deselected: the cases that `-k`, `-m`, `--deselect` or a plugin left out of some test.
        to_run: the cases that are to run here.
        splitting: True once a plugin may split the items: what is deselected then is not left out,
            but goes to another shard.
    """

    few: str = ""
    paths: Collection[Path] = ()
    offered: dict[str, list[Case]] = field(default_factory=dict)
    deselected: set[Case] = field(default_factory=set)
    to_run: set[Case] = field(default_factory=set)
    splitting: bool = False

    @classmethod
    def of(cls, config: pytest.Config) -> Selection:
        arguments = list(map(str, config.args))
        few = ""
        if getattr(config.option, "lf", False):
            few = "only what failed last"
        elif any("::" in argument for argument in arguments):
            few = "only tests that were named"
        paths = [Path(config.invocation_params.dir, argument) for argument in arguments]
        anywhere = Path(config.rootpath.anchor)  # a package, with --pyargs
        return cls(few, [path.resolve() if path.exists() else anywhere for path in paths])

    @property
    def cases(self) -> set[Case]:
        return set(chain.from_iterable(self.offered.values()))

    @property
    def wanted(self) -> set[Case]:
        """The cases that are to run, here or in another shard."""
        return self.cases - (self.deselected - self.to_run)

    def left_out(self, baseline: Results, root: Path, seeds: Collection[int] | None) -> set[str]:
        """Return the ids of the cases of a baseline that the run left out on purpose.

        A case is left out if the markers of a collected test select it and the command line does
        not, by its seed or otherwise. It is also left out if its test was not asked for. So a case
        that a marker no longer selects, one whose test is gone, and one that a plugin took out of
        the items without a word (`pytest_deselected`) are not left out.

        Args:
            baseline: the results of an earlier run.
            root: the project's folder, at which the ids of tests start.
            seeds: the seeds that the command line names, if it names any.
        """
        to_run = {case.item for case in self.to_run}
        cases = self.cases
        deselected = {case.item for case in (cases if self.few else self.deselected)}
        tasks = {(case.category, case.task) for case in cases}
        return {
            result.case
            for result in baseline.results
            # One that was to run and did not is missing, as the run was stopped.
            if result.item not in to_run
            and (
                result.item in deselected
                or (seeds and result.seed not in seeds and (result.category, result.task) in tasks)
                or (result.test and not self._asks_for(result.test, root))
            )
        }

    def _asks_for(self, test: str, root: Path) -> bool:
        file = (root / test.partition("::")[0]).resolve()
        wanted = not self.few and any(file.is_relative_to(path) for path in self.paths)
        return wanted or test in self.offered


@dataclass
class State:
    """State of a run in one process: the controller, or a worker of pytest-xdist.

    Args:
        settings: the options.
        selection: which cases the run offers, runs and leaves out.
        hook: the hooks of the run's plugins.
        options: those of plugins, by the dataclass that declares them.
        setups: the agents and models of its cases, by the folder that `Case.setup` names; those of
            a worker are `sent`.
        shared: a folder of this run, for what its processes count together; None if no call may
            be made.
        controller: in a worker, the id of the controller's process.
        no_baseline: why the run is compared with nothing though it names a baseline.
        slowmo: with a window, milliseconds that each action takes longer, for `play`.
        past_mocks: a context for model calls, for `LiveModel`.
        pages: the page of each task that was collected, by the task's name.
        loops: the event loops of agents, in the thread of the tests.
    """

    settings: Settings
    selection: Selection
    hook: HookRelay
    options: dict[type, Any]
    setups: dict[str, Setup] = field(default_factory=dict)
    sent: bytes = b""
    shared: Path | None = None
    controller: int | None = None
    no_baseline: str = ""
    slowmo: int | None = None
    past_mocks: Callable[[], AbstractContextManager[None]] = nullcontext
    pages: dict[str, TaskPage] = field(default_factory=dict)
    loops: AgentLoops = field(default_factory=AgentLoops)

    @cached_property
    def agent(self) -> Agent:
        """An agent as the options name it, for its name and its `run_finished`.

        Raises:
            UsageError: it can't be made.
        """
        return Setup.of_options(self.settings).make_agent(self)

    @property
    def agents(self) -> dict[str, Agent]:
        """The agents of the collected tests by their folders, that of the options by `""`.

        Raises:
            Exception: one can't be made, or not here: its parameters may be of any kind.
        """
        if not (self.setups or self.sent):
            raise UsageError("no worker could send the parameters of the agents")
        setups = self.setups or pickle.loads(self.sent)
        return {
            folder.partition("/")[0]: setup.make_agent(self) if folder else self.agent
            for folder, setup in setups.items()
        }

    def take_drift_forecast(self) -> str:
        """Return what is to be said once recorded items drift; empty if it was said before."""
        assert self.shared is not None
        file = self.shared / DRIFT_FORECAST
        taken = file.with_suffix(f".{os.getpid()}")
        try:
            file.rename(taken)  # only one of several workers can
        except FileNotFoundError:
            return ""
        return taken.read_text("utf-8")

    def send(self, config: pytest.Config) -> None:
        """On a worker of pytest-xdist, put what is to be told into its output."""
        if (output := getattr(config, "workeroutput", None)) is not None:
            output[_TOLD] = pickle.dumps(self.selection)
            output[_SETUPS] = b""
            with suppress(Exception):  # parameters of agents that can't be sent
                output[_SETUPS] = pickle.dumps(self.setups)

    def receive(self, output: Mapping[str, Any]) -> None:
        """Take over what a worker has told; all workers collect the same items."""
        if _TOLD in output:
            told = pickle.loads(output[_TOLD])
            self.selection.offered |= told.offered
            self.selection.deselected |= told.deselected
            self.selection.to_run |= told.to_run
            self.sent = output[_SETUPS]

    def find_cassettes(self, cases: Iterable[Case]) -> list[str]:
        """Return the stems of the cassettes of cases by their markers' or the options' set-up.

        A test that overrides the fixture of its agent or model may use another cassette.

        Raises:
            UsageError: the agent can't be made.
        """
        model = self.settings.model
        return [
            stem(case.setup or model_folder(self.agent.name, model or ""), case)
            for case in cases
            if case.setup or model is not None
        ]


STATE = pytest.StashKey[State]()
"""Key of the state in the stash of a run's configuration."""

Declared = TypeVar("Declared")


def options_of(config: pytest.Config, declared: type[Declared]) -> Declared:
    """Return the options of a run that the dataclass of a plugin declares."""
    found: Declared = config.stash[STATE].options[declared]
    return found
