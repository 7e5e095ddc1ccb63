"""What a gate is made of: commands by which it gets requests, what these say, and their order; and
the sockets of an app's pages, between page (page/sockets.js) and app.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from http.client import responses
from typing import Any
from urllib.parse import urljoin

from pytest_miniwob_agent.browser.devtools import Command, Message
from pytest_miniwob_agent.browser.page import BINDING, WORLD, worker_script
from pytest_miniwob_agent.core.app import (
    PageMessage,
    PageRequest,
    PageResponse,
    Source,
    file_name,
)

ATTACHING = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}

WINDOWS = {**ATTACHING, "filter": [{"type": "page"}, {"type": "shared_worker"}]}
"""How the browser attaches to what a page starts."""

WORKERS = {**ATTACHING, "filter": [{"type": "worker"}]}
"""How a window or worker attaches to workers of its own."""

GATE: tuple[Command, ...] = (
    ("Runtime.enable", {}),
    ("Runtime.addBinding", {"name": BINDING, "executionContextName": WORLD}),
    ("Network.enable", {"maxPostDataSize": 0}),
    ("Network.setCacheDisabled", {"cacheDisabled": True}),
    ("Network.setBypassServiceWorker", {"bypass": True}),
    ("Fetch.enable", {}),
    ("Target.setAutoAttach", WORKERS),
)  # fmt: skip

OPEN: tuple[Command, ...] = (
    ("Target.setAutoAttach", {**WORKERS, "autoAttach": False}),
    ("Fetch.disable", {}),
    ("Network.setBypassServiceWorker", {"bypass": False}),
    ("Network.setCacheDisabled", {"cacheDisabled": False}),
    ("Network.disable", {}),
    ("Runtime.removeBinding", {"name": BINDING}),
)  # fmt: skip


def worker_commands(now: float, random: int | None) -> tuple[Command, ...]:
    """The commands for a worker, before it runs: its clock is at `now`, in ms since 1970.

    Its random numbers are those of `worker_script`.
    """
    return (
        ("Network.enable", {"maxPostDataSize": 0}),
        ("Fetch.enable", {}),  # of a shared one; the window has the requests of others
        ("Target.setAutoAttach", WORKERS),
        ("Runtime.evaluate", {"expression": worker_script(now, random)}),
    )


ORDERED = frozenset(("Script", "XHR", "Fetch", "EventSource"))
"""Kinds of answers that run scripts as they arrive: the next answer waits for that."""

COUNTED = frozenset(("Document", *ORDERED))
"""Kinds of requests that the page's clock waits for: no icon, for which a browser asks any time."""

SCRIPTED = frozenset(("XHR", "Fetch", "Ping"))
"""Kinds of requests that a task of your own pages may answer, by `task.api`."""

BLOCKING = "VeryHigh"
"""The priority of a request that a page or worker waits for, so that it can do nothing else."""


def is_blocking(paused: Message) -> bool:
    """True if a page or worker evaluates nothing until a paused request is answered."""
    priority = paused["request"].get("initialPriority")
    return bool(priority == BLOCKING and paused["resourceType"] != "Stylesheet")


def made_request(paused: Message, kind: str, leads: bool) -> PageRequest:
    """The request of a kind that is paused."""
    request = paused["request"]
    entries = request.get("postDataEntries", ())
    body = b"".join(base64.b64decode(entry.get("bytes", "")) for entry in entries)
    return PageRequest(
        kind, request["method"], request["url"], request["headers"], body, leads=leads
    )


def fulfilling(paused: Message, answer: PageResponse) -> dict[str, Any]:
    """The parameters of `Fetch.fulfillRequest` for an answer."""
    # As bytes, which `responseHeaders` would make UTF-8 of.
    headers = "\0".join(f"{name}: {value}" for name, value in answer.headers)
    return {
        "requestId": paused["requestId"],
        "responseCode": answer.status,
        # Without one, Chromium leaves a request open if it has no phrase for the status.
        "responsePhrase": answer.phrase or responses.get(answer.status, "Unnamed"),
        "binaryResponseHeaders": base64.b64encode(headers.encode("latin-1", "replace")).decode(),
        "body": base64.b64encode(answer.body).decode(),
    }


CLEARED = {
    "cookies": "cookies",
    "storage": "local_storage,indexeddb,cache_storage,service_workers,file_systems",
}
"""What an answer may clear by its header `Clear-Site-Data`, and the browser's names for it."""


