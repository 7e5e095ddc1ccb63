"""The browser as pages use it: set up to be deterministic, called, and killed where it fails."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from urllib3.exceptions import HTTPError

from pytest_miniwob_agent.browser.devtools import Command, DevTools
from pytest_miniwob_agent.browser.gestures import Gesture
from pytest_miniwob_agent.browser.launcher import Launcher
from pytest_miniwob_agent.browser.local import LocalLauncher
from pytest_miniwob_agent.browser.page import page_script
from pytest_miniwob_agent.browser.pages import HOST, ORIGIN, OWN_HOST, OWN_ORIGIN, PageServer
from pytest_miniwob_agent.browser.switches import chromium_options
from pytest_miniwob_agent.core.errors import BrowserLost

VIEWPORT = (640, 480)
"""Width and height of the page in CSS pixels; a task's own area is 160 x 210."""

TIMEOUT = 30.0
"""Real seconds to wait for a page that does not answer."""

STORAGE = "cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems"
"""What a page may store; the cache of the pages themselves stays."""

_REINSERTED = """<p style="height: 100px; background: red"></p>
<script>
  let clicked = false;
  const shown = document.querySelector("p");
  shown.onmouseover = () => document.body.append(shown);
  shown.onclick = () => { clicked = true; };
</script>"""


