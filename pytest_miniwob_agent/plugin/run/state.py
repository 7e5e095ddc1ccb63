"""State of a run in one process, kept in the stash of pytest's configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.protocols import Observer, Page
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
        selected: ids of the cases that were collected and selected.
        deselected: ids of the cases that were collected and deselected.
        unwanted: those that were deselected before the items were split into shards; empty where
            they are not.
        collected: the cassettes that all collected items use, as of `collection.cassettes_of`; kept
            for deferred recording alone.
        pages: by the name of each task with a page of one's own, the page's file.
        offered: by the node id of each test that was collected, the ids of all cases that its
            markers select, whether or not the command line leaves them out.
    """

    settings: Settings
    baseline: Baseline | None = None
    exports: Exports | None = None
    shared: Path | None = None
    observe: Callable[[Page], Observer] | None = None
    slowmo: int | None = None
    selected: set[str] = field(default_factory=set)
    deselected: set[str] = field(default_factory=set)
    unwanted: set[str] = field(default_factory=set)
    collected: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    pages: dict[str, Path] = field(default_factory=dict)
    offered: dict[str, list[str]] = field(default_factory=dict)
    _catalogues: dict[tuple[Path, ...], Catalogue] = field(default_factory=dict)

    def catalogue(self, folders: Sequence[Path]) -> Catalogue:
        """Return the catalogue of the package and some folders, which are read once a run.

        Raises:
            UsageError: a folder has no pages, or a page's name is not valid or taken.
        """
        key = tuple(folders)
        if key not in self._catalogues:
            self._catalogues[key] = Catalogue(folders)
        return self._catalogues[key]

    def send_selection(self, config: pytest.Config) -> None:
        """Put the offered, selected and deselected cases into a worker's output."""
        if (output := getattr(config, "workeroutput", None)) is not None:
            output["miniwob_selected"] = sorted(self.selected)
            output["miniwob_deselected"] = sorted(self.deselected)
            output["miniwob_unwanted"] = sorted(self.unwanted)
            output["miniwob_collected"] = [sorted(part) for part in self.collected]
            output["miniwob_offered"] = self.offered

    def receive_selection(self, output: Mapping[str, Any]) -> None:
        """Add the offered, selected and deselected cases of a worker's output."""
        self.selected |= set(output.get("miniwob_selected", ()))
        self.deselected |= set(output.get("miniwob_deselected", ()))
        self.unwanted |= set(output.get("miniwob_unwanted", ()))
        for known, part in zip(self.collected, output.get("miniwob_collected", ()), strict=False):
            known.update(part)
        self.offered |= output.get("miniwob_offered", {})


STATE = pytest.StashKey[State]()
"""Key of the state in the stash of a run's configuration."""


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings of a run."""
    return config.stash[STATE].settings
