"""State of a run in one process, kept in the stash of pytest's configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.core.protocols import Environment, Observer
from pytest_miniwob_agent.plugin.options import Settings

if TYPE_CHECKING:
    from pytest_miniwob_agent.plugin.baseline import Baseline
    from pytest_miniwob_agent.plugin.exports import Exports


@dataclass(slots=True)
class State:
    """State of a run in one process: the controller, or a worker of pytest-xdist.

    Args:
        settings: the options.
        baseline: the results that items are compared with.
        exports: hands transcripts to other plugins that report.
        shared: a folder of this run, for what its processes count together; None where no call may
            be made.
        observe: makes an observer of an item's episode, for whoever watches a replay.
        selected: ids of the cases that were collected and selected.
        deselected: ids of the cases that were collected and deselected.
    """

    settings: Settings
    baseline: Baseline | None = None
    exports: Exports | None = None
    shared: Path | None = None
    observe: Callable[[Environment], Observer] | None = None
    selected: set[str] = field(default_factory=set)
    deselected: set[str] = field(default_factory=set)


STATE = pytest.StashKey[State]()
"""Where a run's configuration keeps its state."""


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings of a run."""
    return config.stash[STATE].settings
