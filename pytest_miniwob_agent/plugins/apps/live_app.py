"""A running app: takes the requests of the browser, under an address that is always the same."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from dataclasses import replace
from email.utils import parsedate, parsedate_to_datetime
from functools import partial
from http.client import HTTPResponse, responses
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import urllib3
from urllib3 import BaseHTTPResponse, Timeout, connection
from urllib3.exceptions import HTTPError

from pytest_miniwob_agent.connections import LOCAL, trusting
from pytest_miniwob_agent.core.app import (
    REFUSED,
    TEXT,
    AppTask,
    PageMessage,
    PageRequest,
    PageResponse,
    url_origin,
)
from pytest_miniwob_agent.core.decoding import find_charset
from pytest_miniwob_agent.core.errors import PageError, UsageError
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.models.params import basic_auth
from pytest_miniwob_agent.plugins.apps.live_sockets import (
    NETWORK_ERROR,
    SILENCE,
    Inbox,
    Sockets,
    TooLarge,
    too_large,
)

PATIENCE = 20.0
"""Wall-clock seconds that an app may take to answer; then it is a long poll, and the page goes
on."""

CROWDED = 1.0
"""Wall-clock seconds after which a request of a script is set aside for others that wait for it."""

POLL = 0.02
"""Wall-clock seconds between two questions whether a request is to be set aside."""

PART = 2**16
"""Bytes of an answer that are read at a time."""

STREAMED = re.compile(r"text/event-stream|ndjson|jsonl", re.IGNORECASE)
"""Media types of answers that `fetch` gets in parts, as they come."""

# The digests of scripts and styles in a page, which may be rewritten for it. Those that scripts set
# have no effect (browser/page/work.js).
_INTEGRITY = re.compile(
    r"""(<(?:link|script)\b[^>]*?)\s+integrity\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE
)

_IMPORT_MAP = re.compile(r"<script\b[^>]*\bimportmap\b.*?</script", re.IGNORECASE | re.DOTALL)

LENGTH = "content-length"
PLACE = frozenset(
    ("accept-encoding", "alt-svc", "connection", "content-encoding", LENGTH, "date",
     "host", "keep-alive", "server", "strict-transport-security", "transfer-encoding")
)  # fmt: skip
"""Headers of a connection or of a moment, which don't concern the page."""

DAY = 86_400
"""Seconds."""

_LASTS = re.compile(r";\s*(?:expires|max-age)=[^;]*", re.IGNORECASE)
_AGE = re.compile(r";\s*max-age=(-?\d+)", re.IGNORECASE)
_DATE = re.compile(r";\s*expires=([^;]*)", re.IGNORECASE)
_DOMAIN = re.compile(r";\s*domain=\s*\.?([^;\s]*)[^;]*", re.IGNORECASE)


def parse_address(task: AppTask, name: str, app: object) -> str:
    """Return the address of an app: the value of the fixture of this name, or its `url`.

    Raises:
        UsageError: it is no address, or has a path.
    """
    found = app if isinstance(app, str) else getattr(app, "url", None)
    if callable(found):
        found = found()
    if not isinstance(found, str) or not re.match(r"https?://[^/\s]+", found):
        raise UsageError(
            f"AppTask {task.name!r}: the app {name!r} is {app!r}, which is no address: its "
            "fixture must return one, such as http://127.0.0.1:8000, or an object with a `url`"
        )
    if (path := found[len(url_origin(found)) :]) not in ("", "/"):
        what = f"give the path as start={path!r}" if name == task.app else "leave the path out"
        raise UsageError(
            f"AppTask {task.name!r}: the address of {name!r} has a path, {path}, where an origin "
            f"is expected: {what}"
        )
    return url_origin(found)


def _without_user(address: str) -> tuple[str, dict[str, str]]:
    """Return an address as a browser writes it, and headers that send its user and password."""
    parts = urlsplit(address)
    user, password = (unquote(part or "") for part in (parts.username, parts.password))
    host = parts.netloc.rpartition("@")[2].lower()
    host = re.sub(f":({connection.port_by_scheme[parts.scheme]})?$", "", host)
    if not host.isascii():
        host = host.encode("idna").decode()
    return f"{parts.scheme}://{host}", basic_auth(user, password) if user else {}


def _shown_origin(address: str, name: str) -> str:
    # An app on this machine may have another port in each run.
    parts = urlsplit(address)
    local = LOCAL.fullmatch(parts.hostname or "")
    return f"{parts.scheme}://{name}.localhost" if local else address


class _Final(HTTPResponse):
    """An answer, without those before it that only announce it, such as 103 Early Hints."""

    def begin(self) -> None:
        super().begin()
        while self.status < 200:
            self.headers = None  # type: ignore[assignment]  # and it reads the next one
            super().begin()


