"""All requests of an app's pages, answered here: nothing of them goes to the network.

Requests are paused by CDP's Fetch domain, and fulfilled in the order in which the page made them,
live and replayed alike. Scripts and answers to scripts come one at a time, each once the one before
has arrived. The page's clock waits until nothing is under way (page/network.js).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http.client import responses
from typing import Any
from urllib.parse import quote

from selenium.common.exceptions import WebDriverException

from pytest_miniwob_agent.browser.devtools import Command, DevTools, Message
from pytest_miniwob_agent.browser.gate_commands import GATE, OPEN, WINDOWS, worker_commands
from pytest_miniwob_agent.browser.page import BINDING
from pytest_miniwob_agent.browser.sockets import STREAM, Deliveries
from pytest_miniwob_agent.core.app import (
    App,
    PageMessage,
    PageRequest,
    PageResponse,
    file_name,
    without_refresh,
)
from pytest_miniwob_agent.core.errors import MiniwobError, PageError

ORDERED = frozenset(("Script", "XHR", "Fetch", "EventSource"))
"""Kinds of answers that run scripts as they arrive: the next answer waits for that."""

COUNTED = frozenset(("Document", *ORDERED))
"""Kinds of requests that the page's clock waits for: no icon, for which a browser asks any time."""

ARRIVAL = 1.0
"""Real seconds that an answer may take from here to the page."""

ANNOUNCED = 0.2
"""Real seconds to wait for the event that tells the order of a request which is paused already."""

DELAYABLE = ("Medium", "Low", "VeryLow")
"""Priorities of requests that Chromium announces, and may hold back until others have ended."""

FLYING = 2
"""It holds them back while so many are under way and the head is read (ResourceLoadScheduler)."""

POLL = 0.02
"""Real seconds between two questions whether the app may still send something."""

SHOWN = re.compile(r"^$|text/|image/|audio/|video/|json|xml", re.IGNORECASE)
"""Media types that a window shows; it downloads anything else."""

EMPTY = (204, 205)
"""Statuses of answers after which the page stays."""


