"""The Chromium process: found, started with the switches that make pages deterministic, killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.options import BaseOptions
from urllib3.exceptions import HTTPError

from pytest_miniwob_agent.browser.page import page_script
from pytest_miniwob_agent.browser.watchdog import Watchdog
from pytest_miniwob_agent.core.errors import BrowserError, BrowserLost

VIEWPORT = (640, 480)
"""Width and height of the page in CSS pixels; a task's own area is 160 x 210."""

TIMEOUT = 30.0
"""Real seconds to wait for a page that does not answer."""

LOOPBACK_TIMEOUT = 5.0
"""Real seconds to wait for a connection to this machine itself, which takes microseconds."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Names of executables that `find_browser` looks for."""

BOUNDARY_EVENTS = "BoundaryEventDispatchTracksNodeRemoval"
"""Chromium's feature that sends events without end to an element that takes itself out of the page
and in again when the pointer is over it, as in `click-pie`: a click would never land. It is off."""

_SWITCHES = (
    "--allow-file-access-from-files",  # the script of a flight task looks into the task's frame
    "--disable-background-networking",
    f"--disable-blink-features={BOUNDARY_EVENTS}",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    f"--disable-features={BOUNDARY_EVENTS}",  # chromedriver adds those that it disables itself
    "--disable-gpu",
    "--disable-partial-raster",  # a corner of a picture would differ by what was drawn before
    "--disable-smooth-scrolling",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-device-scale-factor=1",
    "--force-prefers-reduced-motion",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--lang=en-US",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
    "--window-size=800,720",
)


DRIVER_HINT = (
    "on Debian and Ubuntu with `apt-get install chromium-driver`, elsewhere the chromedriver of "
    "the browser's version beside the browser or on PATH"
)


def check_loopback() -> None:
    """Check that programs of this machine can talk to each other over TCP, as with the driver.

    Raises:
        BrowserError: they can't; without this check, the driver would be waited for in vain.
    """
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=LOOPBACK_TIMEOUT).close()
    except OSError as error:
        raise BrowserError(
            f"the loopback interface of this machine (127.0.0.1) can't be used: {error}. The "
            "browser's driver is reached through it: turn it on, on Linux with `ip link set lo up`"
        ) from None


def find_browser(path: str | None = None) -> str:
    """The executable to start: `path`, `$MINIWOB_BROWSER`, or the first of `BROWSERS` on the path.

    Raises:
        BrowserError: there is none; the message says how to install one.
    """
    if path := path or os.environ.get("MINIWOB_BROWSER"):
        if found := shutil.which(path):
            return found
        raise BrowserError(f"no browser at {path!r} (--miniwob-browser or MINIWOB_BROWSER)")
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    app = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    if Path(app).exists():
        return app
    raise BrowserError(
        f"no Chromium or Chrome found (looked for {', '.join(BROWSERS)}): install one, on Debian "
        "and Ubuntu with `apt-get install chromium chromium-driver`, or name it with "
        "--miniwob-browser PATH"
    )


