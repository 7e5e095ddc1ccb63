"""The seam between a browser's use and its start, here (local.py) or on a Grid (grid.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from selenium import webdriver
from websocket import WebSocket


@dataclass(frozen=True, slots=True)
class Serving:
    """The place of the server of pages, and the name under which the browser reaches it.

    Attributes:
        listen: the address to listen on.
        port: the port; 0 for one that the system chooses.
        name: the browser's name for that address; one of IPv6 is in brackets.
        hint: the way out where the server can't listen there.
    """

    listen: str = "127.0.0.1"
    port: int = 0
    name: str = "127.0.0.1"
    hint: str = "--miniwob-page-scheme=file loads them from disk"


class Launcher(Protocol):
    """Starts a browser and ends it; there is one at a time."""

    def serving(self) -> Serving:
        """Return where pages are to be served for the browser.

        Raises:
            BrowserError: that can't be found out.
        """

    def complete(self, options: webdriver.ChromeOptions) -> None:
        """Add the options that a browser needs where it runs to those of `chromium_options`.

        Raises:
            BrowserError: there is no browser.
        """

    def start(self, options: webdriver.ChromeOptions, timeout: float) -> webdriver.Remote:
        """Start a browser.

        Args:
            options: complete options.
            timeout: real seconds that the browser may take for an answer.

        Raises:
            BrowserError: it does not start; the message says what to do.
        """

    def connect(self, driver: webdriver.Remote) -> WebSocket:
        """Open a WebSocket to the browser that a driver has, for its protocol (`DevTools`).

        Raises:
            BrowserError: the way to it is closed.
        """

    def stop(self) -> None:
        """End the browser in order, and what is left of it by force."""

    def kill(self) -> None:
        """End the browser, in any state; does nothing where none runs."""

    def explain(self, error: BaseException) -> str:
        """Return the reason for an error of a browser that ran, in a line without secrets."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    text = str(getattr(error, "msg", None) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__
