"""The Chrome DevTools Protocol, https://chromedevtools.github.io/devtools-protocol/, and drags.

A command takes a fifth of the time that it takes through the driver, and several can be under way.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from selenium.common.exceptions import JavascriptException, TimeoutException, WebDriverException
from websocket import WebSocket, WebSocketException, WebSocketTimeoutException

from pytest_miniwob_agent.browser.page import WORLD
from pytest_miniwob_agent.core.data import well_formed

Command = tuple[str, dict[str, Any]]
"""A command's name, such as `Page.reload`, and its parameters."""

CONNECTION: dict[str, Any] = {"suppress_origin": True, "skip_utf8_validation": True}
"""Arguments of `websocket.create_connection` for a browser, which would refuse an origin."""

DIRECT: dict[str, Any] = {"http_proxy_host": "unused", "http_no_proxy": ["*"]}
"""Further ones, to use no proxy of the environment: the exceptions only count beside a proxy."""


PATIENCE = 2.0
"""Real seconds after which a browser that is silent may be gone."""

LOST = {
    "Inspector.targetCrashed": "the page crashed",
    "Target.detachedFromTarget": "the window was closed",
}
"""Events after which the browser would not answer."""

REPLACED = "Cannot find context"
"""Begins the browser's error where a document is gone; nothing was evaluated then."""


CLOSED: Command = ("Page.handleJavaScriptDialog", {"accept": False})
"""Dismisses a dialog. Its id is 0, as nobody waits for the result."""

MOST_DIALOGS = 100
"""Dialogs in a row after which a page opens them without end."""


class DialogOpened(Exception):
    """The page has opened a dialog: what is under way ends once that is answered (`answer`)."""


