"""How a browser is launched: what `Browser` asks of a launcher, and what launchers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from websockets.sync.client import ClientConnection

from pytest_miniwob_agent.browser.devtools import Command, first_line
from pytest_miniwob_agent.browser.server import Serving


class Launcher(Protocol):
    """Launches the browser of a worker, one at a time. It does not outlive this process.

    The methods up to `connect` raise a `BrowserError` that says what to do.
    """

    @property
    def settings(self) -> Sequence[Command]:
        """Settings of each window, beside those that are the same wherever the browser runs."""

    def serving(self) -> Serving:
        """Return where pages are to be served for the browser."""

    def complete(self, options: webdriver.ChromeOptions) -> None:
        """Add what the browser needs to the options of `Browser.options`."""

    def start(self, options: webdriver.ChromeOptions, timeout: float) -> webdriver.Remote:
        """Start a browser with complete options; it has `timeout` wall-clock seconds to answer."""

    def connect(self, driver: webdriver.Remote) -> ClientConnection:
        """Open a WebSocket to the browser of a driver (`DevTools`)."""

    def keep(self, driver: webdriver.Remote) -> None:
        """Show that the browser is in use; called with each page that is loaded."""

    def kill(self, *, orderly: bool = False) -> None:
        """End the browser and its driver, in any state: by force, or first in order."""

    def is_gone(self) -> bool:
        """Return True if the browser has ended without closing its connection."""

    def explain(self, error: BaseException) -> str:
        """Return the reason for an error of a browser that ran, in a line without secrets."""


REGION: tuple[Command, ...] = (
    ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}),
    ("Emulation.setLocaleOverride", {"locale": "en-US"}),
)
"""Sets a window's time zone and locale. It fails if another window of its process has set them."""

DIED = re.compile("exited|crashed|not reachable|DevToolsActivePort|disconnected")
"""What the driver says of a browser that died while it started."""

Started = TypeVar("Started")


def start_twice(start: Callable[[], Started]) -> Started:
    """Start a browser; one that dies while it starts, as when memory is short, a second time."""
    try:
        return start()
    except (WebDriverException, OSError) as error:
        if not DIED.search(first_line(error)):
            raise
        return start()
