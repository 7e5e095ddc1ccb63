"""The Chromium process: found, started with the switches that make pages deterministic, killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.options import BaseOptions
from urllib3.exceptions import HTTPError

from pytest_miniwob_agent.browser.fonts import write_font_settings
from pytest_miniwob_agent.browser.page import page_script
from pytest_miniwob_agent.browser.pages import HOST, ORIGINS, OWN_HOST, PageServer
from pytest_miniwob_agent.browser.watchdog import Watchdog
from pytest_miniwob_agent.core.errors import BrowserError, BrowserLost

VIEWPORT = (640, 480)
"""Width and height of the page in CSS pixels; a task's own area is 160 x 210."""

TIMEOUT = 30.0
"""Real seconds to wait for a page that does not answer."""

SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
"""Names of Chromium's headless shell: the same engine without the parts that a window needs, which
replays in about half the processor time."""

LOOPBACK_TIMEOUT = 5.0
"""Real seconds to wait for a connection to this machine itself, which takes microseconds."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Names of whole browsers."""

BOUNDARY_EVENTS = "BoundaryEventDispatchTracksNodeRemoval"
"""Chromium's feature that sends events without end to an element that takes itself out of the page
and in again when the pointer is over it, as in `click-pie`: a click would never land. It is off."""

_FEATURES_OFF = (
    BOUNDARY_EVENTS,
    "BackForwardCache",  # would keep pages in memory to which nobody goes back
    "PreloadTopChromeWebUI",  # with the two of the address bar: a renderer for a window's own parts
    "RenderDocument",  # would make a frame anew for every page: a tenth of a fresh start
    "SpareRendererForSitePerProcess",  # all pages are of one site, which has its renderer
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
"""Features that are off; chromedriver adds its own, such as `PaintHolding`."""

# Of the switches that others recommend, some are chromedriver's own (`--disable-default-apps`,
# `--disable-hang-monitor`); some gained nothing where they were measured (`--disable-extensions`,
# `--disable-breakpad`, `--disable-ipc-flooding-protection`, `--metrics-recording-only`,
# `--mute-audio`); `--no-zygote` needs a browser without a sandbox, and `--disable-frame-rate-limit`
# draws so many frames that a fresh start takes a third more processor time. See docs/speed.md.
_SWITCHES = (
    "--allow-file-access-from-files",  # the script of a flight task looks into the task's frame
    "--disable-background-networking",
    f"--disable-blink-features={BOUNDARY_EVENTS}",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--disable-gpu",
    "--disable-partial-raster",  # a corner of a picture would differ by what was drawn before
    "--disable-smooth-scrolling",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-device-scale-factor=1",
    "--force-prefers-reduced-motion",
    "--hide-scrollbars",
    "--in-process-gpu",  # it draws in software anyway; a process less
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

SHELL_HINT = (
    "on Debian with `apt-get install chromium-headless-shell`, elsewhere the "
    "chrome-headless-shell of chromedriver's version on PATH"
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


def is_shell(path: str) -> bool:
    """True if a browser is a headless shell, by its name or that of the file it links to."""
    names = {Path(path).name, Path(path).resolve().name}
    return any("headless-shell" in name or "headless_shell" in name for name in names)


def find_browser(path: str | None = None, *, headed: bool = False) -> str:
    """The executable to start: `path`, `$MINIWOB_BROWSER`, or the first that is found.

    Looked for are the headless shells, which are faster, and then `BROWSERS`; for a window
    (`headed`) only the latter.

    Raises:
        BrowserError: there is none, or it has no window; the message says what to do.
    """
    if path := path or os.environ.get("MINIWOB_BROWSER"):
        found = shutil.which(path)
        if found is None:
            raise BrowserError(f"no browser at {path!r} (--miniwob-browser or MINIWOB_BROWSER)")
        if headed and is_shell(found):
            raise BrowserError(
                f"{found} has no window, which --miniwob-headed shows: name a whole Chromium or "
                "Chrome with --miniwob-browser, or leave that and MINIWOB_BROWSER out"
            )
        return found
    names = BROWSERS if headed else (*SHELLS, *BROWSERS)
    for name in names:
        if found := shutil.which(name):
            return found
    app = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    if Path(app).exists():
        return app
    raise BrowserError(
        f"no Chromium or Chrome found (looked for {', '.join(names)}): install one, on Debian "
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
    ) -> None:
        self._bypass_vcr = bypass_vcr
        self._path = path
        self._headed = headed
        self._slowmo = slowmo
        self.page_scheme = page_scheme
        """The scheme of the addresses of task pages: "http" or "file"."""
        self.server: PageServer | None = None
        """The server of task pages; None before the start, and where they come from disk."""
        self.timeout = timeout
        """Real seconds to wait for a page that does not answer."""
        self._driver: webdriver.Chrome | None = None
        self._service: webdriver.ChromeService | None = None
        self._watchdog: Watchdog | None = None
        self._used = False  # since the pointer was taken away
        self.before_next_page: Callable[[], None] | None = None
        """Called once, before the next page is loaded."""
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
                f"{options.binary_location} did not start: {_first_line(error)}. {driver_path} "
                f"must be of the same version: {DRIVER_HINT}, or name another browser with "
                "--miniwob-browser PATH"
            ) from error
        driver.command_executor.client_config.timeout = self.timeout + 5  # type: ignore[union-attr]
        driver.set_page_load_timeout(self.timeout)
        driver.set_script_timeout(self.timeout)
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

    def _driver_service(self, path: str) -> webdriver.ChromeService:
        """The driver's process, still to be started, in the watchdog's group and folder.

        In a group that is not pytest's own, Ctrl-C does not reach it.
        """
        if not hasattr(os, "killpg"):  # Windows
            return webdriver.ChromeService(path)
        self._watchdog = Watchdog()
        fonts = write_font_settings(Path(self._watchdog.folder))
        return webdriver.ChromeService(
            path,
            env={**os.environ, "TMPDIR": self._watchdog.folder, "FONTCONFIG_FILE": str(fonts)},
            popen_kw={"process_group": self._watchdog.group},
        )

    def _options(self) -> webdriver.ChromeOptions:
        options = webdriver.ChromeOptions()
        # The driver is on this machine; a proxy for HTTP would not reach it.
        BaseOptions.ignore_local_proxy_environment_variables(options)
        options.binary_location = find_browser(self._path, headed=self._headed)
        options.unhandled_prompt_behavior = "dismiss"
        for switch in _SWITCHES:
            options.add_argument(switch)
        options.add_argument(f"--host-resolver-rules={self._reachable()}MAP * ~NOTFOUND")
        if not self._headed and not is_shell(options.binary_location):
            options.add_argument("--headless=new")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium refuses to sandbox itself for root
        return options

    def _reachable(self) -> str:
        """The rule for the one host that pages reach, which is started if it does not run."""
        if self.page_scheme == "file":
            return ""
        if self.server is None:
            self.server = PageServer()
        address = f"127.0.0.1:{self.server.port}"
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

    def _ignore_input(self, driver: webdriver.Chrome, ignore: bool) -> None:
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
        self._used = False
        self.before_next_page = None
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
        """Quit the browser, and kill what is left of it; end the server of its pages."""
        if self._driver is not None:
            with contextlib.suppress(WebDriverException, HTTPError, OSError):
                self._driver.quit()
        self.kill()
        if self.server is not None:
            self.server.close()
            self.server = None


def _first_line(error: BaseException) -> str:
    text = str(getattr(error, "msg", None) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__