class DevTools:
    """The page of a window, by a WebSocket to its browser; `attach` comes first."""

    def __init__(self, socket: WebSocket, timeout: float, is_gone: Callable[[], bool]) -> None:
        self.timeout = timeout
        """Real seconds that the answers to commands may take."""
        self.dragged: dict[str, Any] | None = None
        """What the browser is about to drag, where drags are intercepted."""
        self.chooser: int | None = None
        """The field for files whose dialog was to open, by the number of its node."""
        self._parsed: list[dict[str, Any]] = []
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
        # The first of the commands that were sent last, and their answers.
        self._first = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._socket = socket
        self._is_gone = is_gone  # True where no answer will come; asked while one is awaited
        self._mutex = threading.Lock()  # a page that is handed over is read in several threads
        self._last = 0
        self._session: str | None = None
        self._window = ""
        self.world: int | None = None
        """Our own world of the document; None if another one may have come.

        In another process its number would be that of another world.
        """

    def attach(self, window: str) -> None:
        """Send the commands that follow to the page of a window, by the driver's handle."""
        attached = self.call("Target.attachToTarget", targetId=window, flatten=True)
        self._session, self._window = attached["sessionId"], window
        # With its overlay on, as when its developer tools are open, the browser does not keep moves
        # of the mouse back until it draws the next frame.
        self.send(("Inspector.enable", {}), ("DOM.enable", {}), ("Overlay.enable", {}))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        return self.send((method, params))[0]

    def send(self, *commands: Command) -> list[dict[str, Any]]:
        """Send commands without waiting in between, and return their results.

        Raises:
            WebDriverException: the browser refuses one, does not answer, or is lost.
        """
        with self._mutex:
            return self._send(commands)

    def _send(self, commands: Sequence[Command]) -> list[dict[str, Any]]:
        self._first, self._dialogs = self._last + 1, 0
        self._last += len(commands)
        self._answers.clear()
        return self._exchange(enumerate(commands, self._first))

    def _exchange(self, messages: Iterable[tuple[int, Command]]) -> list[dict[str, Any]]:
        """Send commands with their ids; return the results of those that `_send` sent last."""
        end = time.monotonic() + self.timeout
        answers = self._answers
        try:
            for message in messages:
                self._write(*message)
            while len(answers) <= self._last - self._first:
                answer = self._receive(end)
                if answer.get("id", 0) >= self._first:  # not one of commands that were given up
                    answers[answer["id"]] = answer
                elif answer.get("method") == "Page.javascriptDialogOpening":
                    self.dialog = answer["params"]
                    self._dialogs += 1
                    if self._dialogs > MOST_DIALOGS:
                        raise WebDriverException("the page opens dialogs without end")
                    if self.raises:
                        raise DialogOpened
                    if not self.handed:
                        self.dialog = None
                        self._write(0, CLOSED)
                elif answer.get("method") == "Page.javascriptDialogClosed":
                    self.dialog = None
                elif answer.get("method") == "Input.dragIntercepted":
                    self.dragged = answer["params"]["data"]
                elif answer.get("method") == "Page.fileChooserOpened":
                    self.chooser = answer["params"].get("backendNodeId")
                elif answer.get("method") == "Debugger.scriptParsed":
                    self._parsed.append(answer["params"])
                elif lost := LOST.get(answer.get("method", "")):
                    raise WebDriverException(lost)
        except WebSocketTimeoutException:
            raise TimeoutException(f"timed out after {self.timeout:g} seconds") from None
        except WebSocketException as error:
            raise WebDriverException(f"the connection to the browser is lost: {error}") from None
        ordered = [answers[number] for number in sorted(answers)]
        for answer in ordered:
            if "error" in answer:
                raise WebDriverException(answer["error"]["message"])
        return [answer["result"] for answer in ordered]

    def _write(self, number: int, command: Command) -> None:
        message = {"id": number, "method": command[0], "params": command[1]}
        if self._session is not None:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))

    def answer(self, accept: bool, text: str | None = None) -> Any:
        """Answer the dialog that is open, and wait for what was under way when it opened.

        Returns what that evaluated; None where it was something else. Raises as `evaluate`.
        """
        assert self.dialog is not None
        given = self.dialog.get("defaultPrompt", "") if text is None else text
        command = CLOSED[0], {"accept": accept, "promptText": given}
        with self._mutex:
            self.dialog = None
            last = self._exchange([(0, command)])[-1]
        return self._value(last) if "result" in last else None

    def _receive(self, end: float) -> dict[str, Any]:
        """Return the next message, which may come until `end`."""
        while True:
            left = end - time.monotonic()
            self._socket.settimeout(max(0.001, min(left, PATIENCE)))
            try:
                text = self._socket.recv()
                message: dict[str, Any] = json.loads(text)
            except WebSocketTimeoutException:
                if self.dialog and self.handed and not self.excused():
                    self.dialog = None
                    self._write(0, CLOSED)  # the program is gone
                elif self.excused():
                    end = time.monotonic() + self.timeout
                elif left <= PATIENCE:
                    raise
                if self._is_gone():
                    raise WebDriverException("the browser does not answer") from None
            else:  # a page's text may hold half of a surrogate pair
                return well_formed(message) if "\\ud" in text else message

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

    def call_on(self, node: int, function: str, *values: str) -> None:
        """Call a function of our own world with a node as `this`."""
        resolve = {"backendNodeId": node, "executionContextId": self._enter_world()}
        found = self.call("DOM.resolveNode", **resolve)["object"]["objectId"]
        given = [{"value": value} for value in values]
        call = {"objectId": found, "functionDeclaration": function, "arguments": given}
        self._value(self.call("Runtime.callFunctionOn", **call, awaitPromise=True))

    def _value(self, answer: dict[str, Any]) -> Any:
        """Return the value of an evaluation."""
        if failure := answer.get("exceptionDetails"):
            thrown = failure.get("exception", {}).get("description") or failure["text"]
            raise JavascriptException(thrown)
        return answer["result"].get("value")

    def digests(self, saying: str) -> tuple[list[str], list[str]]:
        """The digests of the documents' own scripts: of all, and of those that say something."""
        self._parsed.clear()
        self.call("Debugger.enable")
        # One that comes by the protocol has no name but what it gives itself.
        scripts = [one for one in self._parsed if one.get("embedderName")]
        ask = [
            ("Debugger.searchInContent", {"scriptId": script["scriptId"], "query": saying})
            for script in scripts
        ]
        *found, _ = self.send(*ask, ("Debugger.disable", {}))
        said = [one for one, lines in zip(scripts, found, strict=True) if lines["result"]]
        return [one["hash"] for one in scripts], [one["hash"] for one in said]

    def _enter_world(self) -> int:
        if self.world is None:
            created = self.call("Page.createIsolatedWorld", frameId=self._window, worldName=WORLD)
            self.world = int(created["executionContextId"])
        return self.world

    def close(self) -> None:
        """Close the connection, in any state."""
        with contextlib.suppress(WebSocketException, OSError):
            self._socket.shutdown()


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    text = str(getattr(error, "msg", None) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__


LONGEST = 1.0
"""Real seconds to wait for a drag that the page has heard of."""


def is_drag(step: list[Command]) -> bool:
    """True if the mouse is moved with its button down."""
    return any(params["type"] == "mouseMoved" and params["buttons"] for _, params in step)


class Dragging:
    """Sends the events of the mouse until its button is up, or those of the browser's own drag."""

    def __init__(self, devtools: DevTools) -> None:
        self._devtools = devtools
        self._data: dict[str, Any] | None = None
        """What is dragged, once the browser drags it."""
        self._asked = False  # True once the browser was to drag something
        devtools.dragged = None
        devtools.call("Input.setInterceptDrags", enabled=True)

    def send(self, step: list[Command]) -> bool:
        """Send events of the mouse; True once its button is up again."""
        released: bool = False
        for method, params in step:
            released = params["type"] == "mouseReleased"
            if self._data is not None:
                self._drag("drop" if released else "dragOver", params)
            else:
                if released:
                    self._devtools.evaluate("miniwobAgent.ask", "selected")
                self._devtools.call(method, **params)
                if params["buttons"] and not self._asked:
                    self._begin(params)
            if released:
                self._devtools.call("Input.setInterceptDrags", enabled=False)
        return released

    def _begin(self, params: dict[str, Any]) -> None:
        """Go on as the browser's own drag, if the page has heard of one."""
        self._asked = bool(self._devtools.evaluate("miniwobAgent.ask", "dragged"))
        if not self._asked:
            return
        end = time.monotonic() + LONGEST
        while self._devtools.dragged is None and time.monotonic() < end:
            self._devtools.call("Input.setInterceptDrags", enabled=True)
        self._data = self._devtools.dragged
        if self._data is not None:
            self._drag("dragEnter", params)
            self._drag("dragOver", params)

    def _drag(self, event: str, params: dict[str, Any]) -> None:
        """Send an event of the drag, where the mouse is."""
        where = {name: params[name] for name in ("x", "y", "modifiers")}
        self._devtools.call("Input.dispatchDragEvent", type=event, data=self._data, **where)
