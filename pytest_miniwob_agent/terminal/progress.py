"""A line of figures below pytest's output while a run records: calls, tokens, money, time left.

It is shown only on a terminal, where the line can be redrawn. A log does not need it: the summary
repeats the figures, and pytest's letters show that the run continues.
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
"""Erases everything after the cursor."""

_BELOW = "\x1bD\x1bM\x1b7\x1b[B\r"
"""Makes room below the cursor, saves its position, and goes to the beginning of the next line.

`\\x1bD` and `\\x1bM` move the cursor down and up and scroll at the screen's edge; a newline would
also change the column."""

_BACK = "\x1b8"
"""Restores the position of the cursor."""


class Progress:
    """Shows the totals of the items that have ended; a plugin of the controller.

    The line is drawn after each of pytest's steps and erased before the next one, so that it never
    mixes with the output of others.
    """

    def __init__(self, config: pytest.Config, price: Price | None) -> None:
        self._config = config
        self._price = price
        self._total = 0
        self._done = 0
        self._recorded = 0
        self._spent = Usage()
        self._terminal: Any = None
        self._session: Any = None
        self._begun = 0.0

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Use the terminal if it can be redrawn and nothing else writes to it."""
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        logged = self._config.getoption("log_cli_level", None) or self._config.getini("log_cli")
        captured = self._config.getoption("capture") != "no"
        if terminal is None or terminal.verbosity < 0 or logged or not captured:
            return
        if terminal.isatty and os.environ.get("TERM") not in (None, "dumb"):
            self._session, self._terminal = session, terminal

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, None, None]:
        """Redraw when an item begins."""
        self._begun = self._begun or time.monotonic()
        yield from self._redraw()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, None, None]:
        """Add what an item recorded; it has ended with its teardown."""
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._recorded += outcome.recorded.calls
            self._spent += outcome.spent
        self._done += report.when == "teardown"
        yield from self._redraw()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None, None, None]:
        """Redraw when an item has ended, as pytest may end its line then."""
        yield from self._redraw()

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self) -> None:
        """Erase the line before pytest-xdist reports the end of a worker."""
        self._write(_CLEAR)

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Erase the line before the debugger starts."""
        self._write(_CLEAR)

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Erase the line before an internal error is shown."""
        self._write(_CLEAR)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Erase the line for good."""
        self._write(_CLEAR)
        self._terminal = None

    def _redraw(self) -> Generator[None, None, None]:
        """Erase the line, let the hook run, and draw the line again."""
        self._write(_CLEAR)
        yield
        if self._terminal is not None:
            writer = self._terminal._tw
            column = writer.width_of_current_line
            if not column or column % writer.fullwidth:  # past the last one it can't be saved
                line = self._line()[: writer.fullwidth - 1]
                self._write(f"{_BELOW}{line}{_BACK}")

    def _write(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write_raw(text, flush=True)

    def _line(self) -> str:
        total = self._session.testscollected
        parts = [
            f"{self._done}/{total} items",
            f"{counted(self._recorded, 'call')} recorded",
            f"{tokens(self._spent)} tokens",
        ]
        if (cost := cost_of(self._spent, self._price)) is not None:
            parts.append(money(cost))
        if 0 < self._done < total:
            spent = time.monotonic() - self._begun
            parts.append(f"about {_duration(spent / self._done * (total - self._done))} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    """Return a duration in the unit that is easiest to read."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
