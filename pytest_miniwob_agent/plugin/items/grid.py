"""Browsers of a run on a Selenium Grid, which `--miniwob-remote` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.plugin.options.settings import Settings

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.grid import GridLauncher


def grid_launcher(config: pytest.Config, settings: Settings) -> GridLauncher | None:
    """Return what opens the worker's browser on the Grid; None for browsers of this machine."""
    if settings.grid is None:
        return None
    from pytest_miniwob_agent.browser.grid import GridLauncher

    worker: str = getattr(config, "workerinput", {}).get("workerid", "")
    return GridLauncher(settings.grid.for_worker(worker), headed=settings.headed)
