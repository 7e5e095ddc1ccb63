"""The sockets of an app's pages, between page (page/sockets.js) and app."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from pytest_miniwob_agent.browser.devtools import Message
from pytest_miniwob_agent.core.app import PageMessage, PageRequest, Source

STREAM = "miniwob-stream"
"""The header of an answer whose parts are messages: their number."""


class Deliveries:
    """What comes for pages later than it was asked for, until the page asks whose it is."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._owners: dict[int, str] = {}  # the sessions of windows, by socket
        self._waiting: list[PageMessage] = []

    def own(self, socket: int, session: str) -> None:
        """Have a window get the messages of a socket."""
        self._owners[socket] = session

    def refuse(self, socket: int) -> None:
        """Have a socket not open."""
        message = {"socket": socket, "fatal": True, "code": 1006, "reason": ""}
        self._waiting += [{**message, "type": "error"}, {**message, "type": "close"}]

    def request_of(self, told: Message, call: Callable[..., Message]) -> PageRequest:
        """Return what a page reports to do with a socket; `call` sends a command."""
        socket, kind, does = told["socket"], told["kind"], told["does"]
        headers, body = {}, b""
        if does == "OPEN":
            self.own(socket, told["session"])
            url = re.sub("^ws", "http", told["url"])
            found = call("Network.getCookies", urls=[url])["cookies"] if told["cookies"] else ()
            headers = {
                "Origin": told["origin"],
                "User-Agent": told["agent"],
                "Cookie": "; ".join(f"{one['name']}={one['value']}" for one in found),
                "Sec-WebSocket-Protocol": told.get("protocols", ""),
                "Last-Event-ID": told.get("last", ""),
                "Accept": "text/event-stream" if kind == "EventSource" else "",
            }
        elif "text" in told:
            headers, body = {"Content-Type": "text/plain"}, told["text"].encode()
        elif "bytes" in told:
            body = base64.b64decode(told["bytes"])
        elif "code" in told:
            headers, body = {"Code": str(told["code"])}, told["reason"].encode()
        headers = {name: value for name, value in headers.items() if value}
        return PageRequest(kind, does, told["url"], headers, body, socket)

    def take(self, now: float, session: str) -> list[PageMessage] | None:
        """Return what has come for an idle window; None while more may come."""
        came = self._source.messages(now)
        if came is None:
            return None
        all_ = [(self._owners.get(one["socket"], session), one) for one in self._waiting + came]
        self._waiting = [message for owner, message in all_ if owner != session]
        return [message for owner, message in all_ if owner == session]
