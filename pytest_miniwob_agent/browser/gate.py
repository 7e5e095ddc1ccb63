"""All requests of your own pages and an app's, answered here: nothing of them goes to the network.

Requests are paused by CDP's Fetch domain, and fulfilled in the order in which the page made them,
live and replayed alike. Scripts and answers to scripts come one at a time, each once the one before
has arrived. The page's clock waits until nothing is under way (page/network.js).
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from selenium.common.exceptions import WebDriverException

from pytest_miniwob_agent.browser.devtools import ABORTED, LAST_LIMIT, Command, DevTools, Message
from pytest_miniwob_agent.browser.gate_commands import (
    COUNTED,
    EMPTY,
    GATE,
    OPEN,
    ORDERED,
    SCRIPT,
    SCRIPTED,
    STREAM,
    WINDOWS,
    Deliveries,
    UnderWay,
    cleared_by,
    for_task,
    fulfilling,
    handing,
    is_blocking,
    is_download,
    is_redirect,
    leads_astray,
    made_request,
    said_by_task,
    script_download,
    window_download,
    worker_commands,
)
from pytest_miniwob_agent.browser.page import BINDING
from pytest_miniwob_agent.core.app import (
    REFUSED,
    PageMessage,
    PageRequest,
    PageResponse,
    Source,
    make_readable,
    url_origin,
)
from pytest_miniwob_agent.core.errors import MiniwobError, PageError

POLL = 0.02
"""Wall-clock seconds between two questions whether the app may still send something."""


class Gate:
    """The requests of the pages of a window, from `GATE` to `close`.

    Args:
        devtools: the window.
        prepare: commands for each window that its pages open.
        source: answers, in a thread.
        step: the number of actions so far.
        now: the page's clock at the beginning of the trial, in milliseconds since 1970.
        random: where the random numbers of the trial begin, if it has some of its own.
        api: True if the page's own task is asked first when a script makes a request.
        asked: where to put what the source is asked for.

    Attributes:
        error: the first error of the source.
        remarks: what the author of the task should know.
        downloads: the digests of downloaded files, by their names.
    """

    def __init__(
        self,
        devtools: DevTools,
        prepare: Sequence[Command],
        source: Source,
        step: Callable[[], int],
        now: float,
        random: int | None = None,
        *,
        api: bool = False,
        asked: list[PageRequest] | None = None,
    ) -> None:
        self._devtools, self._prepare = devtools, prepare
        self._asked_for = [] if asked is None else asked
        self._source, self._step, self._now, self._random = source, step, now, random
        self._api = SCRIPTED if api else frozenset()
        self._counted = COUNTED | self._api
        self._changed = devtools.changed
        self._requests = UnderWay()
        self._loading: dict[str, str] = {}  # frames in pages, with their sessions
        # Of pages: number, context, session, and the time of the page's clock.
        self._questions: list[tuple[int, int, str, float]] = []
        self._deliveries = Deliveries(source)
        self._heard: deque[Message] = deque()  # what pages do with sockets
        # Paused requests that are answered later, by numbers less than 0.
        self._aside: dict[int, tuple[Message, PageRequest]] = {}
        self._late: deque[PageMessage] = deque()  # answers to them
        self._count = 0  # of counted requests
        self._asked = self._turns = 0  # numbers of requests that tasks get, and of what they said
        self._answering = self._closed = False
        self._began = json.dumps({"now": now, **({} if random is None else {"random": random})})
        # By session: what its page hands over to the next one, and if there is more to come.
        self._handed: dict[str, tuple[str, bool]] = {}
        self.entered: set[str] = set()  # sessions whose window has shown a page of the app
        self._blank: dict[str, str] = {}  # those of new windows of a program, by their targets
        self.stayed = 0  # how often an answer was no page, so that the one before stays
        self.opens = ""  # the address for which a window was opened last
        self.error: Exception | None = None
        self.remarks: list[str] = []
        self.downloads: dict[str, str] = {}
        for event, handle in {
            "Fetch.requestPaused": self._pause,
            "Network.requestWillBeSent": self._announce,
            "Network.loadingFinished": self._end,
            "Network.loadingFailed": self._end,
            "Page.windowOpen": self._open,
            "Page.frameStartedLoading": self._load,
            "Page.frameStoppedLoading": self._stop,
            "Page.frameDetached": self._stop,
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
        return self._answering or bool(self._questions and not self._under_way)

    def comes(self, window: str) -> bool:
        """True while a document is on its way to a window."""
        with self._changed:
            loads = window in self._devtools.loading
            return loads or self._answering or self._requests.leads_in(window)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with suppress(WebDriverException):
            self._devtools.send(*OPEN)
        self._worker.join()

    def remark(self, text: str) -> None:
        if text and text not in self.remarks:
            self.remarks.append(text)

    def _call(self, method: str, session: str, **params: Any) -> Message:
        """Send a command by a session, or to the browser itself, whatever the page does then."""
        devtools = self._devtools
        sent = devtools.begin(method, params, session)
        end = time.monotonic() + LAST_LIMIT
        with devtools.changed:
            while not devtools.changed.wait_for(
                lambda: sent.answer or devtools.lost or self._closed, devtools.timeout
            ):
                if not devtools.dialog or time.monotonic() >= end:  # it may stay open for long
                    break
        if "result" not in sent.answer:
            raise WebDriverException(f"{method}: {sent.answer.get('error', devtools.lost)}")
        return dict(sent.answer["result"])

    # Events, in the thread that reads what the browser sends.

    def _enter(self, event: Message) -> None:
        # Before anything runs in it.
        session, target = event["sessionId"], event["targetInfo"]
        window = target["type"] == "page"
        if window and event["session"]:
            return
        if any(target["targetId"] == known for _, known in self._devtools.opened):
            # The browser attaches to windows that are there already, too.
            self._devtools.begin("Target.detachFromTarget", {"sessionId": session}, "")
            return
        commands = (*self._prepare, *GATE) if window else worker_commands(self._now, self._random)
        prepare = () if self._closed else commands
        for method, params in (*prepare, ("Runtime.runIfWaitingForDebugger", {})):
            self._devtools.begin(method, params, session)
        if window and "openerId" not in target:
            self._blank[target["targetId"]] = session
        elif window and not self._closed:
            self._devtools.opened.append((session, target["targetId"]))

    def _open(self, event: Message) -> None:
        self.opens = event["url"]

    def _announce(self, event: Message) -> None:
        kind = event.get("type", "Other")
        if kind == "Fetch" and all(event["session"] != one for one, _ in self._devtools.opened):
            kind = "XHR"  # a worker's, which gets its answer as a whole
        if not event["request"]["url"].startswith("http"):
            return
        with self._changed:
            self._requests.announce(event, kind)
            self._count += kind in self._counted
            self._changed.notify_all()

    def _pause(self, event: Message) -> None:
        with self._changed:
            self._requests.pause(event)
            self._changed.notify_all()

    def _end(self, event: Message) -> None:
        id_ = event["requestId"]
        with self._changed:
            if event.get("canceled"):
                self._requests.give_up(id_)
            elif (why := event.get("errorText", ABORTED)) != ABORTED:
                self._miss(id_, why)
            for number, (paused, request) in list(self._aside.items()):
                if paused.get("networkId") == id_ and request.kind in self._api:
                    del self._aside[number]  # the page has given it up
                    self._ask_page(event["session"], f"miniwobAgent.giveUp({number})")
        self._finish(id_)

    def _miss(self, id_: str, why: str) -> None:
        made = self._requests.document(id_)
        if made and any(made["frameId"] == window for _, window in self._devtools.opened):
            what = f"the browser shows no page at {made['request']['url']}: {why}"
            self.error = self.error or PageError(what)

    def _load(self, event: Message) -> None:
        with self._changed:
            if all(event["frameId"] != window for _, window in self._devtools.opened):
                self._loading[event["frameId"]] = event["session"]

    def _stop(self, event: Message) -> None:
        with self._changed:
            self._loading.pop(event["frameId"], None)
            self._tell()
            self._changed.notify_all()
        for id_ in self._requests.documents(event["frameId"]):
            self._finish(id_)  # nobody is told of the end of one that a script has stopped

    def _finish(self, id_: str) -> None:
        with self._changed:
            self._requests.end(id_)
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
            elif "request" in told:
                self._take_answer(told)
            elif "download" in told:
                self.downloads |= [script_download(told)]
            else:
                self._handed[event["session"]] = told["handed"], told.get("more", False)
            self._tell()
            self._changed.notify_all()

    def _take_answer(self, told: Message) -> None:
        number = told["request"]
        if number not in self._aside:
            return
        self._turns += 1
        if "later" in told:
            self._requests.end(self._aside[number][0].get("networkId", ""))
        else:
            self._late.append({**told, "socket": number})

    @property
    def _under_way(self) -> bool:
        waits = any(kind in self._counted for kind in self._requests.open.values())
        loads = any(session in self._loading.values() for session, _ in self._devtools.opened)
        asked = self._answering or self._requests.paused or self._heard or self._late
        return bool(asked or loads or waits)

    def _tell(self) -> None:
        """Answer the page's questions when nothing is under way, with what has come for sockets."""
        while self._questions and not self._under_way:
            question, context, session, now = self._questions[0]
            try:
                came = self._deliveries.take(now, session)
            except Exception as error:  # noqa: BLE001 - the page waits for what this thread does
                self.error, came = self.error or error, []
            if came is None:
                return  # it is asked again
            del self._questions[0]
            for said in [message.pop("remark", "") for message in came]:
                self.remark(said)
            late = [message for message in came if message["socket"] in self._aside]
            self._late += late
            self._count += len(late)
            told = json.dumps([message for message in came if message not in late])
            expression = f"miniwobAgent.told({question}, {self._count}, {self._turns}, {told})"
            ask = {"expression": expression, "contextId": context, "silent": True}
            self._devtools.begin("Runtime.evaluate", ask, session)

    # Answers, in a thread of their own.

    def _work(self) -> None:
        try:
            self._work_on()
        except Exception as error:  # noqa: BLE001 - nobody would answer the page's requests
            self._devtools.fail(error)

    def _work_on(self) -> None:
        while True:
            with self._changed:
                while (job := self._job()) is None and not self._closed:
                    # What an app sends by itself has to be asked for.
                    self._changed.wait(POLL if self._questions else None)
                    self._tell()
                if job is None:
                    return
                self._answering = True
            try:
                with suppress(WebDriverException):  # the page has gone, or the browser
                    job()
            except Exception as error:  # noqa: BLE001 - the page waits for what this thread does
                self.error = self.error or error
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
        requests = self._requests
        if requests.paused and not requests.next():
            self._changed.wait_for(lambda: requests.next() or self._closed, requests.patience)
        if self._closed or not requests.paused:
            return None
        if session := requests.unsettled():
            return partial(self._settle, session)
        paused = requests.take()
        return partial(self._handle, paused, paused.get("networkId", ""))

    def _settle(self, session: str) -> None:
        """Wait for the end of the script that a page runs.

        Its requests are announced by then, and those that it gives up again are not asked for.
        """
        sent = self._devtools.begin("Runtime.evaluate", {"expression": "0"}, session)
        self._wait(lambda: sent.answer)

    def _wait(self, came: Callable[[], object]) -> object:
        """Wait for what a page sends once its script has ended, unless something holds it up."""
        requests = self._requests
        with self._changed:
            return self._changed.wait_for(
                lambda: came() or requests.blocking or self._devtools.dialog or self._closed, SCRIPT
            )

    def _handle(self, paused: Message, network: str) -> None:
        if session := self._blank.pop(paused["frameId"], ""):
            self._devtools.opened.append((session, paused["frameId"]))
        kind, frame = paused["resourceType"], paused["frameId"]
        leads = kind == "Document" and any(frame == one for _, one in self._devtools.opened)
        if self._requests.open.get(network) == "Fetch":
            kind = "Fetch"  # the domain Fetch says XHR
        asked = made_request(paused, kind, leads)
        if kind not in self._api or asked.is_preflight:
            return self._answer(paused, network, asked)
        blocks = kind == "XHR" and is_blocking(paused)
        with self._changed:
            self._asked -= 1
            if not blocks:
                self._aside[self._asked] = paused, asked
        given = f"{self._asked}, {for_task(asked)}, {json.dumps(blocks)}"
        self._ask_page(paused["session"], f"miniwobAgent.handle({given})")
        return self._answer(paused, network, asked) if blocks else None

    def _ask_page(self, session: str, expression: str) -> None:
        """Have a window evaluate something, once it can: the first one for a shared worker."""
        windows = [window for window, _ in self._devtools.opened]
        window = session if session in windows else windows[0]
        ask = {"expression": expression, "silent": True}
        self._devtools.begin("Runtime.evaluate", ask, window)

    def _answer(self, paused: Message, network: str, asked: PageRequest) -> None:
        try:
            answer = self._ask_source(asked)
        except MiniwobError as error:
            self.error = self.error or error
            self._fail(paused, network)
            raise
        if answer is not None and answer.status == REFUSED:
            return self._stay(paused, network) if asked.leads else self._fail(paused, network)
        # It comes later (`_answer_late`), or never: the page's clock does not wait for it.
        if answer is None or not answer.status:
            self.remark(f"{asked} was not waited for, as its answer comes later, or never")
            with self._changed:
                self._requests.end(network)
                self._loading.pop(paused["frameId"], None)
                if answer is not None:
                    self._aside[answer.socket] = paused, asked
            return None
        if asked.leads and answer.status in EMPTY:
            self.remark(f"the page stays, as the answer to {asked} is empty: {answer.status}")
            return self._stay(paused, network)
        if leads_astray(asked.url, answer):
            self.remark(f"{asked} leads to no address: {answer.header('location')}")
            return self._stay(paused, network) if asked.leads else self._fail(paused, network)
        if asked.leads and is_download(answer):
            self.downloads |= [window_download(asked.url, answer)]
            if "attachment" not in answer.header("content-disposition"):
                what = answer.header("content-type")
                self.remark(f"{asked} was downloaded, as it is not shown here: {what}")
            return self._stay(paused, network)
        if asked.kind == "Document":
            answer = make_readable(answer)
        if asked.kind == "Document" and not is_redirect(answer):
            given = self._hand_over(paused["session"]) if asked.leads else self._began
            answer = replace(answer, headers=handing(answer.headers, quote(given, safe="")))
        return self._fulfil(paused, network, answer)

    def _ask_source(self, request: PageRequest) -> PageResponse | None:
        """Ask the source; raises a `MiniwobError`."""
        try:
            paused = self._requests.paused
            self._asked_for.append(request)
            answer = self._source.answer(request, self._step(), lambda: bool(paused))
        except MiniwobError:
            raise
        except Exception as error:  # such as one of the task's `scrub`
            what = f"{request} could not be answered: {type(error).__name__}: {error}"
            raise PageError(what) from error
        if answer is not None:
            self.remark(answer.remark)
        return answer

    def _answer_late(self, message: PageMessage) -> None:
        with self._changed:
            paused, asked = self._aside.pop(message["socket"], ({}, None))
            if asked is None:
                return  # it was given up
            network = paused.get("networkId", "")
            self._requests.open[network] = asked.kind
        if "response" in message:
            self._fulfil(paused, network, message["response"])
        elif said := message.get("answer"):
            self._fulfil(paused, network, said_by_task(said, asked))
        elif "answer" in message:
            self._answer(paused, network, asked)
        else:
            self._fail(paused, network)

    def _relay(self, told: Message) -> None:
        request = self._deliveries.parse_request(told, partial(self._call, session=told["session"]))
        if self._ask_source(request) is not None:
            self._deliveries.refuse(request.socket)

    def _hand_over(self, session: str) -> str:
        sessions = [known for known, _ in self._devtools.opened]
        entered, self.entered = session in self.entered, self.entered | {session}
        if entered or session not in sessions[1:]:  # the first window, or one that was closed
            self._wait(lambda: not self._handed.get(session, ("", False))[1])
            return self._handed.get(session, ("", False))[0] or self._began
        # A page can't be asked while another one is to follow, but for the one that opens a window.
        opener = sessions[sessions.index(session) - 1]
        found = self._call("Runtime.evaluate", opener, expression="miniwobAgent.handOver()")
        return str(found["result"].get("value", ""))

    def _fulfil(self, paused: Message, network: str, answer: PageResponse) -> None:
        headers = list(answer.headers)
        if answer.socket:  # its parts come as messages
            self._deliveries.own(answer.socket, paused["session"])
            headers += [(STREAM, str(answer.socket)), ("Access-Control-Expose-Headers", STREAM)]
        if cleared := cleared_by(answer):  # the browser does so for what comes by the network
            origin = url_origin(paused["request"]["url"])
            clear = {"origin": origin, "storageTypes": cleared}
            self._call("Storage.clearDataForOrigin", self._devtools.opened[0][0], **clear)
        fulfil = fulfilling(paused, replace(answer, headers=headers))
        self._end_by("Fetch.fulfillRequest", fulfil, paused, network)
        # Nobody is told of the end of a worker's script or a prefetch.
        ordered = paused["resourceType"] in ORDERED and not is_redirect(answer)
        if paused["resourceType"] in ("Other", "Ping") or (ordered and not self._arrives(network)):
            self._finish(network)

    def _end_by(self, method: str, params: Message, paused: Message, network: str) -> None:
        try:
            self._call(method, paused["session"], **params)
        except WebDriverException:
            self._finish(network)
            raise

    def _arrives(self, network: str) -> object:
        """Wait until an answer that runs scripts has arrived; not true if that takes too long."""
        return self._wait(lambda: network not in self._requests.open)

    def _stay(self, paused: Message, network: str) -> None:
        self.stayed += 1
        self._fail(paused, network, "Aborted")
        self._call("Runtime.evaluate", paused["session"], expression="miniwobAgent.stay()")

    def _fail(self, paused: Message, network: str, reason: str = "Failed") -> None:
        fail = {"requestId": paused["requestId"], "errorReason": reason}
        self._end_by("Fetch.failRequest", fail, paused, network)
        if paused["resourceType"] not in ORDERED or not self._arrives(network):
            self._finish(network)
