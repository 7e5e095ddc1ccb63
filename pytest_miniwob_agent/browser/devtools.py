"""A client of the Chrome DevTools Protocol.

https://chromedevtools.github.io/devtools-protocol/. A command takes a fifth of the time that it
takes through the driver, and several can be under way. A thread reads what the browser sends, so
that events are answered while a command is awaited.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any

from selenium.common.exceptions import JavascriptException, TimeoutException, WebDriverException
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from pytest_miniwob_agent.browser.page import WORLD
from pytest_miniwob_agent.connections import for_threads
from pytest_miniwob_agent.core.data import well_formed

Message = dict[str, Any]
"""A message of the protocol: a command, the answer to one, or an event."""

Command = tuple[str, dict[str, Any]]
"""A command's name, such as `Page.reload`, and its parameters."""

CLOSE_TIMEOUT = 5.0
"""Wall-clock seconds that a browser may take to close a connection."""

PATIENCE = 2.0
"""Wall-clock seconds after which a browser that is silent may be gone."""

LAST_LIMIT = 3600.0
"""Wall-clock seconds after which nothing is waited for any more, whatever the reason: a program
that has the page may ask a model before it answers what the page waits for."""

NO_SESSION = -32001  # the code of the browser's error if a window is closed

REPLACED = "Cannot find context"
"""Begins the browser's error if a document is gone; nothing was evaluated then."""

CLOSE = "Page.handleJavaScriptDialog"
"""The command that answers a dialog."""

LEAVING = "beforeunload"
"""The type of the dialog by which a page asks whether it may be left."""

ABORTED = "net::ERR_ABORTED"
"""The browser's error if it stays at its page: an address leads to a download, for instance."""

MOST_DIALOGS = 100
"""Dialogs in a row after which a page opens them without end."""


def open_socket(
    url: str,
    *,
    timeout: float,
    direct: bool,
    headers: Mapping[str, str] | None = None,
    ssl: SSLContext | None = None,
) -> ClientConnection:
    """Open a WebSocket to a browser, which may take some wall-clock seconds.

    `direct` uses no proxy of the environment. Raises an `OSError` or a `WebSocketException`.
    """
    opened = connect(
        url,
        additional_headers=headers,
        ssl=ssl and for_threads(ssl),
        proxy=None if direct else True,
        open_timeout=timeout,
        close_timeout=CLOSE_TIMEOUT,
        compression=None,
        max_size=None,
        ping_interval=None,  # a page may keep the browser busy for long
    )
    return opened.__enter__()  # whoever gets it closes it


@dataclass(eq=False)
class Sent:
    """A command that was sent, and the browser's answer to it, which is empty until it comes."""

    answer: Message = field(default_factory=dict)
    session: str | None = None
    evaluates: bool = False

    def end(self) -> None:
        """Answer it for a window that is closed: only the value of a script is missed then."""
        error = {"error": {"message": "its window is detached"}}
        self.answer = error if self.evaluates else {"result": {}}


