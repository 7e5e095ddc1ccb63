"""The seam between a browser's use and its start, here (`local`) or on a Grid (`grid`)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from selenium import webdriver
from websocket import WebSocket


class Serving(NamedTuple):
    """The address at which pages are served, and its name for the browser.

    Attributes:
        listen: the address to listen on.
        port: the port; 0 for one that the system chooses.
        name: the browser's name for that address; an address of IPv6 is in brackets.
        hint: the way out where the server can't listen there.
    """

    listen: str = "127.0.0.1"
    port: int = 0
    name: str = "127.0.0.1"
    hint: str = ""


class Launcher(Protocol):
    """Starts a browser and ends it; there is one at a time.

    All methods but the last two raise a `BrowserError` that says what to do.
    """

    def serving(self) -> Serving:
        """Return where pages are to be served for the browser."""

    def complete(self, options: webdriver.ChromeOptions) -> None:
        """Add what a browser needs where it runs to the options of `chromium_options`."""

    def start(self, options: webdriver.ChromeOptions, timeout: float) -> webdriver.Remote:
        """Start a browser with complete options; it may take `timeout` real seconds to answer."""

    def connect(self, driver: webdriver.Remote) -> WebSocket:
        """Open a WebSocket to the browser of a driver, for its protocol (`DevTools`)."""

    def kill(self, *, orderly: bool = False) -> None:
        """End the browser, in any state: by force, or first in order."""

    def explain(self, error: BaseException) -> str:
        """Return the reason for an error of a browser that ran, in a line without secrets."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    text = str(getattr(error, "msg", None) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__
