"""The browser as pages use it: set up to be deterministic, called, and lost."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, WebDriverException
from selenium.webdriver import ActionChains
from urllib3.exceptions import HTTPError

from pytest_miniwob_agent.browser.launcher import Launcher
from pytest_miniwob_agent.browser.local import LocalLauncher
from pytest_miniwob_agent.browser.page import page_script
from pytest_miniwob_agent.browser.pages import HOST, ORIGINS, OWN_HOST, PageServer
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
    """One Chromium for a session or an xdist worker; started at its first use.

    A browser that crashed or hangs is killed, and the next page gets a new one. Browser, driver and
    their files do not outlive this process, also where it is killed (on Linux and macOS).

    Args:
        path: the browser's executable; None looks for one.
        headed: show the window.
        slowmo: real milliseconds to spend on every action, for people who watch the window; the
            pointer is then drawn in it. Behaviour and reading of the page do not change.
        page_scheme: "http" to serve the task pages on loopback, "file" to load them from disk.
        timeout: real seconds to wait for a page that does not answer.
        bypass_vcr: a context in which a user's vcrpy cassettes ignore HTTP: selenium talks to the
            driver over HTTP, which must neither be recorded nor replayed.
        launcher: starts the browser; None starts the one of `path` on this machine.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        headed: bool = False,
        slowmo: int | None = None,
        page_scheme: str = "http",
        timeout: float = TIMEOUT,
        bypass_vcr: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
        launcher: Launcher | None = None,
    ) -> None:
        self._bypass_vcr = bypass_vcr
        self._launcher = launcher or LocalLauncher(path, headed=headed)
        self._headed = headed
        self._slowmo = slowmo
        self.page_scheme = page_scheme
        """The scheme of the addresses of task pages: "http" or "file"."""
        self.server: PageServer | None = None
        """The server of task pages; None before the start, and where they come from disk."""
        self.timeout = timeout
        """Real seconds to wait for a page that does not answer."""
        self._driver: webdriver.Remote | None = None
        self._used = False  # since the pointer was taken away
        self.before_next_page: Callable[[], None] | None = None
        """Called once, before the next page is loaded."""
        self.held: set[str] = set()
        """Names of the keys that are down."""

    @property
    def driver(self) -> webdriver.Remote:
        """The running WebDriver."""
        if self._driver is None:
            self._driver = self._start()
        return self._driver

    def _start(self) -> webdriver.Remote:
        driver = self._launcher.start(self.options(), self.timeout)
        for command, arguments in (
            ("Emulation.setDeviceMetricsOverride",
             {"width": VIEWPORT[0], "height": VIEWPORT[1], "deviceScaleFactor": 1,
              "mobile": False}),
            ("Browser.setDownloadBehavior", {"behavior": "deny"}),
            ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}),
            ("Emulation.setLocaleOverride", {"locale": "en-US"}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": page_script()}),
        ):  # fmt: skip
            driver.execute_cdp_cmd(command, arguments)
        if self._headed:
            self._ignore_input(driver, True)
        return driver

    def options(self) -> webdriver.ChromeOptions:
        """Return the options that the browser is started with."""
        options = chromium_options(self._reachable(), self.timeout)
        self._launcher.complete(options)
        return options

    def _reachable(self) -> str:
        """The rule for the one host that pages reach, which is started if it does not run."""
        if self.page_scheme == "file":
            return ""
        serving = self._launcher.serving()
        if self.server is None:
            self.server = PageServer(serving.listen, serving.port, serving.hint)
        address = f"{serving.name}:{self.server.port}"
        return f"MAP {HOST}:80 {address}, MAP {OWN_HOST}:80 {address}, "

    def call(self, function: str, *values: Any) -> Any:
        """Call a function of the page, such as `miniwobAgent.read`; its result, once there is one.

        By the browser's own protocol, which takes a third less time than the driver's scripts do.

        Args:
            function: JavaScript for the function.
            values: arguments that JSON can hold.
        """
        answer = self.driver.execute_cdp_cmd(
            "Runtime.evaluate",
            {
                "expression": f"{function}(...{json.dumps(values)})",
                "awaitPromise": True,
                "returnByValue": True,
            },
        )
        if failure := answer.get("exceptionDetails"):
            thrown = failure.get("exception", {}).get("description") or failure["text"]
            raise JavascriptException(thrown)
        return answer["result"].get("value")

    def perform(self, chain: ActionChains) -> None:
        """Carry out native input; a visible window ignores mouse and keyboard at all other times.

        So nobody who watches can interfere.
        """
        self._used = True
        if not self._headed:
            chain.perform()
            return
        self._ignore_input(self.driver, False)
        chain.perform()
        self._ignore_input(self.driver, True)

    def forget_pages(self) -> None:
        """Leave nothing of the pages until now to the next one: neither storage nor the pointer.

        Their session's storage is cleared by the next page's own script (page/storage.js).
        """
        if self.before_next_page is not None:
            self.before_next_page()
            self.before_next_page = None
        self.clear_storage(ORIGINS[self.page_scheme])
        if self._used:
            self._used = False
            # With `RenderDocument` off, the next page would know where the pointer is. A button is
            # released beside the page: a mere move would wait for the next frame.
            beside = {"x": -1, "y": -1, "button": "left", "clickCount": 1}
            self.driver.execute_cdp_cmd(
                "Input.dispatchMouseEvent", {"type": "mouseReleased", **beside}
            )

    def clear_storage(self, origin: str) -> None:
        """Remove what the pages of an origin have stored."""
        self.driver.execute_cdp_cmd(
            "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORAGE}
        )

    def clicks_what_reinserts_itself(self) -> bool:
        """True if a click lands on an element that the pointer makes take itself out and in again.

        It does not in a browser that has no switch for `BOUNDARY_EVENTS` and sends them.

        Raises:
            BrowserLost: the browser crashed or the page hangs.
        """
        with self.guard("clicking an element that inserts itself again") as driver:
            driver.get(f"data:text/html,{quote(_REINSERTED)}")
            pointer = ActionChains(driver, duration=0)
            pointer.w3c_actions.pointer_action.move_to_location(50, 50).click()
            self.perform(pointer)
            return bool(driver.execute_script("return clicked"))

    def _ignore_input(self, driver: webdriver.Remote, ignore: bool) -> None:
        driver.execute_cdp_cmd("Input.setIgnoreInputEvents", {"ignore": ignore})

    def draw_pointer(self, point: Sequence[int]) -> None:
        """Draw the pointer in the window if `slowmo` is set."""
        if self._slowmo is not None:
            self.call("miniwobAgent.point", *point)

    def linger(self) -> None:
        """Sleep for half of `slowmo`: once before an action, once after it."""
        if self._slowmo is not None:
            time.sleep(self._slowmo / 2000)

    @contextlib.contextmanager
    def guard(self, doing: str) -> Iterator[webdriver.Remote]:
        """Use the driver; an error in it kills the browser.

        Raises:
            BrowserLost: the browser crashed, or the page hangs.
        """
        try:
            with self._bypass_vcr():
                yield self.driver
        except (WebDriverException, HTTPError, OSError) as error:
            with self._bypass_vcr():  # a session on a Grid is ended over HTTP
                why = self._launcher.explain(error)
                self.kill()
            raise BrowserLost(f"the browser failed while {doing}: {why}") from error

    def kill(self) -> None:
        """Kill the browser and its driver, in any state."""
        self._driver = None
        self._used = False
        self.before_next_page = None
        self.held.clear()
        self._launcher.kill()

    def close(self) -> None:
        """Quit the browser, and kill what is left of it; end the server of its pages."""
        with self._bypass_vcr():
            self._launcher.stop()
            self.kill()
        if self.server is not None:
            self.server.close()
            self.server = None
