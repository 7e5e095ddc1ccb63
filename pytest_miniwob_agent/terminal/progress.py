"""One line below pytest's own while a run records: calls, tokens, money, time left.

Only on a terminal, where the line can be drawn anew. A log that nobody watches has no use for
figures that the end of the run tells again, and pytest's letters show there that it goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import Any

import pytest

from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.core.usage import Usage
from pytest_miniwob_agent.models.prices import Price, cost_of, money, tokens

_CLEAR = "\x1b[J"
"""Erase all from the cursor on."""

_BELOW = "\x1bD\x1bM\x1b7\x1b[B\r"
"""Make room below the cursor, remember where it stands, and go to the beginning of the next line.

`\\x1bD` and `\\x1bM` move it down and up and scroll at the screen's edge, which a newline would do
as well, but for the column."""

_BACK = "\x1b8"


class Progress:
    """What the items that have ended amount to; lives in the controller only.

    The line is gone whenever somebody else writes: it is drawn after each of pytest's steps and
    erased before the next one.
    """

    def __init__(self, config: pytest.Config, price: Price | None) -> None:
        self._config = config
        self._price = price
        self._total = 0
        self._done = 0
        self._usage = Usage()
        self._terminal: Any = None
        self._session: Any = None
        self._begun = 0.0

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Look whether this is a terminal that can be drawn on, which nothing else writes to."""
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        logged = self._config.getoption("log_cli_level", None) or self._config.getini("log_cli")
        quiet = terminal is None or terminal.verbosity < 0 or logged
        alone = self._config.getoption("capture") != "no"
        if not quiet and alone and terminal.isatty and os.environ.get("TERM") not in (None, "dumb"):
            self._session, self._terminal = session, terminal

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, None, None]:
        """An item begins, in the worker where there is one."""
        self._begun = self._begun or time.monotonic()
        yield from self._around()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, None, None]:
        """A part of an item has ended; the last one is its teardown."""
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._usage += outcome.recorded
        self._done += report.when == "teardown"
        yield from self._around()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None, None, None]:
        """An item has ended, and pytest may end its line."""
        yield from self._around()

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self) -> None:
        """Make way for what pytest-xdist says of a worker."""
        self._write(_CLEAR)

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Make way for the debugger."""
        self._write(_CLEAR)

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Make way for what is told of it."""
        self._write(_CLEAR)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave the rest of the run alone."""
        self._write(_CLEAR)
        self._terminal = None

    def _around(self) -> Generator[None, None, None]:
        self._write(_CLEAR)
        yield
        if self._terminal is not None:
            writer = self._terminal._tw
            column = writer.width_of_current_line
            if not column or column % writer.fullwidth:  # else it hangs on the edge, and would drop
                line = self._line()[: writer.fullwidth - 1]
                self._write(f"{_BELOW}{line}{_BACK}")

    def _write(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write_raw(text, flush=True)

    def _line(self) -> str:
        total = self._session.testscollected
        parts = [
            f"{self._done}/{total} items",
            f"{counted(self._usage.calls, 'call')} recorded",
            f"{tokens(self._usage)} tokens",
        ]
        if (cost := cost_of(self._usage, self._price)) is not None:
            parts.append(money(cost))
        if 0 < self._done < total:
            spent = time.monotonic() - self._begun
            parts.append(f"about {_duration(spent / self._done * (total - self._done))} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    """Seconds, to read at a glance."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
