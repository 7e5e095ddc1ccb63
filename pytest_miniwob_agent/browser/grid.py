"""Chromium on a Selenium Grid: one session for a worker, opened, kept, and ended."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import (
    InvalidSessionIdException,
    SessionNotCreatedException,
    TimeoutException,
    WebDriverException,
)
from selenium.webdriver.chrome.remote_connection import ChromeRemoteConnection
from selenium.webdriver.common.proxy import Proxy, ProxyType
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.command import Command
from selenium.webdriver.remote.remote_connection import RemoteConnection
from urllib3 import Timeout
from urllib3.exceptions import HTTPError, ProtocolError
from websocket import WebSocket, WebSocketException, create_connection

from pytest_miniwob_agent.browser.devtools import CONNECTION, DIRECT, ConnectionLost
from pytest_miniwob_agent.browser.grid_address import CHROME_OPTIONS, NAME, PASSWORD, USER, Grid
from pytest_miniwob_agent.browser.grid_status import GridStatus
from pytest_miniwob_agent.browser.launcher import Serving, first_line
from pytest_miniwob_agent.browser.watchdog import SessionWatchdog
from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import shorten

CONNECT_TIMEOUT = 10.0
"""Real seconds to wait for a connection to the Grid."""

SESSION_TIMEOUT = 3600.0
"""Real seconds to wait for a session: longer than a Grid keeps a request in its queue, which is 300
seconds if `--session-request-timeout` does not say otherwise."""

PATIENCE = (5.0, 25.0)
"""Real seconds after which a line says what a session is waited for: where no place is free, and
further ones where there is."""

RECOVERY = 150.0
"""Real seconds in which a Grid that has worked before may come back, or notice that a node is gone:
it looks every 120 seconds, if `--healthcheck-interval` does not say otherwise."""

ROUND_TRIP = 15.0
"""Real seconds that an answer may take to come back, after the driver's own timeouts."""

_FAILURES = (WebDriverException, HTTPError, OSError)


class _StatusConnection(RemoteConnection):
    """A connection that also asks a Grid for its status."""

    extra_commands = {"status": ("GET", "/status")}  # type: ignore[dict-item]  # noqa: RUF012


