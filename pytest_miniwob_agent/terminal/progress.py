"""A line of figures below pytest's output while a run records: calls, tokens, money, time left.

It is shown only on a terminal that can redraw it; elsewhere the summary has the figures.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.models.budget import Price, money, tokens, total_cost

_CLEAR = "\x1b[J"  # erases everything after the cursor
_BELOW = "\x1bD\x1bM\x1b7\x1b[B\r"
"""Makes room below the cursor by moving down and up, which scrolls and keeps the column;
saves the position, and goes to the beginning of the next line."""
_BACK = "\x1b8"  # restores the position


class Progress:
    """Shows the totals of the items that have ended; a plugin of the controller.

    The line is drawn after each of pytest's steps and erased before the next one, so that it never
    mixes with other output.
    """

    def __init__(self, session: pytest.Session, price_of: Callable[[str], Price | None]) -> None:
        self._session = session
        self._config = session.config
        self._price_of = price_of
        self._done = 0
        self._recorded = 0
        self._spent = Usage()
        self._parts: list[tuple[Usage, Price | None]] = []
        self._terminal = self._redrawable()
        self._begun = time.monotonic()

    def _redrawable(self) -> Any:
        """Return the terminal, None if it can't be redrawn or something else writes to it."""
        config = self._config
        terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        logged = config.getoption("log_cli_level", None) or (
            config.pluginmanager.has_plugin("logging-plugin") and config.getini("log_cli")
        )
        captured = config.getoption("capture", "no") != "no"
        if terminal is None or terminal.verbosity < 0 or logged or not captured:
            return None
        return (
            terminal if terminal.isatty and os.environ.get("TERM") not in (None, "dumb") else None
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def _redraw(self) -> Generator[None, None, None]:
        """Erase the line, let the hook run, and draw the line again."""
        self._write(_CLEAR)
        yield
        if self._terminal is not None:
            writer = self._config.get_terminal_writer()
            column = writer.width_of_current_line
            if not column or column % writer.fullwidth:  # past the last one it can't be saved
                line = self._line()[: writer.fullwidth - 1]
                self._write(f"{_BELOW}{line}{_BACK}")

    pytest_runtest_logstart = pytest_runtest_logfinish = _redraw

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, None, None]:
        """Add what an item recorded; it has ended with its teardown."""
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._recorded += outcome.recorded.calls
            self._spent += outcome.spent
            self._parts.append((outcome.spent, self._price_of(outcome.model)))
        self._done += report.when == "teardown"
        yield from self._redraw()

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def _erase(self) -> None:
        self._write(_CLEAR)

    pytest_testnodedown = pytest_enter_pdb = pytest_internalerror = _erase

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Erase the line for good."""
        self._write(_CLEAR)
        self._terminal = None

    def _write(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write_raw(text, flush=True)

    def _line(self) -> str:
        total = self._session.testscollected
        calls = f"{counted(self._recorded, 'call')} recorded"
        parts = [f"{self._done}/{total} items", calls, f"{tokens(self._spent)} tokens"]
        if (cost := total_cost(self._parts)) is not None:
            parts.append(money(cost))
        if 0 < self._done < total:
            spent = time.monotonic() - self._begun
            parts.append(f"about {_duration(spent / self._done * (total - self._done))} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
