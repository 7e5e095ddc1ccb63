"""Browsers of a run on a Selenium Grid, which `--miniwob-remote` names."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.plugin.options.settings import Settings

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.grid import GridLauncher


def grid_launcher(config: pytest.Config, settings: Settings) -> GridLauncher | None:
    """Return what opens the worker's browser on the Grid, None for browsers of this machine.

    Raises:
        UsageError: there is no port for this worker.
    """
    if settings.grid is None:
        return None
    from pytest_miniwob_agent.browser.grid import GridLauncher

    worker: str = getattr(config, "workerinput", {}).get("workerid", "")
    return GridLauncher(
        settings.grid.for_worker(worker),
        headed=settings.headed,
        say=lambda text: _say(config, text),
    )


def _say(config: pytest.Config, text: str) -> None:
    """Show a line at once, also from a worker, whose standard error is the controller's."""
    line = f"\n{sanitize_line(text)}\n"
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        sys.stderr.write(line)
        return
    with capture.global_and_fixture_disabled():
        sys.stderr.write(line)
        sys.stderr.flush()