def find_driver(browser: str) -> str:
    """The chromedriver to start: `$SE_CHROMEDRIVER`, the browser's neighbour, or one on the path.

    Selenium would download one where there is none, but no run asks the network.

    Raises:
        BrowserError: there is none; the message says how to install one.
    """
    if path := os.environ.get("SE_CHROMEDRIVER"):
        return path
    for folder in (Path(browser).parent, Path(browser).resolve().parent):
        if found := shutil.which("chromedriver", path=str(folder)):
            return found
    if found := shutil.which("chromedriver"):
        return found
    raise BrowserError(
        f"no chromedriver found beside {browser} or on PATH: install it, {DRIVER_HINT}"
    )


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
        timeout: real seconds to wait for a page that does not answer.
        bypass_vcr: a context in which a user's vcrpy cassettes ignore HTTP: selenium talks to the
            driver over HTTP, which must neither be recorded nor replayed.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        headed: bool = False,
        slowmo: int | None = None,
        timeout: float = TIMEOUT,
        bypass_vcr: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self._bypass_vcr = bypass_vcr
        self._path = path
        self._headed = headed
        self._slowmo = slowmo
        self._timeout = timeout
        self._driver: webdriver.Chrome | None = None
        self._service: webdriver.ChromeService | None = None
        self._watchdog: Watchdog | None = None
        self.held: set[str] = set()
        """Names of the keys that are down."""

    @property
    def driver(self) -> webdriver.Chrome:
        """The running WebDriver."""
        if self._driver is None:
            self._driver = self._start()
        return self._driver

    def _start(self) -> webdriver.Chrome:
        options = self._options()
        driver_path = find_driver(options.binary_location)
        check_loopback()
        try:
            self._service = self._driver_service(driver_path)
            driver = webdriver.Chrome(options=options, service=self._service)
        except (WebDriverException, OSError) as error:
            self.kill()
            raise BrowserError(
                f"{options.binary_location} did not start: {_first_line(error)}. Its driver must "
                f"be of the same version: {DRIVER_HINT}"
            ) from error
        driver.command_executor.client_config.timeout = self._timeout + 5  # type: ignore[union-attr]
        driver.set_page_load_timeout(self._timeout)
        driver.set_script_timeout(self._timeout)
        for command, arguments in (
            ("Emulation.setDeviceMetricsOverride",
             {"width": VIEWPORT[0], "height": VIEWPORT[1], "deviceScaleFactor": 1,
              "mobile": False}),
            ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}),
            ("Emulation.setLocaleOverride", {"locale": "en-US"}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": page_script()}),
        ):  # fmt: skip
            driver.execute_cdp_cmd(command, arguments)
        if self._headed:
            self._ignore_input(driver, True)
        return driver

    def _driver_service(self, path: str) -> webdriver.ChromeService:
        """The driver's process, still to be started, in the watchdog's group and folder.

        In a group that is not pytest's own, Ctrl-C does not reach it.
        """
        if not hasattr(os, "killpg"):  # Windows
            return webdriver.ChromeService(path)
        self._watchdog = Watchdog()
        return webdriver.ChromeService(
            path,
            env={**os.environ, "TMPDIR": self._watchdog.folder},
            popen_kw={"process_group": self._watchdog.group},
        )

    def _options(self) -> webdriver.ChromeOptions:
        options = webdriver.ChromeOptions()
        # The driver is on this machine; a proxy for HTTP would not reach it.
        BaseOptions.ignore_local_proxy_environment_variables(options)
        options.binary_location = find_browser(self._path)
        options.unhandled_prompt_behavior = "dismiss"
        for switch in _SWITCHES:
            options.add_argument(switch)
        if not self._headed:
            options.add_argument("--headless=new")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium refuses to sandbox itself for root
        return options

    def perform(self, chain: ActionChains) -> None:
        """Carry out native input; a visible window ignores mouse and keyboard at all other times.

        So nobody who watches can interfere.
        """
        if not self._headed:
            chain.perform()
            return
        self._ignore_input(self.driver, False)
        chain.perform()
        self._ignore_input(self.driver, True)

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

    def _ignore_input(self, driver: webdriver.Chrome, ignore: bool) -> None:
        driver.execute_cdp_cmd("Input.setIgnoreInputEvents", {"ignore": ignore})

    def draw_pointer(self, point: Sequence[int]) -> None:
        """Draw the pointer in the window if `slowmo` is set."""
        if self._slowmo is not None:
            self.driver.execute_script("miniwobAgent.point(...arguments)", *point)

    def linger(self) -> None:
        """Sleep for half of `slowmo`: once before an action, once after it."""
        if self._slowmo is not None:
            time.sleep(self._slowmo / 2000)

    @contextlib.contextmanager
    def guard(self, doing: str) -> Iterator[webdriver.Chrome]:
        """Use the driver; an error in it kills the browser.

        Raises:
            BrowserLost: the browser crashed, or the page hangs.
        """
        try:
            with self._bypass_vcr():
                yield self.driver
        except (WebDriverException, HTTPError, OSError) as error:
            self.kill()
            raise BrowserLost(f"the browser failed while {doing}: {_first_line(error)}") from error

    def kill(self) -> None:
        """Kill the browser and its driver, in any state."""
        driver, service, watchdog = self._driver, self._service, self._watchdog
        self._driver = self._service = self._watchdog = None
        self.held.clear()
        if driver is not None and not isinstance(driver.command_executor, str):
            driver.command_executor.close()
        process = None if service is None else service.process
        if watchdog is not None:
            watchdog.end()
        elif process is not None:
            process.kill()
        if service is None or process is None:
            return
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        # Otherwise the service would try to stop it again when it is collected.
        service.process = None  # type: ignore[assignment]

    def close(self) -> None:
        """Quit the browser, and kill what is left of it."""
        if self._driver is not None:
            with contextlib.suppress(WebDriverException, HTTPError, OSError):
                self._driver.quit()
        self.kill()


def _first_line(error: BaseException) -> str:
    text = str(getattr(error, "msg", None) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__