class GridLauncher:
    """Opens a session on a Grid, which does not outlive this process (on Linux and macOS).

    Args:
        grid: the Grid.
        headed: show the window, on the node's display.
        say: called with a line of text where a session is waited for, in another thread.
    """

    def __init__(
        self, grid: Grid, *, headed: bool = False, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self._grid = grid
        self._headed = headed
        self._say = say
        self._driver: webdriver.Remote | None = None
        self._watchdog: SessionWatchdog | None = None
        self._worked = False  # since this object was made
        self._serving: Serving | None = None
        self._lost: list[str] = []  # sessions that could not be ended

    def serving(self) -> Serving:
        """Return the address of this machine that nodes reach, as in `Launcher`."""
        if self._serving is None:
            hint = "--miniwob-serve HOST[:PORT] names another address or port"
            host, port = self._grid.serve or ("", 0)
            # A name of a gateway, which passes the port on, is not an address of this machine.
            own = (host and _own_address(host)) or self._interface()
            self._serving = Serving(own, port, _in_url(host or own), hint)
        return self._serving

    def _interface(self) -> str:
        """The address of the interface that leads to the Grid; nothing is sent."""
        if self._grid.on_loopback:
            return "127.0.0.1"
        try:
            found = socket.getaddrinfo(self._grid.host, self._grid.port, type=socket.SOCK_DGRAM)
            family, kind, protocol, _, address = found[0]
            with socket.socket(family, kind, protocol) as udp:
                udp.connect(address)
                return str(udp.getsockname()[0])
        except OSError as error:
            raise BrowserError(
                f"{self._unreachable(error)} If it is only reached through a proxy, "
                "--miniwob-serve names this machine as nodes reach it"
            ) from None

    def complete(self, options: webdriver.ChromeOptions) -> None:
        """Add the capabilities of the option, and the session's name, as in `Launcher`.

        Of a switch that is given twice Chromium takes the last, so that ours come last.
        """
        given = dict(self._grid.capabilities)
        chrome = dict(given.pop(CHROME_OPTIONS, {}))
        options.arguments[:0] = chrome.pop("args", [])
        options.binary_location = chrome.pop("binary", "")
        for name, value in chrome.items():
            options.add_experimental_option(name, value)
        for name, value in given.items():
            options.set_capability(name, value)
        options.set_capability(NAME, self._grid.session_name)
        if not self._headed:
            options.add_argument("--headless=new")

    def start(self, options: webdriver.ChromeOptions, timeout: float) -> webdriver.Remote:
        """Open a session, as in `Launcher`; where the Grid is full, wait for it."""
        self._end_lost()
        driver = self._opened(options)
        self._driver, self._worked = driver, True
        client: ClientConfig = driver.command_executor.client_config  # type: ignore[union-attr]
        client.timeout = Timeout(connect=CONNECT_TIMEOUT, read=timeout + ROUND_TRIP)
        if hasattr(os, "killpg"):  # not on Windows
            session = f"{self._grid.url}/session/{driver.session_id}"
            self._watchdog = SessionWatchdog(
                session, self._headers(), client.ca_certs, self._grid.on_loopback
            )
        return driver

    def connect(self, driver: webdriver.Remote) -> WebSocket:
        """Open a WebSocket through the Grid to its node's browser, as in `Launcher`."""
        address = re.sub("^http", "ws", self._grid.url)
        client: ClientConfig = driver.command_executor.client_config  # type: ignore[union-attr]
        try:
            return create_connection(
                f"{address}/session/{driver.session_id}/se/cdp",
                timeout=ROUND_TRIP,
                header=self._headers(),
                sslopt={"ca_certs": client.ca_certs},
                **(DIRECT if self._grid.on_loopback else {}),
                **CONNECTION,
            )
        except WebSocketException as error:
            raise BrowserError(
                f"the Grid at {self._grid.url} opened a session, but no WebSocket to its browser: "
                f"{self._clean(first_line(error))}. Its nodes need --enable-cdp, which is on by "
                "default, and a gateway before it must pass WebSockets on"
            ) from None

    def _opened(self, options: webdriver.ChromeOptions) -> webdriver.Remote:
        """Open a session; where the Grid is about to recover, wait for that."""
        end = time.monotonic() + RECOVERY
        said = ""
        while True:
            try:
                return self._open(options)
            except _FAILURES as error:
                passing = self._passing(error)
                if not passing or time.monotonic() > end:
                    raise BrowserError(self._why_none(error)) from None
            if not said:
                said = f"{passing}; waiting up to {RECOVERY:.0f} seconds for it to recover"
                self._tell(said)
            self._wait_for_nodes(end)
            self._end_lost()

    def _wait_for_nodes(self, end: float) -> None:
        """Wait a second, and on until the Grid has a node with Chrome."""
        while time.monotonic() < end:
            time.sleep(1)
            with contextlib.suppress(BrowserError):
                if self.status().chrome:
                    return

    def _passing(self, error: BaseException) -> str:
        """The trouble that an error shows, if it may pass; "" for one that will last."""
        if "connection error" in first_line(error).lower():
            return "can't reach one of its nodes, and has not noticed yet that it is gone"
        try:
            return "has no nodes" if self._worked and not self.status().chrome else ""
        except BrowserError:
            return "is gone"

    def _open(self, options: webdriver.ChromeOptions) -> webdriver.Remote:
        over = threading.Event()
        watch = threading.Thread(target=self._say_why_it_waits, args=(over,), daemon=True)
        watch.start()
        try:
            client = self._client(SESSION_TIMEOUT)
            return webdriver.Remote(self._grid.url, options=options, client_config=client)
        finally:
            over.set()
            watch.join()

    def _client(self, read: float, node: str = "") -> ClientConfig:
        """The settings of a connection to the Grid, or to a node, which knows no users."""
        client = ClientConfig(
            node or self._grid.url,
            proxy=Proxy({"proxyType": ProxyType.DIRECT}) if self._grid.on_loopback else None,
            extra_headers={} if node else self._headers(),
            init_args_for_pool_manager={"init_args_for_pool_manager": {"retries": False}},
        )
        # As long as this is waited for a connection, and for each part of an answer.
        client.timeout = Timeout(connect=CONNECT_TIMEOUT, read=read)
        return client

    def _headers(self) -> dict[str, str]:
        """The header that names the user."""
        if self._grid.user is None:
            return {}
        user = f"{self._grid.user}:{self._grid.password or ''}"
        return {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}

    def status(self) -> GridStatus:
        """Ask the Grid for its nodes.

        Raises:
            BrowserError: it can't be reached, refuses the user, or is not a Grid.
        """
        connection: Any = _StatusConnection(client_config=self._client(CONNECT_TIMEOUT))
        try:
            answer = connection.execute("status", {})
        except _FAILURES as error:
            raise BrowserError(self._unreachable(error)) from None
        finally:
            connection.close()
        if answer.get("status") == 401:
            raise BrowserError(self._refused())
        status = GridStatus.from_data(answer)
        if status is None:
            raise BrowserError(
                f"there is no Selenium Grid at {self._grid.url}, but something that answers in "
                "another way. Is --miniwob-remote right?"
            )
        return status

    def _say_why_it_waits(self, over: threading.Event) -> None:
        for always, seconds in enumerate(PATIENCE):
            if over.wait(seconds):
                return
            self._end_lost()  # at nodes that have come back after the Grid
            try:
                status = self.status()
            except BrowserError:  # which the session will meet too
                return
            if always or not status.free:
                self._tell(f"has no session for it yet: {status.why_none}. Waiting for one")
                return

    def _tell(self, what: str) -> None:
        head = f"{self._grid.session_name}: the Grid at {self._grid.url}"
        self._say(redact(f"{head} {what}", self._grid.secrets))

    def _why_none(self, error: BaseException) -> str:
        """The reason why there is no session, and the way out."""
        lowered = first_line(error).lower()
        if not isinstance(error, WebDriverException):
            return self._unreachable(error)
        if "authorization required" in lowered or "unauthorized" in lowered:
            return self._refused()
        try:
            status = self.status()
        except BrowserError as why:  # services that are no Grid have another status, or none
            refused = isinstance(error, SessionNotCreatedException)
            return self._none_opened(error) if refused else str(why)
        where = f"the Grid at {self._grid.url}"
        if "no nodes support" in lowered or not status.chrome:
            wanted = sorted({"browserName", *self._grid.capabilities} - {CHROME_OPTIONS, NAME})
            return (
                f"no node of {where} has what a session needs ({', '.join(wanted)}): its nodes "
                f"offer {status.offered}. Correct --miniwob-capabilities, or add a "
                "node with Chrome"
            )
        if "timed out" in lowered or "queue" in lowered:
            return (
                f"{where} had no place for a session in time: {status.why_none}. Its queue gives "
                "up after the hub's --session-request-timeout; use fewer workers (-n), or add nodes"
            )
        return self._none_opened(error)

    def _none_opened(self, error: WebDriverException) -> str:
        """The driver's reason, which is at the end of what the node and the Grid say of it."""
        whole = str(error.msg or "").partition("\nHost info")[0]
        said = self._clean(whole.rpartition("Message: ")[2] or first_line(error)).rstrip(".")
        hint = (
            ". Where its node runs as root, it needs --miniwob-capabilities="
            """'{"goog:chromeOptions": {"args": ["--no-sandbox"]}}'"""
        )
        exited = "chrome" in said.lower() and "exited" in said.lower()
        return f"the Grid at {self._grid.url} opened no session: {said}{hint if exited else ''}"

    def _unreachable(self, error: BaseException) -> str:
        reason = error.args[-1] if isinstance(error, ProtocolError) else error
        text = str(reason).rpartition(": ")[2] if isinstance(reason, HTTPError) else reason
        return (
            f"the Grid at {self._grid.url} can't be reached: {self._clean(text)}. Does it run, and "
            "is --miniwob-remote right?"
        )

    def _refused(self) -> str:
        if self._grid.user is None:
            return (
                f"the Grid at {self._grid.url} asks for a user and a password: set {USER} and "
                f"{PASSWORD}"
            )
        return (
            f"the Grid at {self._grid.url} refuses the user and the password: correct {USER} and "
            f"{PASSWORD}, or those in --miniwob-remote"
        )

    def _clean(self, text: object) -> str:
        return shorten(redact(str(text), self._grid.secrets))

    def stop(self) -> None:
        """End the session, and those that were lost before."""
        self.kill()
        self._end_lost()

    def kill(self) -> None:
        """End the session, in any state; one that can't be reached is left to the Grid."""
        driver, watchdog = self._driver, self._watchdog
        self._driver = self._watchdog = None
        if driver is not None:
            client: ClientConfig = driver.command_executor.client_config  # type: ignore[union-attr]
            client.timeout = Timeout(connect=CONNECT_TIMEOUT, read=ROUND_TRIP)
            if not _end(driver.command_executor, str(driver.session_id)):
                self._lost.append(str(driver.session_id))
            driver.command_executor.close()  # type: ignore[union-attr]
        if watchdog is not None:
            watchdog.dismiss()

    def _end_lost(self) -> None:
        """End lost sessions at their nodes: a Grid that was started again knows no session.

        A node that can't be reached from here ends them after its `--session-timeout`.
        """
        if not self._lost:
            return
        try:
            slots = self.status().slots
        except BrowserError:
            return
        for slot in slots:
            if slot.session in self._lost:
                self._lost.remove(slot.session)
                client = self._client(ROUND_TRIP, slot.node)
                node = ChromeRemoteConnection(slot.node, client_config=client)
                _end(node, slot.session)
                node.close()

    def explain(self, error: BaseException) -> str:
        """Return the error of a session, and its likely reason."""
        if isinstance(error, TimeoutException) and self._driver is not None:
            # Of a session that its node has ended, the Grid leaves the WebSocket open.
            try:
                _ = self._driver.window_handles
            except _FAILURES as reason:
                error = reason
        text = self._clean(first_line(error))
        if "net::err_" in text.lower():
            return (
                f"{text}: the node can't reach the pages, which this machine serves as "
                f"{self.serving().name}; name it as nodes reach it with --miniwob-serve"
            )
        if "existing session" in text or isinstance(error, ConnectionLost):
            return f"the node of its session on the Grid has ended, or can't be reached: {text}"
        if isinstance(error, InvalidSessionIdException):
            return (
                f"{text}. The session on the Grid is gone: its node has ended, the Grid was "
                "started again, or the session was idle for longer than the node's "
                "--session-timeout"
            )
        if isinstance(error, HTTPError | OSError):
            return self._unreachable(error)
        return text


def _end(connection: Any, session: str) -> bool:
    """End a session; True if it was found there.

    Its browser goes first: where a node starts it by a script, as Debian's headless shell is, the
    driver would end the script alone, and its answer would take 20 seconds.
    """
    arguments = {"sessionId": session, "cmd": "Browser.close", "params": {}}
    with contextlib.suppress(*_FAILURES):
        connection.execute("executeCdpCommand", arguments)
    with contextlib.suppress(*_FAILURES):
        return not connection.execute(Command.QUIT, {"sessionId": session}).get("status")
    return False


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _own_address(host: str) -> str | None:
    """The address of a name, if it is one of this machine."""
    with contextlib.suppress(OSError):
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, 0, type=socket.SOCK_STREAM
        ):
            with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as tried:
                tried.bind(address)
                return str(address[0])
    return None