def cleared_by(answer: PageResponse) -> str:
    """What is to be cleared as an answer comes, by the browser's names."""
    asked = answer.header("clear-site-data")
    return ",".join(CLEARED[one] for one in CLEARED if f'"{one}"' in asked or '"*"' in asked)


HANDED = "miniwob-agent"
"""The entry of `Server-Timing` by which a document gets what the page before it has handed over
(page/trial.js)."""


def handing(headers: Iterable[tuple[str, str]], handed: str) -> list[tuple[str, str]]:
    """The headers of a document with what is handed over to it, and no other such entry."""
    others = [(name, value) for name, value in headers if HANDED not in value]
    return [*others, ("Server-Timing", f'{HANDED};desc="{handed}"')]


EMPTY = (204, 205)
"""Statuses of answers after which the page stays."""

REDIRECTS = (301, 302, 303, 307, 308)
"""Statuses of answers that lead to the address in their header `Location`."""


def is_redirect(answer: PageResponse) -> bool:
    """True if an answer leads to another address; without one it is shown."""
    return answer.status in REDIRECTS and bool(answer.header("location"))


def leads_astray(url: str, answer: PageResponse) -> bool:
    """True if the answer of an address leads to what is no address."""
    try:
        urljoin(url, answer.header("location"))
    except ValueError:
        return is_redirect(answer)
    return False


SHOWN = re.compile(r"^$|text/|image/|audio/|video/|json|xml", re.IGNORECASE)
"""Media types that a window shows; it downloads anything else."""


def is_download(answer: PageResponse) -> bool:
    """True if a window downloads an answer, and does not show it."""
    attached = "attachment" in answer.header("content-disposition")
    shown = not attached and SHOWN.search(answer.header("content-type"))
    return answer.status < 300 and not shown


def window_download(url: str, answer: PageResponse) -> tuple[str, str]:
    """The name and the digest of an answer that a window downloads."""
    name = file_name(url, answer.header("content-disposition"))
    return name, hashlib.sha256(answer.body).hexdigest()


def script_download(told: Message) -> tuple[str, str]:
    """The name and the digest of what a script or link of a page downloads (page/network.js)."""
    answer = PageResponse(200, [], base64.b64decode(told["body"]))
    name, digest = window_download(told["download"], answer)
    return told["name"] or name, digest


def for_task(request: PageRequest) -> str:
    """A request for the page's own task, in JSON (page/requests.js), whatever the browser is."""
    named = {name.lower(): value for name, value in request.headers.items()}
    headers = {k: v for k, v in named.items() if not k.startswith(("sec-", "user-agent"))}
    body = base64.b64encode(request.body).decode()
    given = {"method": request.method, "url": request.url, "headers": headers, "body": body}
    return json.dumps(given)


def said_by_task(said: Message, request: PageRequest) -> PageResponse:
    """The answer of the page's own task, which a script of any origin may read."""
    headers = [(name, value) for name, value in said["headers"]]
    answer = PageResponse(said["status"], headers, base64.b64decode(said["body"]))
    return for_any_origin(answer, request)


def for_any_origin(answer: PageResponse, request: PageRequest) -> PageResponse:
    """An answer that a script may read, whatever origin it has asked."""
    origin = request.headers.get("Origin", "")
    if not origin or request.url.startswith(f"{origin}/"):
        return answer
    allowed = {
        "Allow-Origin": origin,
        "Allow-Credentials": "true",
        "Allow-Methods": request.headers.get("Access-Control-Request-Method", ""),
        "Allow-Headers": request.headers.get("Access-Control-Request-Headers", ""),
        "Expose-Headers": ", ".join(name for name, _ in answer.headers),
    }
    headers = [(f"Access-Control-{name}", value) for name, value in allowed.items()]
    return replace(answer, headers=[*answer.headers, *headers])


DELAYABLE = ("Medium", "Low", "VeryLow")
"""Priorities of requests that Chromium announces, and may hold back until others have ended."""

FLYING = 2
"""It holds them back while that many are under way and the head is read (ResourceLoadScheduler)."""

ANNOUNCED = 0.2
"""Wall-clock seconds to wait for the event that tells the order of a request that is paused
already."""

SCRIPT = 10.0
"""Wall-clock seconds to wait for it if a script may run on, and for the end of a script."""