class Gate:
    """The requests of the pages of a window, from `GATE` to `close`.

    Args:
        devtools: the window.
        prepare: commands for each window that its pages open.
        app: answers, in a thread.
        step: the number of actions so far.
        now: the page's clock at the beginning of the trial, in milliseconds since 1970.

    Attributes:
        error: the first error of the app.
        remarks: what the author of the task should know.
        downloads: the digests of downloaded files, by their names.
    """

    def __init__(
        self,
        devtools: DevTools,
        prepare: Sequence[Command],
        app: App,
        step: Callable[[], int],
        now: float,
    ) -> None:
        self._devtools, self._prepare = devtools, prepare
        self._app, self._step, self._now = app, step, now
        self._changed = threading.Condition()
        self._order: list[str] = []  # network ids of requests that are not answered, as made
        self._paused: dict[str, Message] = {}  # by network id
        self._open: dict[str, str] = {}  # kinds of requests without an end, by network id
        self._delayable: set[str] = set()  # network ids of requests of lower priority
        self._arrived: set[str] = set()  # network ids of requests that have ended
        # Of pages: number, context, session, and the time of the page's clock.
        self._questions: list[tuple[int, int, str, float]] = []
        self._deliveries = Deliveries(app)
        self._heard: deque[Message] = deque()  # what pages do with sockets
        self._aside: dict[int, Message] = {}  # paused requests that are answered later, by number
        self._late: deque[PageMessage] = deque()  # answers to them
        self._count = 0  # of counted requests
        self._answering = self._closed = False
        self._handed: dict[str, str] = {}  # by session: what its page hands over to the next one
        self.entered: set[str] = set()  # sessions whose window has shown a page of the app
        self._blank: dict[str, str] = {}  # those of new windows of a program, by their targets
        self.error: MiniwobError | None = None
        self.remarks: list[str] = []
        self.downloads: dict[str, str] = {}
        for event, handle in {
            "Fetch.requestPaused": self._pause,
            "Network.requestWillBeSent": self._announce,
            "Network.loadingFinished": self._end,
            "Network.loadingFailed": self._end,
            "Runtime.bindingCalled": self._hear,
            "Target.attachedToTarget": self._enter,
        }.items():
            devtools.on(event, handle)
        devtools.send(*GATE)
        # It stays, as without it Chromium would forget what else is attached to the window.
        self._call("Target.setAutoAttach", "", **WINDOWS)
        self._worker = threading.Thread(target=self._work, daemon=True)
        self._worker.start()

    @property
    def busy(self) -> bool:
        """True while something is waited for that the app sends: the page can't answer."""
        return self._answering or bool(self._questions and self._quiet)

    def close(self) -> None:
        """Let go of the window, in any state."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with suppress(WebDriverException):
            self._devtools.send(*OPEN)
        self._worker.join()

    def remark(self, text: str) -> None:
        """Tell the author of the task something, once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def _call(self, method: str, session: str, **params: Any) -> Message:
        """Send a command by a session, or to the browser itself, whatever the page does then."""
        devtools = self._devtools
        sent = devtools.begin(method, params, session)
        with devtools.changed:
            devtools.changed.wait_for(lambda: sent.answer or devtools.lost, devtools.timeout)
        if "result" not in sent.answer:
            raise WebDriverException(f"{method}: {sent.answer.get('error', devtools.lost)}")
        result: Message = sent.answer["result"]
        return result

    # Events, in the thread that reads what the browser sends.

    def _enter(self, event: Message) -> None:
        """Prepare a window or worker that a page has started, before anything runs in it."""
        session, target = event["sessionId"], event["targetInfo"]
        window = target["type"] == "page"
        if window and event["session"]:
            return
        if any(target["targetId"] == known for _, known in self._devtools.opened):
            self._devtools.begin("Target.detachFromTarget", {"sessionId": session}, "")
            return
        commands = (*self._prepare, *GATE) if window else worker_commands(self._now)
        prepare = () if self._closed else commands
        for method, params in (*prepare, ("Runtime.runIfWaitingForDebugger", {})):
            self._devtools.begin(method, params, session)
        if window and "openerId" not in target:
            self._blank[target["targetId"]] = session
        elif window and not self._closed:
            self._devtools.opened.append((session, target["targetId"]))

    def _announce(self, event: Message) -> None:
        id_, kind = event["requestId"], event.get("type", "Other")
        if kind == "Fetch" and all(event["session"] != one for one, _ in self._devtools.opened):
            kind = "XHR"  # a worker's, which gets its answer as a whole
        if not event["request"]["url"].startswith("http"):
            return
        with self._changed:
            self._arrived.discard(id_)
            if id_ not in self._order:
                self._order.append(id_)
            self._count += kind in COUNTED
            self._open[id_] = kind
            if event["request"].get("initialPriority") in DELAYABLE:
                self._delayable.add(id_)
            self._changed.notify_all()

    def _pause(self, event: Message) -> None:
        id_ = event.get("networkId") or event["requestId"]
        with self._changed:
            self._paused[id_] = event
            self._changed.notify_all()

    def _end(self, event: Message) -> None:
        self._finish(event["requestId"])

    def _finish(self, id_: str) -> None:
        with self._changed:
            self._open.pop(id_, None)
            self._arrived.add(id_)
            if id_ not in self._paused and id_ in self._order:
                self._order.remove(id_)  # it was given up before it was paused
            self._tell()
            self._changed.notify_all()

    def _hear(self, event: Message) -> None:
        if event["name"] != BINDING:
            return
        told = json.loads(event["payload"])
        with self._changed:
            if "ask" in told:
                context, self._now = event["executionContextId"], told["now"]
                self._questions.append((told["ask"], context, event["session"], told["now"]))
            elif "socket" in told:
                self._heard.append(told | {"session": event["session"]})
            elif "download" in told:
                self.downloads |= [told["download"]]
            else:
                self._handed[event["session"]] = told["handed"]
            self._tell()
            self._changed.notify_all()

    @property
    def _quiet(self) -> bool:
        waits = any(kind in COUNTED for kind in self._open.values())
        return not (self._answering or self._paused or self._heard or self._late or waits)

    def _tell(self) -> None:
        """Answer the page's questions when nothing is under way, with what has come for sockets."""
        while self._questions and self._quiet:
            question, context, session, now = self._questions[0]
            try:
                came = self._deliveries.take(now, session)
            except MiniwobError as error:
                self.error, came = self.error or error, []
            if came is None:
                return  # it is asked again
            del self._questions[0]
            late = [message for message in came if message["socket"] in self._aside]
            self._late += late
            self._count += len(late)
            told = json.dumps([message for message in came if message not in late])
            expression = f"miniwobAgent.told({question}, {self._count}, {told})"
            ask = {"expression": expression, "contextId": context, "silent": True}
            self._devtools.begin("Runtime.evaluate", ask, session)

    # Answers, in a thread of their own.

    def _work(self) -> None:
        while True:
            with self._changed:
                while (job := self._job()) is None and not self._closed:
                    self._changed.wait(POLL if self._questions else None)
                    self._tell()
                if job is None:
                    return
                self._answering = True
            try:
                job()
            except WebDriverException:
                pass  # the page has gone, or the browser
            finally:
                with self._changed:
                    self._answering = False
                    self._tell()

    def _job(self) -> Callable[[], None] | None:
        """What is to be done next; None if there is nothing, or the gate is closed."""
        if self._heard:
            return partial(self._relay, self._heard.popleft())
        if self._late:
            return partial(self._answer_late, self._late.popleft())
        if self._paused and not self._next():
            self._changed.wait_for(lambda: self._next() or self._closed, ANNOUNCED)
        if self._closed or not self._paused:
            return None
        id_ = self._next() or next(iter(self._paused))
        paused = self._paused.pop(id_)
        if id_ in self._order:
            self._order.remove(id_)
        return partial(self._handle, paused, paused.get("networkId", ""))

    def _next(self) -> str:
        """The first request that was made, if it is paused; empty if not, or if there is none.

        Those that Chromium holds back don't count.
        """
        flying = sum(
            kind != "Document" and (id_ in self._paused or id_ not in self._order)
            for id_, kind in self._open.items()
        )
        for id_ in self._order:
            if id_ in self._paused:
                return id_
            if id_ in self._open and not (id_ in self._delayable and flying >= FLYING):
                break
        return ""

    def _handle(self, paused: Message, network: str) -> None:
        request, kind = paused["request"], paused["resourceType"]
        asked = PageRequest(
            "Fetch" if self._open.get(network) == "Fetch" else kind,  # the domain Fetch says XHR
            request["method"],
            request["url"],
            request["headers"],
            b"".join(
                base64.b64decode(e.get("bytes", "")) for e in request.get("postDataEntries", ())
            ),
        )
        if session := self._blank.pop(paused["frameId"], ""):
            self._devtools.opened.append((session, paused["frameId"]))
        windows = {target: session for session, target in self._devtools.opened}
        main = kind == "Document" and paused["frameId"] in windows
        if not self._app.allows(asked.url):
            self._refuse(asked.method, asked.url)
            return self._stay(paused, network) if main else self._fail(paused, network, "Failed")
        try:
            answer = self._asked(asked)
        except MiniwobError as error:
            self.error = self.error or error
            return self._fail(paused, network, "Failed")
        if answer is None or not answer.status:
            self.remark(f"{asked} was not waited for, as its answer comes later, or never")
            with self._changed:
                self._open.pop(network, None)
                if answer is not None:
                    self._aside[answer.socket] = paused
            return None
        disposition = answer.header("content-disposition")
        downloads = "attachment" in disposition or not SHOWN.search(answer.header("content-type"))
        if main and (answer.status in EMPTY or (downloads and answer.status < 300)):
            if answer.status not in EMPTY:
                digest = hashlib.sha256(answer.body).hexdigest()
                self.downloads[file_name(asked.url, disposition)] = digest
            return self._stay(paused, network)
        if kind == "Document":
            answer = without_refresh(answer)
        if main and not 300 <= answer.status < 400:
            timing = f'miniwob-agent;desc="{quote(self._hand_over(paused["session"]), safe="")}"'
            answer = replace(answer, headers=[*answer.headers, ("Server-Timing", timing)])
        return self._fulfil(paused, network, answer)

    def _asked(self, request: PageRequest) -> PageResponse | None:
        """Ask the app; raises a `MiniwobError`."""
        try:
            return self._app.answer(request, self._step(), lambda: bool(self._paused))
        except MiniwobError:
            raise
        except Exception as error:  # such as one of the task's `scrub`
            what = f"{request} could not be answered: {type(error).__name__}: {error}"
            raise PageError(what) from error

    def _answer_late(self, message: PageMessage) -> None:
        """Answer a request that was set aside."""
        paused = self._aside.pop(message["socket"])
        network = paused.get("networkId", "")
        with self._changed:
            self._open[network] = paused["resourceType"]
        if "response" in message:
            self._fulfil(paused, network, message["response"])
        else:
            self._fail(paused, network, "Failed")

    def _relay(self, told: Message) -> None:
        """Do with a socket what the page does."""
        request = self._deliveries.request_of(told, partial(self._call, session=told["session"]))
        if request is None:
            return self._refuse(told["kind"], told["url"])
        try:
            self._asked(request)
        except MiniwobError as error:
            self.error = self.error or error

    def _refuse(self, what: str, url: str) -> None:
        self.remark(
            f"a request was refused, as it leads out of the app: {what} {url}; "
            "AppTask(origins=[...]) allows further ones"
        )

    def _hand_over(self, session: str) -> str:
        """Return what the page in a window, or the one that has opened it, hands over."""
        sessions = [known for known, _ in self._devtools.opened]
        entered, self.entered = session in self.entered, self.entered | {session}
        if entered or session == sessions[0]:
            return self._handed.get(session, "")  # empty on the first page of the trial
        # A page can't be asked while another one is to follow, but for the one that opens a window.
        opener = sessions[sessions.index(session) - 1]
        found = self._call("Runtime.evaluate", opener, expression="miniwobAgent.handOver()")
        return str(found["result"].get("value", ""))

    def _fulfil(self, paused: Message, network: str, answer: PageResponse) -> None:
        headers = list(answer.headers)
        with self._changed:
            self._arrived.discard(network)
        if answer.socket:  # its parts come as messages
            self._deliveries.own(answer.socket, paused["session"])
            headers += [(STREAM, str(answer.socket)), ("Access-Control-Expose-Headers", STREAM)]
        try:
            self._call(
                "Fetch.fulfillRequest",
                paused["session"],
                requestId=paused["requestId"],
                responseCode=answer.status,
                # Without a phrase, a status that Chromium knows none for leaves the request open.
                responsePhrase=responses.get(answer.status, "Unnamed"),
                responseHeaders=[{"name": name, "value": value} for name, value in headers],
                body=base64.b64encode(answer.body).decode(),
            )
        except WebDriverException:
            self._finish(network)
            raise
        kind = paused["resourceType"]
        if kind == "Other":  # a worker's script or a prefetch, whose end is told to nobody
            self._finish(network)
        elif network and kind in ORDERED and not 300 <= answer.status < 400:
            with self._changed:
                if not self._changed.wait_for(
                    lambda: network in self._arrived or self._closed, ARRIVAL
                ):
                    self._finish(network)

    def _stay(self, paused: Message, network: str) -> None:
        """Have the page stay, which another one was to follow."""
        self._fail(paused, network, "Aborted")
        self._call("Runtime.evaluate", paused["session"], expression="miniwobAgent.stay()")

    def _fail(self, paused: Message, network: str, reason: str) -> None:
        try:
            fail = {"requestId": paused["requestId"], "errorReason": reason}
            self._call("Fetch.failRequest", paused["session"], **fail)
        finally:
            self._finish(network)
