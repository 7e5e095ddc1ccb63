"""The display, which commands need that open a window."""

from __future__ import annotations

import os
import sys

from pytest_miniwob_agent.core.errors import UsageError


def check_display(command: str, instead: str) -> None:
    """Check that a window can be opened; `instead` says what can be done without one.

    Raises:
        UsageError: there is no display.
    """
    if sys.platform == "linux" and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        raise UsageError(
            f"{command} opens a window, and there is no display (DISPLAY is not set); {instead}"
        )