class UnderWay:
    """Requests from their announcement to their end, by network ids; their user holds a lock.

    Attributes:
        paused: those that are paused, as the domain Fetch describes them.
        open: kinds of those that have no end yet.
    """

    def __init__(self) -> None:
        self._order: list[str] = []  # those that are not answered, as made
        self._announced: dict[str, Message] = {}  # as the domain Network describes them
        self._early: set[str] = set()  # those that were taken before their announcement
        self._given_up: set[str] = set()
        self._settled: set[str] = set()  # those whose scripts have been waited for
        self.paused: dict[str, Message] = {}
        self.open: dict[str, str] = {}

    def announce(self, event: Message, kind: str) -> None:
        """Take note that a request is made; also of one that is redirected."""
        id_ = event["requestId"]
        if id_ in self._early:
            self._early.remove(id_)
            return
        self._announced[id_] = event
        if id_ not in self._order:
            self._order.append(id_)
        self.open[id_] = kind

    def pause(self, event: Message) -> None:
        id_ = event.get("networkId") or event["requestId"]
        if id_ not in self._given_up:
            self.paused[id_] = event

    def give_up(self, id_: str) -> None:
        """Take note that a page gives up a request; what it asks for as it leaves goes on."""
        made = self._announced.get(id_, {})
        shown = self.documents(made.get("frameId", ""))
        if all(document == made["loaderId"] for document in shown):
            self._given_up.add(id_)
            self.paused.pop(id_, None)

    def end(self, id_: str) -> None:
        """Take note that a request has ended, or that its answer comes later, or never."""
        self.open.pop(id_, None)

    def documents(self, frame: str) -> list[str]:
        """The documents of a frame that are answered, and have no end yet."""
        ids = [id_ for id_, kind in self.open.items() if kind == "Document"]
        ids = [id_ for id_ in ids if id_ not in self._order]
        return [id_ for id_ in ids if self._announced[id_].get("frameId") == frame]

    def document(self, id_: str) -> Message | None:
        """The request for a document by its id; None for others."""
        return self._announced.get(id_) if self.open.get(id_) == "Document" else None

    def leads_in(self, frame: str) -> bool:
        """True if a document of a frame is asked for, or comes."""
        ids = [id_ for id_, kind in self.open.items() if kind == "Document"]
        events = [*(self._announced[id_] for id_ in ids), *self.paused.values()]
        return any(event.get("frameId") == frame for event in events)

    @property
    def blocking(self) -> bool:
        """True if a page or worker waits for one that is paused."""
        return any(map(is_blocking, self.paused.values()))

    @property
    def patience(self) -> float:
        """Wall-clock seconds to wait until paused ones are announced.

        A script that asks for them may run on; icons and the like may never be announced.
        """
        kinds = [one["resourceType"] for id_, one in self.paused.items() if id_ not in self._order]
        return SCRIPT if any(kind != "Other" for kind in kinds) else ANNOUNCED

    def unsettled(self) -> str:
        """The session whose script has made the first request, if that may not have ended yet.

        Each request has it named once.
        """
        id_ = self.next()
        if id_ in self._settled or self.paused.get(id_, {}).get("resourceType") != "XHR":
            return ""
        session: str = self._announced[id_]["session"]
        made = (one for one in self._order if self._announced[one]["session"] == session)
        self._settled.update(made)
        return session

    def take(self) -> Message:
        """Return the request to answer next; there is one that is paused."""
        id_ = self.next() or next(iter(self.paused))
        if id_ in self._order:
            self._order.remove(id_)
        else:
            self._early.add(id_)
        return self.paused.pop(id_)

    def next(self) -> str:
        """The first request that was made, if it is paused; else empty.

        Those that Chromium holds back don't count.
        """
        flying = sum(
            kind != "Document" and (id_ in self.paused or id_ not in self._order)
            for id_, kind in self.open.items()
        )
        for id_ in self._order:
            if id_ in self.paused:
                return id_
            delayable = self._announced[id_]["request"].get("initialPriority") in DELAYABLE
            if id_ in self.open and not (delayable and flying >= FLYING):
                break
        return ""


STREAM = "miniwob-stream"
"""The header of an answer whose parts are messages: their number."""


class Deliveries:
    """What comes for pages later than it was asked for, until the page asks whose it is."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._owners: dict[int, str] = {}  # the sessions of windows, by socket
        self._waiting: list[PageMessage] = []

    def own(self, socket: int, session: str) -> None:
        self._owners[socket] = session

    def refuse(self, socket: int) -> None:
        message = {"socket": socket, "fatal": True, "code": 1006, "reason": ""}
        self._waiting += [{**message, "type": "error"}, {**message, "type": "close"}]

    def parse_request(self, told: Message, call: Callable[..., Message]) -> PageRequest:
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
