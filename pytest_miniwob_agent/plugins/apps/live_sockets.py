"""What a running app sends later than it is asked: by sockets and streams."""

from __future__ import annotations

import base64
import re
import ssl
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.frames import CloseCode
from websockets.sync.client import ClientConnection, connect

from pytest_miniwob_agent.connections import for_threads, trusting
from pytest_miniwob_agent.core.app import PageMessage
from pytest_miniwob_agent.core.errors import PageError

SILENCE = 0.3
"""Wall-clock seconds without a message after which a recording expects no more, and goes on."""

STALLED = 2.0
"""The same for an answer that comes in parts."""

LONGEST = 3.0
"""Wall-clock seconds, while the page's clock stands still, that a socket which is never silent is
waited for."""

LONGEST_ANSWER = 60.0
"""The same for an answer that comes in parts."""

CONNECTING = 10.0
"""Wall-clock seconds that a socket may take to open."""

CLOSING = 2.0
"""Wall-clock seconds that an app may take to close a socket that the page has closed."""

NETWORK_ERROR = "a network error for the page, as the app did not answer in full"
"""What is said of an answer that was not to be had, with the reason."""

GOING_AWAY = 1001
"""The code of a socket that is closed as its page is left."""


class TooLarge(PageError):
    """An app sends more bytes than a recording takes."""


def too_large(largest: int) -> str:
    """Return the error for more bytes than a recording takes."""
    return (
        f"more bytes than a recording takes ({largest:,}): let the task do without it, or give "
        "--miniwob-max-answer"
    )


class Inbox:
    """What has come for the page, and until when more is waited for; any thread may use it.

    Args:
        to_page: rewrites a string for the page.
        largest: bytes that can be recorded in a trial.

    Attributes:
        error: what went wrong as the app's messages were read.
    """

    def __init__(self, to_page: Callable[[str], str], largest: int) -> None:
        self._to_page, self.largest = to_page, largest
        self._left = largest
        self._now = -1.0  # the page's clock
        self._moved = time.monotonic()  # since when that stands still
        self._over = -1.0  # what that was as all was taken that is waited for at most
        self._lock = threading.Lock()
        self._came: list[PageMessage] = []
        self.error: BaseException | None = None
        # By socket, as long as it is open: until when it is waited for now, and at most.
        self._until: dict[int, tuple[float, float]] = {}

    def expect(self, socket: int, seconds: float, longest: float = LONGEST) -> None:
        """Wait so long for the next message of a socket, and so long for those that follow."""
        with self._lock:
            end = time.monotonic() + seconds
            self._until[socket] = end, end + longest

    def stir(self) -> None:
        """Wait for what all sockets may send, as the app was asked something."""
        with self._lock:
            for socket, (end, most) in self._until.items():
                most = max(most, self._moved + LONGEST)
                self._until[socket] = max(end, min(time.monotonic() + SILENCE, most)), most

    def put(self, socket: int, type_: str, silence: float = SILENCE, **more: object) -> None:
        """Add a message of a socket that is open; strings are rewritten. Raises a `TooLarge`."""
        data = more.get("data")
        self._left -= len(data) if isinstance(data, str | bytes) else 0
        if self._left < 0:
            raise TooLarge(f"by sockets and streams came {too_large(self.largest)}")
        if isinstance(data, bytes):
            more |= {"data": base64.b64encode(data).decode(), "binary": True}
        elif isinstance(data, str):
            more["data"] = self._to_page(data)
        with self._lock:
            if socket in self._until:
                self._came.append({"socket": socket, "type": type_, **more})
                now, most = time.monotonic(), self._until[socket][1]
                # To connect does not count for `LONGEST`.
                most = now + LONGEST if type_ == "open" else most
                self._until[socket] = min(now + silence, most), most

    def close(self, socket: int) -> None:
        """Wait for nothing more of a socket."""
        with self._lock:
            self._until.pop(socket, None)

    def take(self, now: float, *, at_once: bool = False) -> list[PageMessage] | None:
        """Return all that has come, by socket, once nothing more is waited for; None until then.

        Args:
            now: the page's clock.
            at_once: True to wait for nothing.
        """
        if self.error is not None:
            what = f"{type(self.error).__name__}: {self.error}"
            raise PageError(f"a message of the app can't be delivered: {what}")
        with self._lock:
            real = time.monotonic()
            if now != self._now:
                self._now, self._moved = now, real
            if not at_once and any(end > real for end, _ in self._until.values()):
                return None
            longest = max((most for _, most in self._until.values()), default=real)
            over = real > max(longest, self._moved + LONGEST)
            if over and self._over == now and not at_once:
                return []  # a page that asks at each message would hold its clock for ever
            self._over = now if over else -1.0
            came, self._came = self._came, []
            # In this order, as that of different sockets differs at every run.
            return sorted(came, key=lambda message: abs(message["socket"]))


