"""A running app: takes the requests of the browser, under an address that is always the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, ReadTimeoutError

from pytest_miniwob_agent.core.app import AppTask, PageRequest, PageResponse
from pytest_miniwob_agent.core.errors import PageError, UsageError

PATIENCE = 20.0
"""Real seconds that an app may take to answer; after that the request stays open: a long poll."""

LARGEST = 50_000_000
"""Bytes of an answer that can be recorded."""

LOCAL = re.compile(r"localhost|127(?:\.\d+){3}|0\.0\.0\.0|::1|.*\.localhost")
"""Hosts of this machine, whose names and ports differ from run to run."""

TEXT = re.compile(r"text/|json|javascript|xml|urlencoded", re.IGNORECASE)
"""Media types in which the app's address may stand."""

PLACE = frozenset(
    ("accept-encoding", "alt-svc", "connection", "content-encoding", "content-length", "date",
     "host", "keep-alive", "server", "strict-transport-security", "transfer-encoding")
)  # fmt: skip
"""Headers of a connection or of a moment, which are none of the page's."""

_LASTS = re.compile(r";\s*(?:expires|max-age)=[^;]*", re.IGNORECASE)
_GONE = re.compile(r";\s*(?:max-age=(?:0|-\d+)\b|expires=\w+, \d\d[- ]jan[- ]1970)", re.IGNORECASE)


def address_of(task: AppTask, app: object) -> str:
    """Return the address of an app: the value of its fixture, or its `url`.

    Raises:
        UsageError: it is no address.
    """
    found = app if isinstance(app, str) else getattr(app, "url", None)
    if callable(found):
        found = found()
    if not isinstance(found, str) or not re.match(r"https?://[^/\s]+", found):
        raise UsageError(
            f"AppTask {task.name!r}: the app {task.app!r} is {app!r}, which is no address: its "
            "fixture must return one, such as http://127.0.0.1:8000, or an object with a `url`"
        )
    return found.rstrip("/")


def origin_of(address: str, name: str = "app") -> str:
    """Return the origin that an app has in the browser: its own, or a fixed one if it runs here."""
    parts = urlsplit(address)
    if LOCAL.fullmatch(parts.hostname or ""):
        return f"{parts.scheme}://{name}.localhost"
    return f"{parts.scheme}://{parts.netloc}"


class _SelfSigned(urllib3.HTTPSConnectionPool):
    """Connections to this machine, whose certificates are made for tests."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "cert_reqs": "CERT_NONE", "assert_hostname": False})

    def _validate_conn(self, conn: Any) -> None:
        """Connect, without a warning."""
        if conn.is_closed:
            conn.connect()


class LiveApp:
    """The app at some addresses, the first of which is its own.

    Args:
        task: the task on it.
        addresses: such as `http://127.0.0.1:8000`.
        bypass_vcr: a context in which a user's vcrpy cassettes ignore the requests.
    """

    def __init__(
        self,
        task: AppTask,
        addresses: Collection[str],
        bypass_vcr: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._task, self._bypass_vcr = task, bypass_vcr
        self._addresses = {
            origin_of(address, "app" if number == 1 else f"app-{number}"): address
            for number, address in enumerate(addresses, start=1)
        }
        self._pool = urllib3.PoolManager(retries=False, timeout=PATIENCE)
        if all(LOCAL.fullmatch(urlsplit(address).hostname or "") for address in addresses):
            classes = {**self._pool.pool_classes_by_scheme, "https": _SelfSigned}
            self._pool.pool_classes_by_scheme = classes
        self._secrets: dict[str, str] = {}  # stand-ins of what neither page nor tape may have
        # Pairs of what the app and the page call the same.
        self._names = [
            pair
            for origin, address in self._addresses.items()
            if origin != address
            for pair in ((address, origin), (urlsplit(address).netloc, urlsplit(origin).netloc))
        ]

    @property
    def origins(self) -> list[str]:
        """The origins in the browser; the first is the app's own."""
        return list(self._addresses)

    def answer(self, request: PageRequest) -> PageResponse | None:
        """Ask the app; None if no answer comes in time.

        Raises:
            PageError: the app can't be reached, or what it sends can't be recorded.
        """
        origin = "/".join(request.url.split("/")[:3])
        address = self._addresses[origin]
        headers = {
            name: self._to_app(value)
            for name, value in request.headers.items()
            if name.lower() not in PLACE
        }
        content = next((v for k, v in request.headers.items() if k.lower() == "content-type"), "")
        body = request.body
        if TEXT.search(content) or "form-data" in content:
            escaped = "urlencoded" in content
            body = self._to_app(body.decode("latin-1"), escaped=escaped).encode("latin-1")
        path = self._to_app(request.url[len(origin) :], escaped=True)
        try:
            with self._bypass_vcr():
                found = self._pool.urlopen(
                    request.method,
                    address + path,
                    body=body or None,
                    headers=headers | {"Host": urlsplit(address).netloc, "Accept-Encoding": "gzip"},
                    redirect=False,
                )
        except ReadTimeoutError:
            return None
        except HTTPError as error:
            raise PageError(
                f"the app at {address} does not answer {request}: {error}. Does the fixture "
                f"{self._task.app!r} still run it?"
            ) from None
        if len(found.data) > LARGEST:
            raise PageError(
                f"{request} got {len(found.data):,} bytes, which is more than a recording takes "
                f"({LARGEST:,}): let the task do without it"
            )
        kept = [(name, value) for name, value in found.headers.items() if name.lower() not in PLACE]
        return self._for_page(found.status, kept, found.data)

    def _for_page(
        self, status: int, headers: Iterable[tuple[str, str]], body: bytes
    ) -> PageResponse:
        content = next((value for name, value in headers if name.lower() == "content-type"), "")
        if TEXT.search(content):
            text = self._to_page(body.decode("latin-1"))
            body = text.encode("latin-1")
            if self._task.scrub:
                charset = re.search(r"charset=([\w-]+)", content)
                encoding = charset[1] if charset else "utf-8"
                scrubbed = self._task.scrubbed(body.decode(encoding, "surrogateescape"))
                body = scrubbed.encode(encoding, "surrogateescape")
        return PageResponse(
            status,
            tuple((name, _lasting(name, self._to_page(value))) for name, value in headers),
            body,
        )

    def _to_app(self, text: str, *, escaped: bool = False) -> str:
        for secret, stand_in in self._secrets.items():
            text = text.replace(stand_in, secret)
        for theirs, ours in self._names:
            text = text.replace(ours, theirs)
            if escaped:
                text = text.replace(quote(ours, safe=""), quote(theirs, safe=""))
        return text

    def _to_page(self, text: str) -> str:
        for theirs, ours in self._names:
            text = text.replace(theirs, ours).replace(quote(theirs, safe=""), quote(ours, safe=""))
        for pattern in self._task.redact:
            text = re.sub(pattern, self._stand_in, text)
        return text

    def _stand_in(self, found: re.Match[str]) -> str:
        return self._secrets.setdefault(found[0], f"redacted-{len(self._secrets) + 1}")

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()


def _lasting(name: str, value: str) -> str:
    """A header as it holds in a later replay: a cookie that lasts does so as long as the trial."""
    if name.lower() != "set-cookie" or _GONE.search(value):
        return value
    return re.sub(r";\s*domain=[^;]*", "", _LASTS.sub("", value), flags=re.IGNORECASE)