class _Prompt:
    """A connection that acknowledges at once what a server sends first.

    Many send the headers by themselves. With Nagle's algorithm they keep the rest back until those
    are acknowledged, which Linux puts off for 40 ms.
    """

    sock: socket.socket
    response_class: type[HTTPResponse] = _Final

    def getresponse(self) -> Any:
        if hasattr(socket, "TCP_QUICKACK"):
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return super().getresponse()  # type: ignore[misc]


class _Http(urllib3.HTTPConnectionPool):
    """Connections to a host."""

    class HTTPConnection(_Prompt, connection.HTTPConnection):
        """A connection, whose errors have this name."""

    ConnectionCls = HTTPConnection


class _Https(urllib3.HTTPSConnectionPool):
    """Connections to a host, which may be this machine."""

    class HTTPSConnection(_Prompt, connection.HTTPSConnection):
        """A connection, whose errors have this name."""

    ConnectionCls = HTTPSConnection

    def __init__(self, host: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(host, *args, **kwargs, ssl_context=trusting(host))

    def _validate_conn(self, conn: Any) -> None:
        # Urllib3's own warns if the certificate is not verified.
        if conn.is_closed:
            conn.connect()


class LiveApp:
    """The app at some addresses; the first is its own.

    Args:
        task: the task on it.
        addresses: such as `http://127.0.0.1:8000`, or `https://user:password@staging.example`,
            whose user and password are sent by HTTP basic authentication.
        bypass_vcr: a context in which a user's vcrpy cassettes ignore the requests.
        largest: bytes of an answer that can be recorded.
    """

    def __init__(
        self,
        task: AppTask,
        addresses: Collection[str],
        bypass_vcr: Callable[[], AbstractContextManager[None]],
        largest: int = 50_000_000,
    ) -> None:
        self._task, self._bypass_vcr, self._largest = task, bypass_vcr, largest
        self._addresses: dict[str, str] = {}
        self._users: dict[str, dict[str, str]] = {}  # by address, the headers that name them
        for number, given in enumerate(addresses, start=1):
            address, user = _without_user(given)
            origin = _shown_origin(address, "app" if number == 1 else f"app-{number}.app")
            self._addresses[origin], self._users[address] = address, user
        patience = Timeout(connect=PATIENCE, read=None)
        self._pool = urllib3.PoolManager(retries=False, timeout=patience, maxsize=8)
        self._pool.pool_classes_by_scheme = {"http": _Http, "https": _Https}
        self._polls: set[tuple[str, str]] = set()  # methods and paths of long polls
        self._changes = 0  # requests that may change something
        self._count = 0
        self._clock = 0.0
        self._inbox = Inbox(self._text_to_page, self._largest)
        self._sockets = Sockets(self._inbox)
        self._secrets: dict[str, str] = {}  # stand-ins of what neither page nor tape may have
        renamed = {
            theirs: ours
            for origin, address in self._addresses.items()
            if origin != address
            for theirs, ours in (
                (address, origin), (urlsplit(address).netloc, urlsplit(origin).netloc)
            )
        }  # fmt: skip
        self._names_to_page = _Names(renamed)
        self._names_to_app = _Names({ours: theirs for theirs, ours in renamed.items()})

    @property
    def origins(self) -> list[str]:
        """The origins in the browser; the first is the app's own."""
        return list(self._addresses)

    def begin_trial(self, clock: float) -> None:
        """Close the sockets of the trial before; the page's clock is at so many seconds."""
        self._clock = clock
        self._sockets.leave_all()
        self._inbox = Inbox(self._text_to_page, self._largest)
        self._sockets = Sockets(self._inbox)
        self._count = 0

    def messages(self, now: float, *, at_once: bool) -> list[PageMessage] | None:
        """Return what has come by sockets; None while something may still come."""
        return self._inbox.take(now, at_once=at_once)

    def answer(self, request: PageRequest, crowded: Callable[[], bool]) -> PageResponse | None:
        """Ask the app; None for what a page does with a socket.

        A request of a script that the app answers only once it has got others, such as a long poll,
        is set aside as soon as others wait for it, and any other one after `PATIENCE`.

        An error of the network is one for the page, too; a page that is to be shown must come.

        Raises:
            PageError: a page can't be had, or what the app sends can't be recorded.
        """
        if request.socket:
            self._relay(request)
            return None
        self._changes += request.method != "GET"
        asked: Future[PageResponse] = Future()

        def ask() -> None:
            try:
                asked.set_result(self._ask(request))
            except Exception as error:  # noqa: BLE001 - raised to whoever waits for it
                asked.set_exception(error)

        # In a thread, as the app may answer this one only once it has got others.
        threading.Thread(target=ask, daemon=True).start()
        place, began = (request.method, urlsplit(request.url).path), time.monotonic()
        patience = SILENCE if place in self._polls else PATIENCE
        scripted = request.kind in ("XHR", "Fetch")
        while not wait([asked], POLL).done:
            passed = time.monotonic() - began
            if request.leads and passed > PATIENCE:
                raise self._unanswered(request, f"not within {PATIENCE:g} seconds")
            if passed > patience or (scripted and passed > CROWDED and crowded()):
                return self._set_aside(asked, place, patience - passed)
        self._inbox.stir()
        return asked.result()

    def _set_aside(
        self, asked: Future[PageResponse], place: tuple[str, str], left: float
    ) -> PageResponse:
        """Have an answer come later, for which `left` seconds are left."""
        inbox, socket, changes = self._inbox, self._number(), self._changes

        def come(_: object) -> None:
            # Answered once something had changed: a long poll, which the next time is set aside at
            # once.
            if self._changes > changes:
                self._polls.add(place)
            if error := asked.exception():
                inbox.error = error
            elif (answer := asked.result()).status == REFUSED:
                inbox.put(socket, "error", remark=answer.remark)
            else:
                inbox.put(socket, "answer", response=answer)
            inbox.close(socket)

        if left <= 0:
            self._polls.add(place)
        inbox.expect(socket, max(left, SILENCE))
        asked.add_done_callback(come)
        return PageResponse(0, socket=socket)

    def _number(self) -> int:
        # Below 0, as sockets have the numbers above it.
        self._count -= 1
        return self._count

    def _relay(self, request: PageRequest) -> None:
        sockets, socket = self._sockets, request.socket
        match request.method:
            case "OPEN" if request.kind == "WebSocket":
                place = self._place(replace(request, url=f"http{request.url[2:]}"))
                sockets.open(socket, *place)
            case "OPEN":
                sockets.stream(socket, partial(self._urlopen, replace(request, method="GET")))
            case "SEND" if request.headers:
                sockets.send(socket, self._to_app(request.body.decode()))
            case "SEND":
                sockets.send(socket, request.body)
            case "CLOSE":
                sockets.close(socket, int(request.headers.get("Code", 1000)), request.body.decode())
            case _:
                sockets.leave(socket)

    def _place(self, request: PageRequest) -> tuple[str, str, dict[str, str]]:
        """Address, path and headers of a request in the app."""
        origin = url_origin(request.url)
        address = self._addresses[origin]
        headers = {
            name: self._to_app(value)
            for name, value in request.headers.items()
            if name.lower() not in PLACE
        }
        path = self._to_app(request.url[len(origin) :], quoted=True)
        if not any(name.lower() == "authorization" for name in headers):
            headers |= self._users[address]
        return address, path, headers

    def _urlopen(self, request: PageRequest) -> BaseHTTPResponse:
        address, path, headers = self._place(request)
        content, body = request.content_type, request.body
        if TEXT.search(content) or "form-data" in content:
            # Bytes that are not UTF-8 go on as they are.
            text = body.decode("utf-8", "surrogateescape")
            told = self._to_app(text, quoted="urlencoded" in content)
            body = told.encode("utf-8", "surrogateescape")
        with self._bypass_vcr():
            return self._pool.urlopen(
                request.method,
                address + path,
                body=body or None,
                headers=headers | {"Host": urlsplit(address).netloc, "Accept-Encoding": "gzip"},
                redirect=False,
                preload_content=False,
            )

    def _ask(self, request: PageRequest) -> PageResponse:
        try:
            found = self._urlopen(request)
            answer = PageResponse(found.status, phrase=_unusual_phrase(found))
            kept = [(k, v) for k, v in found.headers.items() if k.lower() not in PLACE]
            comes = request.kind == "Fetch" and STREAMED.search(
                found.headers.get("content-type", "")
            )
            if comes:
                socket = self._number()
                self._sockets.pass_on(socket, found)
                return self._for_page(request, replace(answer, headers=kept, socket=socket))
            _check_coding(found, request)
            body = self._read_body(found, request)
            kept += [(k, v) for k, v in found.headers.items() if k.lower() == LENGTH]
        except HTTPError as error:
            if request.leads:
                raise self._unanswered(request, error) from None
            reason = error.args[-1] if error.args else error
            return PageResponse(REFUSED, remark=f"{request} was {NETWORK_ERROR}: {reason}")
        date = found.headers.get("date", "") if request.kind == "Document" else ""
        remark = _apart(date, self._clock)
        return self._for_page(request, replace(answer, headers=kept, body=body, remark=remark))

    def _unanswered(self, request: PageRequest, why: object) -> PageError:
        return PageError(
            f"the app at {self._place(request)[0]} does not answer {request}: {why}. Does it "
            f"run? AppTask {self._task.name!r} names it by app={self._task.app!r}"
        )

    def _read_body(self, found: BaseHTTPResponse, request: PageRequest) -> bytes:
        parts, size = [], 0
        while part := found.read(PART):
            parts.append(part)
            size += len(part)
            if size > self._largest:
                found.close()
                raise TooLarge(f"{request} got {too_large(self._largest)}")
        return b"".join(parts)

    def _for_page(self, request: PageRequest, found: PageResponse) -> PageResponse:
        content, body = found.header("content-type"), found.body
        if found.is_text:
            charset = find_charset(content, body)
            text = body.decode(charset, "surrogateescape")
            told = self._text_to_page(text)
            if "html" in content:
                told = _INTEGRITY.sub(r"\1", told)
                told = _IMPORT_MAP.sub(lambda found: found[0].replace('"integrity"', '""'), told)
            if told != text:
                body = told.encode(charset, "surrogateescape")
        origin = url_origin(request.url)
        own = self._addresses[origin] == origin
        headers = [
            (name, _lasting(name, self._to_page(value), own=own)) for name, value in found.headers
        ]
        if request.method != "HEAD":  # as it is here: unpacked, and with other addresses
            size = str(len(body))
            headers = [(k, size if k.lower() == LENGTH else v) for k, v in headers]
        return replace(found, headers=tuple(headers), body=body)

    def _to_app(self, text: str, *, quoted: bool = False) -> str:
        for secret, stand_in in reversed(self._secrets.items()):  # 10 before 1
            text = text.replace(stand_in, quote(secret, safe="") if quoted else secret)
        return self._names_to_app.replaced(text)

    def _to_page(self, text: str) -> str:
        text = self._names_to_page.replaced(text)
        for pattern in self._task.redact:
            text = re.sub(pattern, self._stand_in, text)
        return text

    def _text_to_page(self, text: str) -> str:
        return self._task.scrubbed(self._to_page(text))

    def _stand_in(self, found: re.Match[str]) -> str:
        return self._secrets.setdefault(found[0], f"redacted-{len(self._secrets) + 1}")

    def close(self) -> None:
        self._sockets.leave_all()
        self._pool.clear()


class _Names:
    """Other names of hosts and origins, in text and addresses; these may be quoted in others."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = {quote(name, safe=""): quote(new, safe="") for name, new in names.items()}
        self._names |= names
        longest_first = map(re.escape, sorted(self._names, key=len, reverse=True))
        # Not within a longer name, nor before another port; a quoted address has %2F, %40 and %3A.
        before, after = r"(?:(?<![\w.-])|(?<=%2F)|(?<=%40))", r"(?![\w-]|\.\w|:\d|%3A\d)"
        self._pattern = re.compile(f"{before}(?:{'|'.join(longest_first)}){after}")

    def replaced(self, text: str) -> str:
        if not self._names:
            return text
        return self._pattern.sub(lambda found: self._names[found[0]], text)


def _apart(date: str, clock: float) -> str:
    """What is said of a header `Date` that is days away from the page's clock."""
    try:
        days = int((parsedate_to_datetime(date).timestamp() - clock) / DAY)
    except (ValueError, OverflowError):
        return ""
    if not days:
        return ""
    apart = f"{counted(abs(days), 'day')} {'ahead of' if days > 0 else 'behind'} the page's"
    return (
        f"by its header Date, the app's clock is {apart}: give the app's time as "
        "AppTask(clock=...); without it, --miniwob-record=all takes the present"
    )


def _unusual_phrase(found: BaseHTTPResponse) -> str:
    phrase = found.reason or ""
    return "" if phrase == responses.get(found.status) or not phrase.isascii() else phrase


def _check_coding(found: BaseHTTPResponse, request: PageRequest) -> None:
    """Raise a `PageError` if nothing here can decompress an answer."""
    for coding in found.headers.get("content-encoding", "").lower().split(","):
        if coding.strip() not in ("", "identity", *found.CONTENT_DECODERS):
            found.close()
            raise PageError(
                f"the app compresses its answer to {request} by {coding.strip()}, which was not "
                "asked for: let it heed Accept-Encoding, or pip install 'urllib3[brotli,zstd]'"
            )


def _lasting(name: str, value: str, *, own: bool) -> str:
    """A header as it holds in a later replay: a cookie that lasts does so as long as the trial.

    Without `own`, the host is this machine and has another name in the browser, where its domain
    would not match.
    """
    if name.lower() != "set-cookie":
        return value
    if not own:
        value = _DOMAIN.sub(lambda found: "" if LOCAL.fullmatch(found[1]) else found[0], value)
    return value if _is_gone(value) else _LASTS.sub("", value)


def _is_gone(cookie: str) -> bool:
    if age := _AGE.search(cookie):
        return int(age[1]) <= 0
    found = _DATE.search(cookie)
    date = parsedate(found[1]) if found else None
    return date is not None and date[:6] <= time.gmtime()[:6]