class Browser:
    """One Chromium per worker, started at its first use.

    A browser that crashed or hangs is killed, and the next page gets a new one. Nothing of it
    outlives this process, even where that is killed.

    Args:
        path: the browser's executable; None looks for one.
        headed: show the window.
        slowmo: real milliseconds to spend on every action, for people who watch the window; the
            pointer is then drawn in it.
        timeout: real seconds to wait for a page that does not answer.
        bypass_vcr: a context in which a user's vcrpy cassettes ignore the driver's HTTP.
        launcher: starts the browser; None starts the one of `path` on this machine.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        headed: bool = False,
        slowmo: int | None = None,
        timeout: float = TIMEOUT,
        bypass_vcr: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
        launcher: Launcher | None = None,
    ) -> None:
        self._bypass_vcr = bypass_vcr
        self._launcher = launcher or LocalLauncher(path, headed=headed)
        self._headed = headed
        self._slowmo = slowmo
        self.server: PageServer | None = None
        """The server of task pages; None before the start."""
        self.timeout = timeout
        """Real seconds to wait for a page that does not answer."""
        self._driver: webdriver.Remote | None = None
        self._devtools: DevTools | None = None
        self._used = False  # since the pointer was taken away
        self.before_next_page: Callable[[], None] | None = None
        """Called once by a page of your own, before the next page is loaded."""
        self.held: set[str] = set()
        """Names of the keys that are down."""

    @property
    def driver(self) -> webdriver.Remote:
        """The WebDriver, for windows, addresses and keys."""
        if self._driver is None:
            self._start()
        assert self._driver is not None
        return self._driver

    @property
    def devtools(self) -> DevTools:
        """The browser's protocol, for everything else."""
        if self._devtools is None:
            self._start()
        assert self._devtools is not None
        return self._devtools

    def _start(self) -> None:
        driver = self._launcher.start(self.options(), self.timeout)
        try:
            self._devtools = DevTools(self._launcher.connect(driver), self.timeout)
            self._devtools.attach(driver.current_window_handle)
            self._devtools.send(
                ("Emulation.setDeviceMetricsOverride",
                 {"width": VIEWPORT[0], "height": VIEWPORT[1], "deviceScaleFactor": 1,
                  "mobile": False}),
                ("Browser.setDownloadBehavior", {"behavior": "deny"}),
                ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}),
                ("Emulation.setLocaleOverride", {"locale": "en-US"}),
                ("Page.enable", {}),
                ("Page.addScriptToEvaluateOnNewDocument", {"source": page_script()}),
                ("Input.setIgnoreInputEvents", {"ignore": self._headed}),
            )  # fmt: skip
        except BaseException:
            self.kill()
            raise
        self._driver = driver

    def options(self) -> webdriver.ChromeOptions:
        """Return the options that the browser is started with; starts the server of its pages."""
        serving = self._launcher.serving()
        if self.server is None:
            self.server = PageServer(serving.listen, serving.port, serving.hint)
        address = f"{serving.name}:{self.server.port}"
        reachable = f"MAP {HOST}:80 {address}, MAP {OWN_HOST}:80 {address}"
        options = chromium_options(reachable, self.timeout)
        self._launcher.complete(options)
        return options

    def call(self, function: str, *values: Any) -> Any:
        """Call a function of the page and return its result (`DevTools.evaluate`)."""
        return self.devtools.evaluate(function, *values)

    def perform(self, gesture: Gesture) -> None:
        """Carry out native input; at all other times a visible window ignores the user."""
        self._used = True
        if self._headed:
            self.ignore_input(False)
        for step in gesture.steps:
            if isinstance(step, ActionChains):
                step.perform()
            else:
                self.devtools.send(*step)
        if self._headed:
            self.ignore_input(True)

    def forget_pages(self) -> None:
        """Leave nothing of earlier pages to the next one: neither storage nor the pointer.

        The next page's own script clears the storage of the session (page/storage.js).
        """
        commands = [_clearing(ORIGIN)]
        if self.before_next_page is not None:
            self.before_next_page()
            self.before_next_page = None
            commands.append(_clearing(OWN_ORIGIN))
        if self._used:
            self._used = False
            # With `RenderDocument` off, the next page would know where the pointer is. A button is
            # released beside the page, as a mere move may wait for the next frame.
            beside = {"type": "mouseReleased", "x": -1, "y": -1, "button": "left", "clickCount": 1}
            commands.append(("Input.dispatchMouseEvent", beside))
        self.devtools.send(*commands)

    def clicks_what_reinserts_itself(self) -> bool:
        """True if a click lands on an element that inserts itself again under the pointer.

        It does not where the browser sends `BOUNDARY_EVENTS` and has no switch for them.
        """
        with self.guard("clicking an element that inserts itself again") as driver:
            driver.get(f"data:text/html,{quote(_REINSERTED)}")
            pointer = Gesture(driver)
            pointer.move((50, 50))
            pointer.click()
            self.perform(pointer)
            return bool(self.call("(() => clicked)"))

    def ignore_input(self, ignore: bool) -> None:
        """Set whether the window ignores mouse and keyboard."""
        self.devtools.call("Input.setIgnoreInputEvents", ignore=ignore)

    def draw_pointer(self, points: Sequence[Sequence[int]]) -> None:
        """Move the pointer that is drawn in the window with `slowmo`."""
        for point in points if self._slowmo is not None else ():
            self.call("miniwobAgent.point", *point)

    def linger(self) -> None:
        """Sleep for half of `slowmo`: once before an action, once after it."""
        if self._slowmo is not None:
            time.sleep(self._slowmo / 2000)

    @contextlib.contextmanager
    def guard(self, doing: str) -> Iterator[webdriver.Remote]:
        """Use the driver; an error in it kills the browser and is raised as `BrowserLost`."""
        try:
            with self._bypass_vcr():
                yield self.driver
        except (WebDriverException, HTTPError, OSError) as error:
            with self._bypass_vcr():  # a session on a Grid is ended over HTTP
                why = self._launcher.explain(error)
                self.kill()
            if re.search("timeout|timed out", why):
                why += "; a script of the page may not come to an end"
            raise BrowserLost(f"the browser failed while {doing}: {why}") from error

    def kill(self, *, orderly: bool = False) -> None:
        """End the browser and its driver, in any state: by force, or first in order."""
        if self._devtools is not None:
            self._devtools.close()
        self._driver = self._devtools = None
        self._used = False
        self.before_next_page = None
        self.held.clear()
        self._launcher.kill(orderly=orderly)

    def close(self) -> None:
        """End the browser, and the server of its pages."""
        with self._bypass_vcr():
            self.kill(orderly=True)
        if self.server is not None:
            self.server.close()
            self.server = None


def _clearing(origin: str) -> Command:
    """The command that removes what the pages of an origin have stored."""
    return "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORAGE}
