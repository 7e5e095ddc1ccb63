"""A Selenium Grid: its address, its user, what its sessions need, and the address of our pages.

Users, passwords and the options of vendors in capabilities are sent but never kept, as they may be
keys: they are neither stored nor shown anywhere. Importing this loads no selenium.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.models.params import NOT_SHOWN, is_server

USER, PASSWORD = "MINIWOB_REMOTE_USER", "MINIWOB_REMOTE_PASSWORD"
"""The environment variables with the Grid's user and password; those of the address come first."""

CHROME_OPTIONS = "goog:chromeOptions"
"""The capability with the options of the browser."""

NAME = "se:name"
"""The capability with the name of a session, which the Grid's pages show."""

_OURS = ("browserName", "pageLoadStrategy", "timeouts", "unhandledPromptBehavior", "webSocketUrl")
"""Capabilities that pages depend on."""

_BROWSERS_OWN = ("goog", "se")
"""Prefixes of capabilities that hold no key; those of others are of vendors (`sauce:options`)."""


class HostPort(NamedTuple):
    """A host and a port; the port is 0 where any will do."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A Selenium Grid, and what the sessions of a worker need there.

    Attributes:
        url: the Grid's address, without a user.
        user: the user, or None.
        password: the user's password, or None.
        capabilities: further capabilities.
        serve: the name and port by which nodes reach our pages; None for the address of the
            interface that leads to the Grid.
        worker: the name of the worker, such as `gw3`, empty without pytest-xdist.
    """

    url: str
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    capabilities: Mapping[str, Any] = field(default_factory=dict, repr=False)
    serve: HostPort | None = None
    worker: str = ""

    @property
    def host(self) -> str:
        """The host of the address."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """The port of the address."""
        parts = urlsplit(self.url)
        return parts.port or (443 if parts.scheme == "https" else 80)

    @property
    def on_loopback(self) -> bool:
        """True if the Grid is on this machine, and its address is one that no other one reaches."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def session_name(self) -> str:
        """The name of the worker's session."""
        return " ".join(filter(None, [self.capabilities.get(NAME, "miniwob"), self.worker]))

    @property
    def secrets(self) -> list[str]:
        """The texts that are sent but never kept, to redact them where they appear."""
        vendors = {name: value for name, value in self.capabilities.items() if _of_vendor(name)}
        return [text for text in [self.user, self.password, *_texts(vendors)] if text]

    def for_worker(self, worker: str) -> Grid:
        """Return the Grid as a worker uses it; a port that is given counts for the first one.

        Raises:
            UsageError: there is no port for this worker.
        """
        if self.serve is None or not self.serve.port or not worker:
            return replace(self, worker=worker)
        port = self.serve.port + int("".join(filter(str.isdigit, worker)) or 0)
        if port > 65535:
            raise UsageError(
                f"--miniwob-serve: worker {worker} would serve at port {port}, as each takes the "
                "next one: give a lower port"
            )
        return replace(self, worker=worker, serve=self.serve._replace(port=port))


def read_grid(address: str, capabilities: Mapping[str, Any], serve: HostPort | None) -> Grid:
    """Return the Grid at an address, with the user that it or the environment names."""
    parts = urlsplit(address)
    user, password = parts.username, parts.password
    if user is None:
        user, password = os.environ.get(USER) or None, os.environ.get(PASSWORD) or None
    else:
        user, password = unquote(user), unquote(password or "")
    host = parts.netloc.rpartition("@")[2]
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return Grid(url, user, password, capabilities, serve)


def parse_address(name: str, text: str) -> str:
    """Return the address of a Grid.

    Args:
        name: the name of the option.
        text: its value.

    Raises:
        UsageError: the text is not one; the message does not hold it, as it may have a password.
    """
    if not is_server(text) or urlsplit(text).query:
        raise UsageError(
            f"{name}: give the whole address of a Selenium Grid, without a query, such as "
            "http://grid.example:4444"
        )
    return text


def parse_host_port(name: str, text: str) -> HostPort:
    """Return the host and the port of `HOST[:PORT]`.

    Raises:
        UsageError: the text has another form.
    """
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.path or parts.query or parts.username is not None or port == 0:
        raise UsageError(
            f"{name}: {text!r} must be HOST or HOST:PORT, as nodes of the Grid reach this machine, "
            "such as 10.0.0.5 or build-7.example:9000"
        )
    return HostPort(host, port or 0)


def check_capabilities(name: str, capabilities: Mapping[str, Any]) -> None:
    """Check capabilities for those that pages depend on.

    Raises:
        UsageError: they set one of them, or the options of the browser have another form.
    """
    wrong = [each for each in _OURS if each in capabilities]
    if wrong == ["browserName"] and capabilities["browserName"] == "chrome":
        wrong = []
    if wrong:
        hint = ": pages are certified for Chrome and Chromium" if "browserName" in wrong else ""
        raise UsageError(f"{name}: can't set {', '.join(wrong)}{hint}")
    if not isinstance(capabilities.get(NAME, ""), str):
        raise UsageError(f"{name}: {NAME} must be a text")
    chrome = capabilities.get(CHROME_OPTIONS, {})
    if not isinstance(chrome, dict) or not isinstance(chrome.get("args", []), list):
        raise UsageError(
            f'{name}: {CHROME_OPTIONS} must be an object such as {{"args": ["--no-sandbox"]}}'
        )
    if wrong := [each for each in ("debuggerAddress", "extensions") if each in chrome]:
        raise UsageError(f"{name}: can't set {', '.join(wrong)} of {CHROME_OPTIONS}")


def shown_capabilities(text: str, *, complete: bool = False) -> str:
    """Return a JSON text of capabilities without options of vendors.

    Args:
        text: the value of the option; it need not be JSON.
        complete: leave those options out; otherwise a text stands for them.
    """
    try:
        given = json.loads(text)
    except ValueError:
        return NOT_SHOWN
    if not isinstance(given, dict):
        return NOT_SHOWN
    kept = {name: redact(value) for name, value in given.items() if not _of_vendor(name)}
    hidden = {} if complete else {name: NOT_SHOWN for name in given if _of_vendor(name)}
    return text if kept == given else json.dumps(kept | hidden, ensure_ascii=False)


def _of_vendor(name: str) -> bool:
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix not in _BROWSERS_OWN


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, str):
        yield value