class Client:
    """A connection to a browser, read by a thread of its own.

    Attributes:
        changed: guards what that thread changes, and is notified of it.
        lost: the reason why nothing more will come; empty while something may.
        failure: the error of ours that is the reason; None for others.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self.changed = threading.Condition()
        self.lost = ""
        self.failure: Exception | None = None
        # What is called with events by the client itself, and for others (`on`).
        self._own: dict[str, Callable[[Message], object]] = {}
        self._handlers: dict[str, Callable[[Message], object]] = {}
        self._socket = socket
        self._count = 0  # of commands
        self._waiting: dict[int, Sent] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def on(self, event: str, handle: Callable[[Message], object]) -> None:
        """Call a function with the parameters of each event of a name, and its `session`.

        It is called by the thread that reads, so it may `post` commands, and wait for nothing.
        """
        self._handlers[event] = handle

    def post(self, command: Message, sent: Sent | None = None) -> Sent:
        """Send a command without waiting for its answer; any thread may do so."""
        sent = sent or Sent()
        with self.changed:
            self._count += 1
            number = self._count
            self._waiting[number] = sent
        with suppress(ConnectionClosed, OSError):  # the thread that reads notices
            self._write(json.dumps(command | {"id": number}))
        return sent

    def close(self) -> None:
        """Close the connection, in any state; the browser then forgets what was set by it."""
        self._socket.close()

    def _write(self, text: str) -> None:
        self._socket.send(text)

    def _read(self) -> None:
        try:
            while True:
                self._take(str(self._socket.recv()))
        except (ConnectionClosed, OSError) as error:
            self._lose(f"the connection to the browser is lost: {error}")
        except Exception as error:  # noqa: BLE001 - whoever waits would wait for ever
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """End what waits for a thread that has ended with an error of ours."""
        self.failure = self.failure or error
        self._lose(f"what the browser sent could not be handled: {type(error).__name__}: {error}")

    def _lose(self, why: str) -> None:
        with self.changed:
            self.lost = self.lost or why
            self.changed.notify_all()

    def _take(self, text: str) -> None:
        message: Message = json.loads(text)
        if "\\ud" in text:  # a page's text may hold half of a surrogate pair
            message = well_formed(message)
        if "id" in message:
            self._take_answer(message)
            return
        for handlers in (self._own, self._handlers):
            if handle := handlers.get(message["method"]):
                handle({**message["params"], "session": message.get("sessionId")})

    def _take_answer(self, message: Message) -> Sent:
        with self.changed:
            sent = self._waiting.pop(message["id"])
            # One that has ended with its window keeps that end.
            sent.answer = sent.answer or message
            if message.get("error", {}).get("code") == NO_SESSION:
                sent.end()
            self.changed.notify_all()
        return sent


class DialogOpened(Exception):
    """The page has opened a dialog: what is under way ends once that is answered (`answer`)."""


class DevTools(Client):
    """The page of a window; `attach` comes first."""

    def __init__(
        self, socket: ClientConnection, timeout: float, is_gone: Callable[[], bool]
    ) -> None:
        super().__init__(socket)
        self.timeout = timeout
        """Wall-clock seconds that the answers to commands may take."""
        # Scripts while those are followed, how many of them are of documents before this one, and
        # the digests of those that the documents had of their own.
        self._parsed: list[dict[str, Any]] = []
        self._first = 0
        self._known: set[str] = set()
        self.excused: Callable[[], Any] = lambda: False
        """True while the browser can't answer, as it waits for a program."""
        self.dialog: dict[str, Any] | None = None
        """The dialog that is open, as the browser has described it."""
        self.raises = False
        """True to raise `DialogOpened`; dialogs are dismissed otherwise, unless a program has the
        page."""
        self.handed = False
        """True while the page is handed over to a program, which answers dialogs itself."""
        self._dialogs = 0  # in a row
        self.loading: set[str] = set()
        """Frames whose next page is on its way, or loads."""
        # The page of the window, and the last one that has loaded, by the ids of their loaders.
        self._document = ""
        self._loaded = ""
        self._last: Sequence[Sent] = ()  # commands that were sent last
        self._is_gone = is_gone  # True if no answer will come; asked while one is awaited
        self._session: str | None = None
        self.window = ""
        """The target's id of the window, which is also the driver's handle of it."""
        self.opened: list[tuple[str, str]] = []
        """Sessions with windows and their targets' ids: the item's, then those opened since."""
        self.world: int | None = None
        """Our own world of the document; None if another one may have come.

        In another process its number would be that of another world.
        """
        self._own = {
            "Debugger.scriptParsed": self._parsed.append,
            "Inspector.targetCrashed": self._crash,
            "Page.frameNavigated": self._commit,
            "Page.frameStartedLoading": lambda event: self.loading.add(event["frameId"]),
            "Page.frameStoppedLoading": self._finish,
            "Page.javascriptDialogClosed": self._close_dialog,
            "Page.javascriptDialogOpening": self._open_dialog,
            "Target.detachedFromTarget": self._detach,
        }

    def attach(self, window: str) -> None:
        """Send the commands that follow to the page of a window, by the driver's handle."""
        attached = self.call("Target.attachToTarget", targetId=window, flatten=True)
        self.opened = [(attached["sessionId"], window)]
        self.show_last()

    def show_last(self) -> None:
        self._session, self.window = self.opened[-1]
        self.world = None

    def close_shown(self) -> None:
        """Close the window that is shown, and go back to the one before; raises as `send`."""
        window = self.window
        self.begin("Page.close", {})
        self._wait(lambda: self.window != window)

    def _crash(self, event: Message) -> None:
        if any(event["session"] == session for session, _ in self.opened):
            self._lose("the page crashed")  # a shared worker's end is called so, too

    def _detach(self, event: Message) -> None:
        """Go back to the window before the one that was closed, whose commands come to an end."""
        gone = next((one for one in self.opened[1:] if one[0] == event["sessionId"]), None)
        if gone is None:
            if self.opened and event["sessionId"] == self.opened[0][0]:
                self._lose("the window was closed")
            return
        with self.changed:
            self.opened.remove(gone)
            if self._session == gone[0]:
                self.show_last()
            for sent in self._waiting.values():
                if sent.session == gone[0]:
                    sent.end()
            self.changed.notify_all()

    def _commit(self, event: Message) -> None:
        if event["frame"]["id"] == self.window:
            self._document = event["frame"]["loaderId"]
            self._first = len(self._parsed)  # this document's scripts are parsed from here on

    def _finish(self, event: Message) -> None:
        self.loading.discard(event["frameId"])
        if event["frameId"] == self.window:
            with self.changed:
                self._loaded = self._document
                self.changed.notify_all()

    def load(self, url: str) -> str:
        """Load a page into the window, and wait until it has loaded, or another one in its place.

        Returns the browser's error if there is no page at the address, else an empty string. Raises
        as `send`.
        """
        before = self._document
        error = str(self.call("Page.navigate", url=url).get("errorText", ""))
        if error != ABORTED:  # the browser shows a page for any other error
            # A script of the page may have led to another one, which is the one to wait for.
            self._wait(lambda: self._loaded == self._document != before)
        return error

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.send((method, params))[0]

    def send(self, *commands: Command) -> list[dict[str, Any]]:
        """Send commands without waiting in between, and return their results.

        Raises:
            WebDriverException: the browser refuses one, does not answer, or is lost.
        """
        self._dialogs = 0
        sent = self._last = [self.begin(*command) for command in commands]
        return self._results(sent)

    def begin(self, method: str, params: dict[str, Any], session: str | None = None) -> Sent:
        """Send a command without waiting for its answer, by a session; None is the window's."""
        if method.startswith("Browser."):
            session = ""  # what a window's session has set for all pages ends with that window
        session = self._session if session is None else session
        named = {"sessionId": session} if session else {}
        sent = Sent(session=session, evaluates=method == "Runtime.evaluate")
        return self.post({"method": method, "params": params} | named, sent)

    def _results(self, sent: Sequence[Sent]) -> list[dict[str, Any]]:
        self._wait(lambda: all(one.answer for one in sent))
        for one in sent:
            if "error" in one.answer:
                raise WebDriverException(one.answer["error"]["message"])
        return [one.answer["result"] for one in sent]

    def _wait(self, done: Callable[[], bool]) -> None:
        began = time.monotonic()
        end = began + self.timeout
        while not self._wait_for(done, end - time.monotonic()):
            if self.excused() and time.monotonic() < began + LAST_LIMIT:
                end = time.monotonic() + self.timeout
            elif self.dialog and self.handed:
                self._dismiss()  # the program is gone
            elif time.monotonic() >= end:
                raise TimeoutException(f"timed out after {self.timeout:g} seconds")
            if self._is_gone():
                raise WebDriverException("the browser does not answer")

    def _wait_for(self, done: Callable[[], bool], left: float) -> bool:
        """Wait for `left` seconds, at most `PATIENCE`; False if it is not done by then."""
        with self.changed:
            self.changed.wait_for(
                lambda: done() or self.lost or self._stopped, max(0.001, min(left, PATIENCE))
            )
            if done():
                return True
            if self.lost:
                raise WebDriverException(self.lost) from self.failure
            if self._stopped:
                raise DialogOpened
            return False

    @property
    def _stopped(self) -> bool:
        return self.raises and self.dialog is not None

    def _open_dialog(self, event: Message) -> None:
        with self.changed:
            self.dialog = event
            self._dialogs += 1
            if self._dialogs > MOST_DIALOGS:
                self._lose("the page opens dialogs without end")
            elif not self.handed and (event["type"] == LEAVING or not self.raises):
                self._dismiss()
            self.changed.notify_all()

    def _close_dialog(self, event: Message) -> None:
        self.dialog = None

    def _dismiss(self) -> None:
        # A page that asks whether it may be left is left.
        leaves = self.dialog is not None and self.dialog["type"] == LEAVING
        self.dialog = None
        self.begin(CLOSE, {"accept": leaves})

    def answer(self, accept: bool, text: str | None = None) -> Any:
        """Answer the dialog that is open, and wait for what was under way when it opened.

        Returns what that evaluated; None if it was something else. Raises as `evaluate`.
        """
        assert self.dialog is not None
        given = self.dialog.get("defaultPrompt", "") if text is None else text
        self.dialog = None
        self.begin(CLOSE, {"accept": accept, "promptText": given})
        last = self._results(self._last)[-1]
        return self._value(last) if "result" in last else None

    def evaluate(self, function: str, *values: Any) -> Any:
        """Call a function in our own world of the page's document, and return its result.

        Raises:
            JavascriptException: the function threw an error.
            WebDriverException: as for `send`.
        """
        expression = f"{function}(...{json.dumps(values)})"
        params = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        try:
            answer = self.call("Runtime.evaluate", **params, contextId=self._enter_world())
        except WebDriverException as error:
            if REPLACED not in str(error):
                raise
            self.world = None
            answer = self.call("Runtime.evaluate", **params, contextId=self._enter_world())
        return self._value(answer)

    def call_on(self, node: int, function: str, *values: str | int) -> None:
        """Call a function of our own world with a node as `this`."""
        resolve = {"backendNodeId": node, "executionContextId": self._enter_world()}
        found = self.call("DOM.resolveNode", **resolve)["object"]["objectId"]
        given = [{"value": value} for value in values]
        call = {"objectId": found, "functionDeclaration": function, "arguments": given}
        self._value(self.call("Runtime.callFunctionOn", **call, awaitPromise=True))

    def _value(self, answer: dict[str, Any]) -> Any:
        if failure := answer.get("exceptionDetails"):
            thrown = failure.get("exception", {}).get("description") or failure["text"]
            raise JavascriptException(thrown)
        return answer["result"].get("value")

    def follow_scripts(self) -> None:
        """Take note of the documents' scripts from now on, with those that are there."""
        self._parsed.clear()
        self._known.clear()
        self._first = 0
        self._hear_scripts()
        self._known |= {one["hash"] for one in self._parsed}

    def _hear_scripts(self) -> None:
        # A `debugger` of the page would stop it for good.
        self.send(("Debugger.enable", {}), ("Debugger.setSkipAllPauses", {"skip": True}))

    def has_more_scripts(self) -> bool:
        """True if the documents got more scripts than those of `digests`.

        Those that come by the protocol, or that scripts of the page insert, don't count.
        """
        self._hear_scripts()  # all that came before is here
        foreign = {one["scriptId"] for one in self._parsed if not _is_pages(one)}
        for one in filter(_is_pages, self._parsed):
            stack = one.get("stackTrace", {}).get("callFrames", [])
            inserted = any(frame["scriptId"] in foreign for frame in stack)
            if one["hash"] not in self._known and (inserted or one.get("embedderName")):
                return True
        return False

    def is_given(self, function: str) -> bool:
        """True if a function of the page is of a script that came by the protocol."""
        found = self.call("Runtime.evaluate", expression=function, silent=True)["result"]
        while found.get("type") == "function":
            about = self.call("Runtime.getProperties", objectId=found["objectId"])
            inner = {one["name"]: one.get("value", {}) for one in about["internalProperties"]}
            if "[[FunctionLocation]]" in inner:
                place = inner["[[FunctionLocation]]"]["value"]["scriptId"]
                return any(one["scriptId"] == place and _is_given(one) for one in self._parsed)
            found = inner.get("[[TargetFunction]]", inner.get("[[Target]]", {}))  # bound, a proxy
        return False

    def digests(self, saying: str) -> tuple[list[str], list[str]]:
        """The digests of the document's own scripts: of all, and of those that say something."""
        self._hear_scripts()  # in a window that was opened since
        window, document = self._session, self._parsed[self._first :]
        # One that comes by the protocol has no name but what it gives itself.
        scripts = [one for one in document if one["session"] == window and one.get("embedderName")]
        self._known |= {one["hash"] for one in scripts}
        asked = [
            self.begin("Debugger.searchInContent", {"scriptId": one["scriptId"], "query": saying})
            for one in scripts
        ]
        self._wait(lambda: all(one.answer for one in asked))
        # A script that was collected as garbage is refused, and can't run again.
        lines = [one.answer.get("result", {}).get("result") for one in asked]
        said = [one["hash"] for one, found in zip(scripts, lines, strict=True) if found]
        return [one["hash"] for one in scripts], said

    def _enter_world(self) -> int:
        if self.world is None:
            created = self.call("Page.createIsolatedWorld", frameId=self.window, worldName=WORLD)
            self.world = int(created["executionContextId"])
        return self.world


def _is_pages(script: dict[str, Any]) -> bool:
    return bool(script.get("executionContextAuxData", {}).get("isDefault"))


def _is_given(script: dict[str, Any]) -> bool:
    """True if a script came by the protocol: neither a document nor another script has it."""
    return not script.get("embedderName") and "stackTrace" not in script


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    text = str(getattr(error, "msg", None) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__
