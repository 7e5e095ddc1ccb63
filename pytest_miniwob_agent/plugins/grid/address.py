"""A Selenium Grid: its address, its user, and what its sessions need. Importing this is cheap.

User, password and the options of vendors in capabilities may be keys: they are sent to the Grid,
and neither stored nor shown anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.params import basic_auth, is_server
from pytest_miniwob_agent.plugin.options import parse_object

USER, PASSWORD = "MINIWOB_REMOTE_USER", "MINIWOB_REMOTE_PASSWORD"
"""The environment variables with the Grid's user and password; those of the address come first."""

CHROME_OPTIONS, NAME = "goog:chromeOptions", "se:name"
"""The capabilities with the options of the browser, and with the name of a session."""

# Capabilities and options of the browser that pages depend on.
_OURS = (
    *("pageLoadStrategy", "timeouts", "unhandledPromptBehavior", "webSocketUrl"),
    *("debuggerAddress", "extensions"),
)


class HostPort(NamedTuple):
    """A host and a port; the port is 0 if any will do."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A Selenium Grid, and what the sessions of a worker need there.

    Attributes:
        url: the Grid's address, without a user.
        serve: the name and port by which nodes reach our pages; None for the address of the
            interface that leads to the Grid.
        worker: the name of the worker, such as `gw3`, empty without pytest-xdist.
    """

    url: str
    user: str | None = field(default=None, repr=False)
    password: str = field(default="", repr=False)
    capabilities: Mapping[str, Any] = field(default_factory=dict, repr=False)
    serve: HostPort | None = None
    worker: str = ""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def on_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    @property
    def session_name(self) -> str:
        """The name of the worker's session, which the Grid's pages show."""
        return f"{self.capabilities.get(NAME, 'miniwob')} {self.worker}".strip()

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.user is None else basic_auth(self.user, self.password)

    @property
    def secrets(self) -> list[str]:
        """The strings to mask wherever they appear: options of vendors too (`sauce:options`)."""
        ours = re.compile("(goog|se):|[^:]*$")
        vendors = [value for name, value in self.capabilities.items() if not ours.match(name)]
        return [text for text in [self.user, self.password, *_strings(vendors)] if text]

    def for_worker(self, worker: str) -> Grid:
        """Return the Grid as a worker uses it: a given port is that of the first worker."""
        serve = self.serve
        if serve is not None and serve.port and worker.startswith("gw"):
            serve = HostPort(serve.host, serve.port + int(worker.removeprefix("gw")))
        return replace(self, worker=worker, serve=serve)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(part)


def read_grid(address: str, capabilities: Mapping[str, Any], serve: HostPort | None) -> Grid:
    """Return the Grid at an address, with the user that it or the environment names."""
    parts = urlsplit(address)
    user: str | None = os.environ.get(USER) or None
    password = os.environ.get(PASSWORD, "")
    if parts.username is not None:
        user, password = unquote(parts.username), unquote(parts.password or "")
    host = parts.netloc.rpartition("@")[2]
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return Grid(url, user, password, capabilities, serve)


def parse_address(text: str) -> str:
    """Return the address of a Grid that an option gives.

    Raises:
        UsageError: it is not one; the message does not hold it, as it may have a password.
    """
    if not is_server(text) or urlsplit(text).query:
        raise UsageError(
            "give the whole address of a Selenium Grid, without a query, such as "
            "http://grid.example:4444"
        )
    return text


def parse_host_port(text: str) -> HostPort:
    """Return the host and the port of an option's `HOST[:PORT]`; another form is a `UsageError`."""
    match = re.fullmatch(r"([\w.-]+|\[[\da-fA-F:.]+\])(?::([1-9]\d{0,4}))?", text)
    if match and int(match[2] or 0) < 2**16:
        return HostPort(match[1].strip("[]"), int(match[2] or 0))
    raise UsageError(
        f"{text!r} must be HOST or HOST:PORT, as nodes of the Grid reach this machine, "
        "such as 10.0.0.5 or build-7.example:9000"
    )


def parse_capabilities(text: str) -> dict[str, Any]:
    """Return the capabilities of sessions, from a JSON object.

    Raises:
        UsageError: it is not one, or they change something that pages depend on.
    """
    capabilities = parse_object(text)
    if capabilities.get("browserName", "chrome") != "chrome":
        raise UsageError("can't set browserName: pages are certified for Chrome and Chromium")
    chrome = capabilities.get(CHROME_OPTIONS, {})
    if wrong := [key for key in _OURS if key in capabilities or key in chrome]:
        raise UsageError(f"can't set {', '.join(wrong)}")
    if not isinstance(chrome, dict) or not isinstance(chrome.get("args", []), list):
        raise UsageError(f'{CHROME_OPTIONS} must be an object such as {{"args": ["--no-sandbox"]}}')
    return capabilities
