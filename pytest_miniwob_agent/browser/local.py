"""Chromium on this machine: found, and started by its driver in a group that ends with the run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.options import BaseOptions
from urllib3.exceptions import HTTPError
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection

from pytest_miniwob_agent.browser.devtools import first_line, open_socket
from pytest_miniwob_agent.browser.launcher import DIED, REGION, start_twice
from pytest_miniwob_agent.browser.server import MACHINES, Serving, write_settings
from pytest_miniwob_agent.browser.watchdog import Watchdog
from pytest_miniwob_agent.core.errors import BrowserError

SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Names of Chromium's headless shell, which replays in about half the processor time, and of whole
browsers."""

MAC_CHROME = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

DRIVER_HINT = (
    "on Debian and Ubuntu with `apt-get install chromium-driver`, elsewhere the chromedriver of "
    "the browser's version beside the browser or on PATH"
)

SHELL_HINT = (
    "on Debian with `apt-get install chromium-headless-shell`, elsewhere the "
    "chrome-headless-shell of chromedriver's version on PATH"
)

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")
"""Variables that name a screen. A browser without a window needs no screen, and hangs at one that
is gone, as an ssh or tmux session leaves it behind."""

ROOM = 4 << 20
"""Bytes of temporary files that a browser needs; with less, chromedriver waits for it a minute."""

LOOPBACK_TIMEOUT = 5.0
"""Wall-clock seconds to wait for a connection to this machine itself, which takes microseconds."""


def is_shell(path: str) -> bool:
    """True if a browser is a headless shell, by its name or that of the file it links to."""
    names = {Path(path).name, Path(path).resolve().name}
    return any("headless-shell" in name or "headless_shell" in name for name in names)


def find_browser(path: str | None = None, *, headed: bool = False) -> str:
    """The executable to start: `path`, `$MINIWOB_BROWSER`, or the first of `SHELLS` and `BROWSERS`.

    For a window (`headed`) only the latter.

    Raises:
        BrowserError: no browser is found, or it has no window.
    """
    if path := path or os.environ.get("MINIWOB_BROWSER"):
        found = shutil.which(path)
        if found is None:
            raise BrowserError(f"no browser at {path!r} (--miniwob-browser or MINIWOB_BROWSER)")
        if headed and is_shell(found):
            raise BrowserError(
                f"{found} can't open a window, which --miniwob-headed needs: name full Chromium or "
                "Chrome with --miniwob-browser, or leave that and MINIWOB_BROWSER out"
            )
        return found
    names = BROWSERS if headed else (*SHELLS, *BROWSERS)
    if found := next(filter(None, map(shutil.which, (*names, MAC_CHROME))), None):
        return found
    raise BrowserError(
        f"no Chromium or Chrome found (looked for {', '.join(names)}): install one, on Debian and "
        "Ubuntu with `apt-get install chromium chromium-driver`, or name it with "
        "--miniwob-browser PATH"
    )


def find_driver(browser: str) -> str:
    """The chromedriver to start: `$SE_CHROMEDRIVER`, the browser's neighbour, or one on the path.

    Without one Selenium would download it, but no run asks the network.

    Raises:
        BrowserError: no driver is found.
    """
    if path := os.environ.get("SE_CHROMEDRIVER"):
        return path
    folders = (Path(browser).parent, Path(browser).resolve().parent, os.environ.get("PATH", ""))
    if found := shutil.which("chromedriver", path=os.pathsep.join(map(str, folders))):
        return found
    raise BrowserError(
        f"no chromedriver found beside {browser} or on PATH: install it, {DRIVER_HINT}"
    )


class _Service(webdriver.ChromeService):
    """The driver's process, which is ended by a signal."""

    def send_remote_shutdown_command(self) -> None:
        """Send nothing: selenium would ask the proxy of `HTTP_PROXY` to pass it on."""


