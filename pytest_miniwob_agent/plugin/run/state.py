"""State of a run in one process, kept in the stash of pytest's configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.protocols import Agent, Observer, Page
from pytest_miniwob_agent.plugin.items.selection import Selection
from pytest_miniwob_agent.plugin.options.settings import Settings
from pytest_miniwob_agent.tasks.pages import Catalogue

if TYPE_CHECKING:
    from pytest_miniwob_agent.plugin.run.baseline import Baseline
    from pytest_miniwob_agent.plugin.run.exports import Exports


@dataclass(slots=True)
class State:
    """State of a run in one process: the controller, or a worker of pytest-xdist.

    Args:
        settings: the options.
        baseline: the results that items are compared with.
        exports: hands transcripts to other plugins that report.
        shared: a folder of this run, for what its processes count together; None where no call may
            be made.
        observe: makes an observer of an item's episode, for `miniwob-agent show` and `play`.
        slowmo: with a window, milliseconds that each action takes longer, for `play`.
        selection: which cases the run offers, runs and leaves out.
        pages: the page of each task that was collected, by the task's name.
    """

    settings: Settings
    baseline: Baseline | None = None
    exports: Exports | None = None
    shared: Path | None = None
    observe: Callable[[Page], Observer] | None = None
    slowmo: int | None = None
    selection: Selection = field(default_factory=Selection)
    pages: dict[str, Path] = field(default_factory=dict)
    _agent: Agent | None = None
    _catalogues: dict[tuple[Path, ...], Catalogue] = field(default_factory=dict)

    def catalogue(self, folders: Sequence[Path]) -> Catalogue:
        """Return the catalogue of the package and some folders, which are read once per run.

        Raises:
            UsageError: a folder has no pages, or a page's name is not valid or taken.
        """
        key = tuple(folders)
        if key not in self._catalogues:
            self._catalogues[key] = Catalogue(folders)
        return self._catalogues[key]

    @property
    def agent(self) -> Agent:
        """An agent as the options name it, for its name and its `run_finished`.

        Raises:
            UsageError: it can't be made.
        """
        from pytest_miniwob_agent.agents.registry import load_agent

        if self._agent is None:
            settings = self.settings
            self._agent = load_agent(settings.agent, settings.prompts, settings.agent_params)
        return self._agent

    def cassettes_of(self, cases: Iterable[Case]) -> list[str]:
        """Return the stems of the cassettes of cases by the options' agent and model.

        A test that overrides the fixture of its agent or model may use another cassette.

        Raises:
            UsageError: the agent can't be made.
        """
        from pytest_miniwob_agent.cassettes.folder.stems import stem

        if (model := self.settings.model) is None:
            return []
        return [stem(self.agent.name, model, case) for case in cases]


STATE = pytest.StashKey[State]()
"""Key of the state in the stash of a run's configuration."""


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings of a run."""
    return config.stash[STATE].settings
