"""A page that is handed over to a program, which drives it by the browser's own protocol.

The program's commands come in by a WebSocket on loopback, and go to the browser by a connection of
its own (`program`). In between the page's clock moves on: after input, and while the program waits
for a promise of the page. What the program does is seen by the page itself (page/witness.js).
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from websocket import WebSocket, WebSocketException
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from pytest_miniwob_agent.browser.commands import CLOSING, SWALLOWED, Commands, refusal
from pytest_miniwob_agent.browser.program import Connection, Message, Names, Promise
from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.observations import Transition
from pytest_miniwob_agent.core.protocols import ProgramLog

if TYPE_CHECKING:
    from websockets.http11 import Request, Response

HISTORY = "Page.navigateToHistoryEntry"

TOUCHING = ("DOM.", "Input.", "Runtime.")
"""Beginnings of the names of commands that may do something to the page."""

STEP = 100
"""Milliseconds of the page's clock that pass at once while a program waits for a promise."""

FRAMES = 6
"""Frames of the browser, about as long as `STEP`, that go by before each where a promise is not of
the page's own scripts: those of a program have a clock of their own, which goes by real time."""

POLL = 0.005
"""Real seconds between two looks at a program that waits for a promise and for a model."""

Look = Callable[[bool], tuple[Transition, Mapping[str, Any]] | None]
"""Lets what a program did take effect, and returns the page after that, and what it did.

It gets True if the program has sent input. Without that, and if it did nothing, it returns None.
"""


class HandedPage:
    """The page as a program gets it; every method may be called in any thread.

    Attributes:
        cdp_url: the address for clients of the browser's protocol, with a secret in its path.
    """

    def __init__(
        self,
        look: Look,
        log: ProgramLog,
        connect: Callable[[], WebSocket],
        target: str,
        timeout: float,
        allowed: Commands,
    ) -> None:
        self._look, self._log, self._connect, self._timeout = look, log, connect, timeout
        self._names = Names(target)
        self._allowed = allowed
        self._mutex = threading.RLock()
        self._connections: list[Connection] = []
        self._calls = 0  # of the model that are under way
        self._acted = self._touched = False  # since the page was read: input, or any script
        self._done = False
        self._error: MiniwobError | None = None
        self._path = f"/{secrets.token_urlsafe(16)}"
        self._server = serve(
            self._serve,
            "127.0.0.1",
            0,
            origins=[None],  # programs send none, and web pages always do
            process_request=self._check_path,
            compression=None,
            max_size=None,
            ping_interval=None,
            close_timeout=0.2,  # the program may hang, or wait in this thread
        )
        port = self._server.socket.getsockname()[1]
        self.cdp_url = f"ws://127.0.0.1:{port}{self._path}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def done(self) -> bool:
        """True once the page has judged."""
        self._catch_up()
        return self._done

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let no time pass on the page, once what the program did before is written down."""
        self._catch_up()
        if self._error is not None:
            raise self._error
        with self._mutex:
            self._calls += 1
        try:
            yield
        finally:
            with self._mutex:
                self._calls -= 1

    def close(self) -> None:
        """Take the page back from the program, whatever that does; raise the error of the page."""
        self._catch_up()
        for connection in self._connections:
            connection.close()
        self._server.shutdown()
        if self._error is not None:
            raise self._error

    def _refusal(self) -> str | None:
        return str(self._error) if self._error else self._log.refusal()

    def _catch_up(self) -> None:
        """Let what the program has done take effect, and write it down."""
        with self._mutex:
            if self._refusal() or not self._touched:
                return
            for connection in self._connections:
                connection.await_answers()
            acted, self._acted, self._touched = self._acted, False, False
            try:
                if found := self._look(acted):
                    self._done = found[0].done
                    self._log.acted(*found)
            except MiniwobError as error:
                self._error = error

    def _check_path(self, client: ServerConnection, request: Request) -> Response | None:
        if secrets.compare_digest(request.path, self._path):
            return None
        return client.respond(HTTPStatus.NOT_FOUND, "No page is handed over at this address.\n")

    def _serve(self, client: ServerConnection) -> None:
        """Carry out a program's commands until it leaves."""
        try:
            connection = Connection(client, self._connect(), self._names, self._timeout)
        except MiniwobError as error:
            self._error = error
            return
        with self._mutex:
            self._connections.append(connection)
        with suppress(ConnectionClosed, WebSocketException, OSError):
            while True:
                promise = connection.promise
                wait = POLL if self._calls else 0
                try:
                    text = client.recv(timeout=wait if promise else None)
                except TimeoutError:
                    if promise:
                        self._pass_time(connection, promise)
                    continue
                self._carry_out(connection, text)
        connection.close()

    def _carry_out(self, connection: Connection, text: str | bytes) -> None:
        known: Message = {}
        try:
            command = json.loads(text)
            json.dumps(command, allow_nan=False)
            known = command if isinstance(command, dict) else {}
            method, params = known["method"], known.setdefault("params", {})
            if not (
                type(known["id"]) is int and isinstance(method, str) and isinstance(params, dict)
            ):
                raise TypeError
        except (ValueError, LookupError, TypeError, RecursionError):
            connection.reply(known, "a command is a JSON object with an id and a method")
            return
        is_input = method.startswith("Input.")
        with self._mutex:
            if not is_input:
                self._catch_up()
            error = self._refusal() or refusal(method, params, self._allowed)
            if method == HISTORY and not self._refusal() and self._traverse(connection, known):
                self._acted = self._touched = True
                connection.reply(known)
            elif error:
                connection.reply(known, error)
            elif method in SWALLOWED or (is_input and self._done):
                connection.reply(known)
            elif method in CLOSING:
                self._log.remark("the program has closed the page, and can do nothing more on it")
                connection.detach()
                connection.reply(known, success=True)
            else:
                self._acted |= is_input
                self._touched |= method.startswith(TOUCHING)
                connection.send(known)

    def _traverse(self, connection: Connection, command: Message) -> bool:
        """Go to an entry of the page's own history; False where that is another page's."""
        session = command.get("sessionId")
        try:
            history = connection.ask("Page.getNavigationHistory", {}, session)["result"]
            ids = [entry["id"] for entry in history["entries"]]
            steps = ids.index(command["params"].get("entryId")) - history["currentIndex"]
        except (LookupError, ValueError):
            return False
        params = {"expression": f"miniwobAgent.traverse({steps})", "awaitPromise": True}
        answer = connection.ask("Runtime.evaluate", params, session)
        left = "error" in answer  # for an earlier page of your own
        return left or answer.get("result", {}).get("result", {}).get("value") is True

    def _pass_time(self, connection: Connection, promise: Promise) -> None:
        """Let the page's clock move on for a promise, once what led to it has run."""
        step = STEP if promise.begun else 0
        frames = FRAMES if promise.own_world and not promise.begun else 0
        with self._mutex:
            if self._calls:
                return
            found = (
                {}
                if self._refusal()
                else connection.evaluate(promise, f"miniwobAgent.linger({step}, {frames})")
            )
            self._touched = True
        promise.begun = not (promise.begun and promise.own_world)
        promise.left -= step
        if self._refusal() or "exceptionDetails" in found.get("result", {}):
            promise.left = 0  # it is not of the page, or nobody waits any more