class LocalLauncher:
    """Starts Chromium on this machine, as a `Launcher` does.

    Without a `path` an executable is looked for; `headed` shows the window, and `env` has variables
    of the browser's environment besides those of this process.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        headed: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._path = path
        self._headed = headed
        self._env = {**os.environ, **(env or {})}
        self.settings = () if sys.platform == "linux" else REGION
        """Settings of each window; on Linux the browser is started with the same ones."""
        self._driver: webdriver.Chrome | None = None
        self._watchdog: Watchdog | None = None

    def serving(self) -> Serving:
        return Serving()

    def complete(self, options: webdriver.ChromeOptions) -> None:
        # The driver is on this machine; a proxy for HTTP would not reach it.
        BaseOptions.ignore_local_proxy_environment_variables(options)
        options.binary_location = find_browser(self._path, headed=self._headed)
        if not self.settings:
            # To start one at each change of sites takes most of the time of a trial's start.
            options.add_argument("--renderer-process-limit=1")
        if not self._headed and not is_shell(options.binary_location):
            options.add_argument("--headless=new")
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium refuses to sandbox itself for root

    def start(self, options: webdriver.ChromeOptions, timeout: float) -> webdriver.Chrome:
        browser = options.binary_location
        driver_path = find_driver(browser)
        try:
            driver = start_twice(partial(self._start, options, driver_path))
        except (WebDriverException, OSError) as error:
            why = first_line(error).partition("; For documentation")[0].rstrip(".")
            by_root = " --no-sandbox" if os.geteuid() == 0 else ""
            hint = (
                f"To see why, start it by hand: {browser} --headless{by_root} --dump-dom"
                if DIED.search(why)
                else f"{driver_path} must be of the same version: {DRIVER_HINT}, or name "
                "another browser with --miniwob-browser PATH"
            )
            raise BrowserError(f"{browser} did not start: {why}. {hint}") from error
        client = driver.command_executor.client_config  # type: ignore[union-attr]
        client.timeout = timeout + 5  # after the driver's own
        return driver

    def _start(self, options: webdriver.ChromeOptions, driver_path: str) -> webdriver.Chrome:
        self._watchdog = Watchdog()
        folder = self._watchdog.folder
        left_out = MACHINES if self._headed else (*MACHINES, *SCREENS)
        env = {name: text for name, text in self._env.items() if not name.startswith(left_out)}
        try:
            if shutil.disk_usage(folder).free < ROOM:
                raise BrowserError(
                    f"{options.binary_location} was not started: there is no space for temporary "
                    f"files in {Path(folder).parent}. Free some, or name another folder with TMPDIR"
                )
            fonts = str(write_settings(Path(folder)))
            service = _Service(
                driver_path,
                env={**env, "FONTCONFIG_FILE": fonts, "TMPDIR": folder, "TZ": "UTC"},
                popen_kw={"process_group": self._watchdog.group},  # Ctrl-C does not reach it there
            )
            self._driver = webdriver.Chrome(options=options, service=service)
        except BaseException:
            self.kill()
            raise
        return self._driver

    def connect(self, driver: webdriver.Remote) -> ClientConnection:
        address = driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        direct = build_opener(ProxyHandler({}))  # it is on this machine, as the driver
        try:
            with direct.open(f"http://{address}/json/version", timeout=LOOPBACK_TIMEOUT) as answer:
                url = json.load(answer)["webSocketDebuggerUrl"]
            return open_socket(url, timeout=LOOPBACK_TIMEOUT, direct=True)
        except (OSError, ValueError, KeyError, WebSocketException) as error:
            raise BrowserError(
                f"{driver.capabilities['browserName']} started, but can't be reached at {address}: "
                f"{first_line(error)}"
            ) from error

    def keep(self, driver: webdriver.Remote) -> None:
        """Nothing: a browser that is idle here stays."""

    def kill(self, *, orderly: bool = False) -> None:
        driver, watchdog = self._driver, self._watchdog
        self._driver = self._watchdog = None
        if driver is not None:
            if orderly:
                with contextlib.suppress(WebDriverException, HTTPError, OSError):
                    driver.quit()
            driver.command_executor.close()  # type: ignore[union-attr]
        if watchdog is not None:
            watchdog.end()
        if driver is not None and driver.service.process is not None:
            driver.service.process.communicate()
            # Otherwise the service would try to stop it again when it is collected.
            driver.service.process = None  # type: ignore[assignment]

    def is_gone(self) -> bool:
        # A browser that dies here closes its connection.
        return False

    def explain(self, error: BaseException) -> str:
        return first_line(error)
