"""A program's connection to the browser: messages pass through, with names that stay the same."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from websocket import WebSocket, WebSocketException
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

Message = dict[str, Any]
"""A message of the browser's protocol: a command, the answer to one, or an event."""

PAGE_ID = f"{1:032X}"
"""What a program gets for the page's target id, which differs from run to run."""

NODE_IDS = ("backendDOMNodeId", "backendNodeId", "backendNodeIds")
"""Fields with ids of nodes, which count on from page to page; programs show them to models."""

OWN_IDS = 1 << 30
"""Our own commands on a program's connection have ids from here on."""

LONGEST = 60_000
"""Milliseconds of the page's clock that pass for one promise."""

CLOSING = 5.0
"""Real seconds to wait until the browser has closed a connection."""

REFUSED = -32000
"""The code of an error with which the browser, too, refuses a command."""


class Names:
    """Names for a program of what differs from run to run, in the order in which it sees them."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._given: dict[int, int] = {}
        self._real: dict[int, int] = {}

    def to_program(self, text: str) -> Message:
        """Return a message of the browser, as the program gets it."""
        found: Message = json.loads(text.replace(self._target, PAGE_ID))
        if '"backend' in text:
            found = _with_nodes(found, self._give)
        return found

    def to_browser(self, message: Message) -> str:
        """Return a command of the program, as the browser gets it; an unknown node becomes 0."""
        text = json.dumps(_with_nodes(message, lambda given: self._real.get(given, 0)))
        return text.replace(PAGE_ID, self._target)

    def _give(self, real: int) -> int:
        given = self._given.setdefault(real, len(self._given) + 1)
        self._real[given] = real
        return given


def _with_nodes(value: Any, name: Callable[[int], int]) -> Any:
    """Return a message whose ids of nodes have other names."""
    if isinstance(value, list):
        return [_with_nodes(part, name) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _named(part, name) if key in NODE_IDS else _with_nodes(part, name)
        for key, part in value.items()
    }


def _named(value: Any, name: Callable[[int], int]) -> Any:
    if isinstance(value, list):
        return [_named(part, name) for part in value]
    return name(value) if isinstance(value, int) and value > 0 else value


@dataclass(eq=False)
class Promise:
    """A promise of the page that a program waits for.

    Attributes:
        session: the program's session with the page.
        own_world: True if it is not of the world of the page's scripts.
        left: milliseconds of the page's clock that may still pass for it.
        begun: True once what led to it is known to have run.
    """

    session: str
    own_world: bool
    left: int
    begun: bool = False


class Connection:
    """A connection of a program (`client`) with one to the browser that is its own."""

    def __init__(
        self, client: ServerConnection, browser: WebSocket, names: Names, timeout: float
    ) -> None:
        self._client, self._browser, self._names = client, browser, names
        self._timeout = timeout
        self._changed = threading.Condition()
        self._waiting: dict[int, Promise | None] = {}
        """The program's commands that are not answered; a promise may stay open for long."""
        self._own: dict[int, Message | None] = {}
        """Our own commands, and the answers to them."""
        self._worlds: set[tuple[str, str]] = set()
        """Sessions and ids of contexts that are not of the page's own scripts."""
        self._sessions: set[str] = set()
        """Sessions with the page itself."""
        self._closed = False
        browser.settimeout(None)  # a program may be silent for long
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, command: Message) -> None:
        """Pass a command on to the browser."""
        with self._changed:
            self._waiting[command["id"]] = self._promise_of(command)
        self._browser.send(self._names.to_browser(command))

    def reply(self, command: Message, **reply: Any) -> None:
        """Answer a command of the program with a `result`, or with an `error`, a text."""
        if isinstance(error := reply.get("error"), str):
            reply["error"] = {"code": REFUSED, "message": error}
        answer = {key: command[key] for key in ("id", "sessionId") if key in command}
        with suppress(ConnectionClosed):
            self._client.send(json.dumps(answer | reply))

    def wait_for(self, promise: Promise, expression: str) -> Message:
        """Have the page evaluate an expression that waits itself, as long as a promise is open.

        Return the answer; it is empty if the promise was faster.
        """
        params = {"expression": expression, "awaitPromise": True}
        return self._ask("Runtime.evaluate", params, promise)

    def _ask(self, method: str, params: Message, promise: Promise | None = None) -> Message:
        """Send a command of our own, in the order of those of the program."""
        number = OWN_IDS + len(self._own)
        command = {"id": number, "method": method, "params": params}
        if promise is not None:
            command["sessionId"] = promise.session
        with self._changed:
            self._own[number] = None
            self._browser.send(json.dumps(command))
            self._wait(
                lambda: (
                    self._own[number] is not None
                    or (promise is not None and promise not in self._waiting.values())
                )
            )
            return self._own[number] or {}

    def await_answers(self) -> None:
        """Wait until the browser has answered all but promises."""
        with self._changed:
            self._wait(lambda: all(promise is not None for promise in self._waiting.values()))

    def _wait(self, over: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: over() or self._closed, self._timeout)

    @property
    def promise(self) -> Promise | None:
        """The first promise that is open, and for which time may pass."""
        with self._changed:
            open_ones = (promise for promise in self._waiting.values() if promise is not None)
            return next((promise for promise in open_ones if promise.left > 0), None)

    def detach(self) -> None:
        """End the program's sessions with the page, as if it were closed."""
        for session in sorted(self._sessions):
            self._ask("Target.detachFromTarget", {"sessionId": session})

    def close(self) -> None:
        """Close both connections, in any state; the browser then forgets what the program set."""
        with suppress(WebSocketException, OSError):
            self._browser.send_close()
            self._reader.join(CLOSING)
        self._browser.shutdown()
        self._client.close()

    def _read(self) -> None:
        """Pass on what the browser sends, until one of both is gone."""
        with suppress(ConnectionClosed, WebSocketException, OSError):
            while text := self._browser.recv():
                message = self._names.to_program(str(text))
                if not self._is_own(message):
                    self._client.send(json.dumps(message))
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._client.close()

    def _is_own(self, message: Message) -> bool:
        """Take notice of a message; True if it is not for the program."""
        number, params = message.get("id", 0), message.get("params", {})
        with self._changed:
            match message.get("method"):
                case None if number in self._own:
                    self._own[number] = message
                case None:
                    self._waiting.pop(number, None)
                case "Runtime.executionContextCreated":
                    context = params["context"]
                    if not context.get("auxData", {}).get("isDefault", True):
                        session = str(message.get("sessionId"))
                        self._worlds |= {(session, str(context[k])) for k in ("id", "uniqueId")}
                case "Target.attachedToTarget" if params["targetInfo"]["targetId"] == PAGE_ID:
                    self._sessions.add(params["sessionId"])
                case "Target.detachedFromTarget":
                    self._sessions.discard(params["sessionId"])
            self._changed.notify_all()
        return number in self._own

    def _promise_of(self, command: Message) -> Promise | None:
        """The promise that a command waits for, if it does."""
        params, session = command["params"], str(command.get("sessionId"))
        if not params.get("awaitPromise") and command["method"] != "Runtime.awaitPromise":
            return None
        names = [params.get(key) for key in ("contextId", "executionContextId", "uniqueContextId")]
        # The middle of an object's id is that of its context.
        for key in ("objectId", "promiseObjectId"):
            names += str(params.get(key, "")).split(".")[1:2]
        own_world = any((session, str(name)) in self._worlds for name in names)
        return Promise(session, own_world, LONGEST)
