"""Chromium on a Selenium Grid: one session per worker, opened, explained, and ended."""

from __future__ import annotations

import contextlib
import re
import socket
from ssl import create_default_context
from typing import Any, NamedTuple

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.proxy import Proxy, ProxyType
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.remote_connection import RemoteConnection
from urllib3 import Timeout
from urllib3.exceptions import HTTPError
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection

from pytest_miniwob_agent.browser.devtools import first_line, open_socket
from pytest_miniwob_agent.browser.launcher import REGION, start_twice
from pytest_miniwob_agent.browser.server import Serving
from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import counted, listed, shorten
from pytest_miniwob_agent.hookspec import Check
from pytest_miniwob_agent.plugins.grid.address import CHROME_OPTIONS, NAME, PASSWORD, USER, Grid

# In wall-clock seconds: to wait for a connection, for an answer beyond the driver's own timeouts,
# and for a session; the Grid gives up first.
CONNECT_TIMEOUT, ROUND_TRIP, SESSION_TIMEOUT = 10.0, 15.0, 3600.0

_FAILURES = (WebDriverException, HTTPError, OSError)


class GridStatus(NamedTuple):
    """What the nodes offer that are up: browsers, slots for Chrome, and those without a session."""

    offered: str
    slots: int
    free: int


class GridLauncher:
    """Opens a session on a Grid, as a `Launcher` starts a browser."""

    def __init__(self, grid: Grid, *, headed: bool = False) -> None:
        self._grid = grid
        self._headed = headed
        self.settings = REGION
        self._where = f"the Grid at {grid.url}"
        self._driver: webdriver.Remote | None = None

    def serving(self) -> Serving:
        grid = self._grid
        host, port = grid.serve or ("", 0)
        listen = (host and _interface_to(host)) or _interface_to(grid.host)
        if not listen:
            raise BrowserError(
                f"{self._where} can't be reached: no address of {grid.host} is known. If it is "
                "only reached through a proxy, --miniwob-serve names this machine as nodes reach it"
            )
        name = host or listen
        hint = "--miniwob-serve HOST[:PORT] names another address or port"
        return Serving(listen, port, f"[{name}]" if ":" in name else name, hint)

    def complete(self, options: webdriver.ChromeOptions) -> None:
        given = dict(self._grid.capabilities)
        chrome = dict(given.pop(CHROME_OPTIONS, {}))
        options.arguments[:0] = chrome.pop("args", [])  # Chromium takes the last of equal switches
        options.binary_location = chrome.pop("binary", "")
        for name, value in chrome.items():
            options.add_experimental_option(name, value)
        for name, value in (given | {NAME: self._grid.session_name}).items():
            options.set_capability(name, value)
        if not self._headed:
            options.add_argument("--headless=new")

    def start(self, options: webdriver.ChromeOptions, timeout: float) -> webdriver.Remote:
        # A Grid that is full keeps the session in its queue.
        client = self._client(SESSION_TIMEOUT)
        try:
            driver = start_twice(
                lambda: webdriver.Remote(self._grid.url, options=options, client_config=client)
            )
        except _FAILURES as error:
            raise BrowserError(self._why_no_session(error)) from None
        client.timeout = Timeout(connect=CONNECT_TIMEOUT, read=timeout + ROUND_TRIP)
        self._driver = driver
        return driver

    def connect(self, driver: webdriver.Remote) -> ClientConnection:
        address = re.sub("^http", "ws", self._grid.url)
        trusted = self._client(ROUND_TRIP).ca_certs
        try:
            return open_socket(
                f"{address}/session/{driver.session_id}/se/cdp",
                timeout=ROUND_TRIP,
                direct=self._grid.on_loopback,
                headers=self._grid.headers,
                ssl=create_default_context(cafile=trusted) if address[:3] == "wss" else None,
            )
        except (WebSocketException, OSError) as error:
            raise BrowserError(
                f"{self._where} opened a session, but no WebSocket to its browser: "
                f"{self._clean(error)}. Its nodes need --enable-cdp, which is on by default, and a "
                "gateway before it must pass WebSockets on"
            ) from None

    def keep(self, driver: webdriver.Remote) -> None:
        """Show the Grid that the session is in use.

        CDP is no activity to many versions (https://github.com/SeleniumHQ/selenium/issues/12223).
        """
        _ = driver.current_window_handle

    def status(self) -> GridStatus:
        """Ask the Grid for its nodes.

        Raises:
            BrowserError: it can't be reached, refuses the user, or is not a Grid.
        """
        connection: Any = RemoteConnection(client_config=self._client(CONNECT_TIMEOUT))
        connection.add_command("status", "GET", "/status")
        try:
            answer = connection.execute("status", {})
        except _FAILURES as error:
            raise BrowserError(
                f"{self._where} can't be reached: {self._clean(error)}. Does it run, and is "
                "--miniwob-remote right?"
            ) from None
        finally:
            connection.close()
        if answer.get("status") == 401:
            names = f"{USER} and {PASSWORD}"
            raise BrowserError(
                f"{self._where} asks for a user and a password: set {names}"
                if self._grid.user is None
                else f"{self._where} refuses the user and the password: correct {names}, or those "
                "in --miniwob-remote"
            )
        value = answer.get("value")
        if not isinstance(value, dict) or "ready" not in value:
            raise BrowserError(
                f"what answers at {self._grid.url} is not a Selenium Grid: is "
                "--miniwob-remote right?"
            )
        nodes = [node for node in value.get("nodes", ()) if node["availability"] == "UP"]
        slots = [
            (str(slot["stereotype"].get("browserName")), slot.get("session"))
            for node in nodes
            for slot in node["slots"]
        ]
        offered = listed(sorted({browser for browser, _ in slots})) or "nothing"
        chrome = [session for browser, session in slots if browser == "chrome"]
        return GridStatus(offered, len(chrome), chrome.count(None))

    def check(self) -> Check:
        try:
            status = self.status()
        except BrowserError as error:
            found, _, fix = str(error).rpartition(". ")
            return Check("Grid", found, fix)
        slots, free, fix = counted(status.slots, "slot"), status.free, ""
        if not free:
            fix = "no page was tried there: wait until a slot is free"
        if not status.slots:
            fix = "start a node with Chrome, see docs/grid.md"
        found = f"answers at {self._grid.url}, {slots} for Chrome, {free} free"
        return Check("Grid", found, fix, note=bool(status.slots and fix))

    def kill(self, *, orderly: bool = False) -> None:
        """End the session; one that can't be reached is ended by its node's --session-timeout."""
        driver, self._driver = self._driver, None
        if driver is not None:
            with contextlib.suppress(*_FAILURES):
                driver.quit()

    def is_gone(self) -> bool:
        """Ask the Grid for the session; True if it has none any more."""
        try:
            _ = self._driver and self._driver.window_handles
        except _FAILURES:
            return True
        return False

    def explain(self, error: BaseException) -> str:
        text = self._clean(error)
        if "net::err_" in text.lower():
            return (
                f"{text}: the node can't reach the pages, which this machine serves as "
                f"{self.serving().name}; name it as nodes reach it with --miniwob-serve"
            )
        if self.is_gone():
            return (
                f"{text}. The session on the Grid is gone: its node or the Grid has ended, or it "
                "was idle for longer than the node's --session-timeout"
            )
        return text

    def _client(self, read: float) -> ClientConfig:
        """The settings of a connection to the Grid, for answers that take up to `read` seconds."""
        direct = Proxy({"proxyType": ProxyType.DIRECT}) if self._grid.on_loopback else None
        pool = {"init_args_for_pool_manager": {"retries": False}}
        client = ClientConfig(
            self._grid.url, proxy=direct, extra_headers=self._grid.headers,
            init_args_for_pool_manager=pool,
        )  # fmt: skip
        client.timeout = Timeout(connect=CONNECT_TIMEOUT, read=read)
        return client

    def _why_no_session(self, error: BaseException) -> str:
        try:
            status = self.status()
        except BrowserError as why:
            return str(why)
        # The driver's reason comes last in what the Grid says of it.
        whole = str(getattr(error, "msg", None) or error).partition("\nHost info")[0]
        said = self._clean(whole.rpartition("Message: ")[2].partition("\n")[0]).rstrip(".")
        lowered, fix = said.lower(), ""
        if "no nodes support" in lowered or not status.slots:
            fix = (
                f". Its nodes offer {status.offered}: correct --miniwob-capabilities, or add a "
                "node with Chrome"
            )
        elif "timed out" in lowered or "queue" in lowered:
            fix = (
                f". {status.free} of {status.slots} slots for Chrome are free, and each worker "
                "needs one: use fewer workers (-n), or add nodes"
            )
        elif "chrome" in lowered and "exited" in lowered:
            fix = (
                ". If its node runs as root, it needs --miniwob-capabilities="
                """'{"goog:chromeOptions": {"args": ["--no-sandbox"]}}'"""
            )
        return f"{self._where} opened no session: {said}{fix}"

    def _clean(self, what: object) -> str:
        text = first_line(what) if isinstance(what, BaseException) else str(what)
        return shorten(mask(text, self._grid.secrets))


def _interface_to(host: str) -> str:
    """The address of the interface that leads to a host, "" if there is none; nothing is sent."""
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(host, 80, type=socket.SOCK_DGRAM)
        family, kind, protocol, _, address = min(found)  # IPv4 before IPv6
        with socket.socket(family, kind, protocol) as udp:
            udp.connect(address)
            return str(udp.getsockname()[0])
    return ""