class Sockets:
    """The app's ends of the sockets of a trial, each read by a thread of its own."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._ends: dict[int, ClientConnection | BaseHTTPResponse] = {}

    def open(self, socket: int, address: str, path: str, headers: dict[str, str]) -> None:
        self._inbox.expect(socket, CONNECTING)
        self._run(socket, self._read_socket, f"ws{address.removeprefix('http')}{path}", headers)

    def stream(self, socket: int, ask: Callable[[], BaseHTTPResponse]) -> None:
        """Have an event source get the events of an answer."""
        self._inbox.expect(socket, CONNECTING)
        self._run(socket, self._read_events, ask)

    def pass_on(self, socket: int, found: BaseHTTPResponse) -> None:
        """Have a page get an answer in parts, as they come."""
        self._inbox.expect(socket, STALLED, LONGEST_ANSWER)
        self._run(socket, self._read_parts, found)

    def send(self, socket: int, data: str | bytes) -> None:
        self._inbox.stir()
        end = self._ends.get(socket)
        with suppress(ConnectionClosed):
            if isinstance(end, ClientConnection):
                end.send(data)

    def close(self, socket: int, code: int, reason: str) -> None:
        """Close a socket: the app then closes it too, and the page is told."""
        self._inbox.expect(socket, CLOSING)
        end = self._ends.get(socket)
        if isinstance(end, ClientConnection):
            end.close(code, reason)
        else:
            self.leave(socket)

    def leave(self, socket: int) -> None:
        """Close a socket that the page no longer listens to."""
        self._inbox.close(socket)
        end = self._ends.pop(socket, None)
        if isinstance(end, ClientConnection):
            end.close(GOING_AWAY)
        elif end is not None:
            with suppress(RuntimeError, ValueError):  # it ends anyway, or has ended
                end.shutdown()

    def leave_all(self) -> None:
        for socket in list(self._ends):
            self.leave(socket)

    def _run(self, socket: int, read: Callable[..., None], *values: Any) -> None:
        def run() -> None:
            try:
                read(socket, *values)
            except Exception as error:  # noqa: BLE001 - such as one of the task's `scrub`
                self._inbox.error = error
                if end := self._ends.get(socket):
                    end.close()  # nobody reads on
            self._inbox.close(socket)
            self._ends.pop(socket, None)

        threading.Thread(target=run, daemon=True).start()

    def _read_socket(self, socket: int, url: str, headers: dict[str, str]) -> None:
        put = partial(self._inbox.put, socket)
        protocols = headers.pop("Sec-WebSocket-Protocol", "")
        context = None
        if url.startswith("wss:"):
            host = urlsplit(url).hostname or ""
            context = for_threads(trusting(host) or ssl.create_default_context())
        given: dict[str, Any] = {
            "origin": headers.pop("Origin"),
            "subprotocols": protocols.split(",") if protocols else None,
            "additional_headers": headers,
            "open_timeout": CONNECTING,
            "close_timeout": CLOSING,
            "max_size": self._inbox.largest,
            "proxy": None,
            "user_agent_header": None,
            "ssl": context,
        }
        code, reason = 1006, ""  # closed without a closing handshake (RFC 6455, 7.4.1)
        with (
            suppress(OSError, WebSocketException),
            connect(url, **given) as end,
        ):
            self._ends[socket] = end
            put("open", protocol=end.subprotocol or "")
            try:
                for data in end:
                    put("message", data=data)
            except ConnectionClosed as error:
                if error.sent and error.sent.code == CloseCode.MESSAGE_TOO_BIG:
                    raise TooLarge(f"a message has {too_large(self._inbox.largest)}") from None
            code, reason = end.close_code or code, end.close_reason or ""
        if code == 1006:
            put("error")
        put("close", code=code, reason=reason)

    def _read_events(self, socket: int, ask: Callable[[], BaseHTTPResponse]) -> None:
        put = partial(self._inbox.put, socket)
        fatal = False
        try:
            self._ends[socket] = found = ask()
            fatal = found.status != 200 or "text/event-stream" not in found.headers["content-type"]
            if not fatal:
                put("open")
                for event in events(blocks(found, self._inbox.largest)):
                    put(**event)
        except (HTTPError, LookupError):
            pass
        put("error", fatal=fatal)

    def _read_parts(self, socket: int, found: BaseHTTPResponse) -> None:
        put = partial(self._inbox.put, socket, silence=STALLED)
        self._ends[socket] = found
        try:
            for block in blocks(found, self._inbox.largest):
                try:
                    put("message", data=block.decode())
                except UnicodeDecodeError:
                    put("message", data=block)
            put("close")
        except HTTPError as error:
            put("error", remark=f"a stream was {NETWORK_ERROR}: {error.args[-1]}")


def blocks(found: BaseHTTPResponse, largest: int) -> Iterator[bytes]:
    """The body of an answer as it comes, in whole lines; raises a `TooLarge`."""
    left = b""
    while part := found.read1():
        whole, end, left = (left + part).rpartition(b"\n")
        if len(left) > largest:
            raise TooLarge(f"a line of a stream has {too_large(largest)}")
        if end:
            yield whole + end
    if left:
        yield left


def events(parts: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The messages of an event stream
    (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
    """
    data: list[str] = []
    event: dict[str, Any] = {}
    decode = getincrementaldecoder("utf-8-sig")("replace").decode
    for part in parts:
        for line in re.split("\r\n|\r|\n", decode(part))[:-1]:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match name:
                case "data":
                    data.append(value)
                case "event":
                    event["name"] = value or "message"
                case "id":
                    event["last"] = value
                case "retry" if value.isdecimal():
                    event["retry"] = int(value)
            if not line and (data or event):
                kind = {"type_": "message", "data": "\n".join(data)} if data else {"type_": "retry"}
                yield {"name": "message", **event, **kind}
                data, event = [], {}
