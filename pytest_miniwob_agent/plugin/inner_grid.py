"""The Grid that a pytest run would use, found by an inner run that only reads its options.

The module is a plugin of that inner run (`-p pytest_miniwob_agent.plugin.inner_grid`); it has the
function that starts it, too. The answer comes through a pair of sockets, as it may have a password.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

import pytest

from pytest_miniwob_agent.browser.grid_address import Grid, HostPort, read_grid
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugin.options.settings import read_settings

_SOCKET = "MINIWOB_GRID_SOCKET"
"""Variable with the socket of the inner run."""


def used_grid(args: Sequence[str]) -> Grid | None:
    """Return the Grid that `pytest ARGS` opens its browsers on, None for this machine.

    Raises:
        UsageError: pytest refuses the options; the message has its output.
    """
    outer_end, inner_end = socket.socketpair()
    with outer_end:
        with inner_end:
            run = subprocess.run(
                [sys.executable, "-m", "pytest", "-p", __name__, *args],
                env={**os.environ, _SOCKET: str(inner_end.fileno())},
                pass_fds=[inner_end.fileno()],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
        with outer_end.makefile("r", encoding="utf-8") as messages:
            answer = messages.read()
    if not answer:
        raise UsageError(f"pytest refuses its options:\n{run.stdout}{run.stderr}".rstrip())
    address, capabilities, serve = json.loads(answer)
    return (
        read_grid(address, capabilities, HostPort(*serve) if serve else None) if address else None
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int:
    """Send the options, and end the run before it begins."""
    with socket.socket(fileno=int(os.environ[_SOCKET])) as outer_end:
        try:
            settings = read_settings(config)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        data = [settings.remote, settings.capabilities, settings.serve]
        outer_end.sendall(json.dumps(data).encode())
    return 0
