"""A program's connection to the browser.

What differs from run to run has names that stay.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from socket import SHUT_RDWR
from threading import Thread
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection
from websockets.sync.server import ServerConnection

from pytest_miniwob_agent.browser.commands import JUDGES, refusal
from pytest_miniwob_agent.browser.devtools import LAST_LIMIT, Client, Message, Sent
from pytest_miniwob_agent.browser.gate_commands import HANDED
from pytest_miniwob_agent.browser.page import WORLD
from pytest_miniwob_agent.core.data import ID, canonical_json, digest

PAGE_ID = f"{1:032X}"
"""What a program gets for the page's target id, which differs from run to run."""

LONGEST = 60_000
"""Milliseconds of the page's clock that pass for one promise."""

ANSWERS = (
    "Fetch.continueRequest", "Fetch.continueResponse", "Fetch.continueWithAuth",
    "Fetch.failRequest", "Fetch.fulfillRequest", "Page.handleJavaScriptDialog",
    "Runtime.runIfWaitingForDebugger",
)  # fmt: skip
"""Commands that the page may wait for: a request, a dialog or a window that opens stops it."""

CODE = ("Document", "Script")
"""Kinds of requests for what judges, or hands a trial over to the next page."""

REPLACING = {"binaryResponseHeaders", "responseCode", "responseHeaders", "url"}
"""Parameters of answers to a request: one of them is there if it is to get another answer."""

UNREAD = 0.2
"""Wall-clock seconds that a program has to read what is left for it, once the page is taken
back."""

AWAITING = "Runtime.awaitPromise"
"""The command that waits for a promise of before; others do with `awaitPromise`."""

DIALOG = "dialog"
"""Stands for the page's dialog among the ids of what it waits for."""

SCRIPTS = (
    "Page.addScriptToEvaluateOnNewDocument", "Runtime.callFunctionOn", "Runtime.evaluate",
    "Runtime.runScript",
)  # fmt: skip
"""Commands that run scripts: in the page's own world if they name no other."""

SCOPES = "[[Scopes]]"
"""What a function can reach, such as what our scripts keep from the page."""

# Ids of nodes, which count on from page to page; programs show them to models.
_NODES = re.compile(r'"backend(?:DOM)?NodeIds?"\s*:\s*(?:\d+|\[[\d\s,]*\])')

# What differs from run to run in a command: numbers that the browser gives, and made-up ids.
_VARYING = re.compile(
    r'"(?:\w*[cC]ontext|\w*[oO]bject|request)Id"\s*:\s*(?:"[^"]*"|\d+)|[\da-fA-F]{32}|' + ID.pattern
)


def question_digest(command: Message) -> str:
    """Return a digest of what a command asks, the same in every run."""
    asked = canonical_json([command["method"], command["params"]])
    return digest(_VARYING.sub("", asked))[:8]


class Names:
    """Names of what differs from run to run: nodes are numbered as the program first sees them."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._given: dict[str, str] = {"0": "0"}
        self._real: dict[str, str] = {"0": "0"}

    def to_program(self, text: str) -> str:
        """Return a message of the browser, as the program gets it."""

        def give(real: re.Match[str]) -> str:
            given = self._given.setdefault(real[0], str(len(self._given)))
            self._real[given] = real[0]
            return given

        text = _NODES.sub(lambda nodes: re.sub(r"\d+", give, nodes[0]), text)
        return text.replace(self._target, PAGE_ID)

    def to_browser(self, text: str) -> str:
        """Return a command of the program, as the browser gets it; an unknown node becomes 0."""

        def real(given: re.Match[str]) -> str:
            return self._real.get(given[0], "0")

        text = _NODES.sub(lambda nodes: re.sub(r"\d+", real, nodes[0]), text)
        return text.replace(PAGE_ID, self._target)


@dataclass(eq=False)
class Promise:
    """A promise that a program waits for in a session with the page.

    `own_world` is True if it is not of the page's own scripts. `left` are milliseconds of the
    page's clock that may still pass for it, and `begun` is True once what led to it has run.
    """

    session: str
    own_world: bool
    left: int = LONGEST
    begun: bool = False


@dataclass(eq=False)
class Passed(Sent):
    """A command that a program has sent, by its `id` there."""

    id: int = 0
    promise: Promise | None = None


class Connection(Client):
    """A connection of a program (`client`), with one to the browser that is its own."""

    def __init__(
        self,
        client: ServerConnection,
        browser: ClientConnection,
        names: Names,
        timeout: float,
        answered: Callable[[], None],
    ) -> None:
        self._client, self._names = client, names
        self._timeout, self._answered = timeout, answered
        self.session: Message = {}
        """Names the session of commands that name none: empty for the browser's own."""
        # Of sessions and ids of contexts that the program was told of: True if it is not the
        # page's own world.
        self._contexts: dict[tuple[str, str], bool] = {}
        self.scripts: set[str] = set()
        """Scripts that the program has run in the page's own world."""
        # With the page itself or its tab: each with the session by which it came, None for none.
        self._sessions: dict[str, str | None] = {}
        self._workers: set[str] = set()  # sessions with workers of the page
        self.left = False
        """True once the program has closed the page, as it sees it."""
        self.held: set[str] = set()
        """What the page waits for, and the program has not answered: requests, and a dialog."""
        self._kinds: dict[str, str] = {}  # of requests that the program was asked about
        self._outbox: SimpleQueue[str | None] = SimpleQueue()  # for the program, None is its end
        # In a thread, as the program may be slow to read, or gone.
        self._sender = Thread(target=self._deliver, daemon=True)
        self._sender.start()
        super().__init__(browser)

    def attach(self, target: str) -> None:
        """Have commands that name no session go to a target, which is all that is heard of."""
        self.session = {"sessionId": ""}
        attached = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})
        self.session = {"sessionId": attached.get("result", {}).get("sessionId", "")}

    def is_urgent(self, command: Message) -> bool:
        """True if the page may wait for a command, while it is awaited before another is sent."""
        return command["method"] in ANSWERS or command.get("sessionId") in self._workers

    def is_foreign(self, command: Message) -> bool:
        """True if a command names a context that the program was not told of, such as ours."""
        named = self._named_contexts(command)
        return command["params"].get("worldName") == WORLD or any(
            context not in self._contexts for context in named
        )

    def refusal(self, command: Message, *, on_app: bool) -> str | None:
        """Return why a command is refused, with its name; None if it is not."""
        method, params = command["method"], command["params"]
        if self._kinds.get(str(params.get("requestId"))) in CODE and REPLACING & params.keys():
            timed = "binaryResponseHeaders" in params or HANDED in json.dumps(params)
            if timed or not on_app:
                return f"{method} was refused: {JUDGES}"
        return refusal(method, params, on_app=on_app)

    @property
    def waits(self) -> bool:
        return bool(self._passed)

    def send(self, command: Message) -> None:
        if command["method"] in ANSWERS:
            self.held.discard(str(command["params"].get("requestId", DIALOG)))
        elif command["method"] == "Fetch.disable":
            self.held &= {DIALOG}
        if command["method"] in SCRIPTS and not self._in_own_world(command):
            self.scripts.add(question_digest(command))
        self.post(command, Passed(id=command["id"], promise=self._find_promise(command)))

    def _write(self, text: str) -> None:
        super()._write(self._names.to_browser(text))

    def reply(self, command: Message, error: str | None = None, **result: Any) -> None:
        """Answer a command of the program, with an error as the browser has them, or a result."""
        answer: Message = {key: command[key] for key in ("id", "sessionId") if key in command}
        answer |= {"error": {"code": -32000, "message": error}} if error else {"result": result}
        self._answered()
        self._tell(answer, json.dumps(answer, separators=(",", ":")))

    def _tell(self, message: Message, text: str) -> None:
        """Send the program a message, if it is of the target that it is connected to."""
        if not self.session:
            self._outbox.put(text)
        elif "id" in message or "sessionId" in message:
            named = json.dumps(self.session, separators=(",", ":"))[1:-1]
            self._outbox.put(text.replace(f",{named}", "", 1))

    def _deliver(self) -> None:
        try:
            with suppress(ConnectionClosed, OSError):
                while (text := self._outbox.get()) is not None:
                    self._client.send(text)
        except Exception as error:  # noqa: BLE001 - the program would wait for ever
            self.fail(error)
        self._client.close()

    def evaluate(self, promise: Promise, expression: str) -> Message:
        """Evaluate an expression after the program's; empty if its promise is fulfilled before."""
        params = {"expression": expression, "awaitPromise": True}
        return self.ask("Runtime.evaluate", params, promise.session, promise)

    def ask(
        self,
        method: str,
        params: Message,
        session: str | None = None,
        promise: Promise | None = None,
    ) -> Message:
        """Send a command of our own; its answer, empty if the promise is fulfilled before."""
        command = {"method": method, "params": params}
        sent = self.post(command if session is None else command | {"sessionId": session})
        self._wait(lambda: sent.answer or (promise and promise not in self._promises))
        return sent.answer

    @property
    def _passed(self) -> list[Passed]:
        """The program's commands that the browser has not answered."""
        with self.changed:
            return [one for one in self._waiting.values() if isinstance(one, Passed)]

    @property
    def _promises(self) -> list[Promise]:
        return [one.promise for one in self._passed if one.promise]

    def await_answers(self) -> None:
        """Wait until the browser has answered all the program's commands but promises."""
        self._wait(lambda: all(one.promise for one in self._passed))

    def _wait(self, over: Callable[[], Any]) -> None:
        end = time.monotonic() + LAST_LIMIT
        with self.changed:
            while not self.changed.wait_for(lambda: over() or self.lost, self._timeout):
                if not self.held or time.monotonic() >= end:  # or the browser waits for the program
                    break

    @property
    def promise(self) -> Promise | None:
        """The first promise that is open, and for which time may pass."""
        return next((one for one in self._promises if one.left > 0), None)

    def detach(self) -> None:
        """End the program's sessions with the page, as if it were closed."""
        self.left = True
        for session, parent in sorted(self._sessions.items()):
            self.ask("Target.detachFromTarget", {"sessionId": session}, parent)

    def close(self) -> None:
        """Close both connections, in any state; the browser then forgets what the program set."""
        super().close()
        self._sender.join(UNREAD)
        if self._sender.is_alive():
            with suppress(OSError):
                self._client.socket.shutdown(SHUT_RDWR)

    def _lose(self, why: str) -> None:
        self.held.clear()
        super()._lose(why)
        self._outbox.put(None)

    def _take(self, text: str) -> None:
        text = self._names.to_program(text)
        message = json.loads(text)
        if "id" in message:
            self._pass_on(message, text)
        elif self._take_notice(message):
            self._tell(message, text)

    def _pass_on(self, message: Message, text: str) -> None:
        sent = self._take_answer(message)
        if isinstance(sent, Passed):
            self._answered()
            result = message.get("result", {})
            if world := result.get("executionContextId"):
                self._contexts[str(message.get("sessionId")), str(world)] = True
            if SCOPES in text and "internalProperties" in result:
                found = [one for one in result["internalProperties"] if one["name"] != SCOPES]
                result["internalProperties"] = found
                text = json.dumps(message, separators=(",", ":"))
            self._tell(message, text.replace(f'"id":{message["id"]}', f'"id":{sent.id}', 1))

    def _take_notice(self, message: Message) -> bool:
        """Take notice of an event; False if it is not for the program."""
        params = message.get("params", {})
        with self.changed:
            match message.get("method"):
                case "Runtime.executionContextCreated":
                    context, session = params["context"], str(message.get("sessionId"))
                    if context["name"] == WORLD:
                        return False
                    other = not context.get("auxData", {}).get("isDefault", True)
                    self._contexts |= {
                        (session, str(context[key])): other for key in ("id", "uniqueId")
                    }
                case "Target.attachedToTarget" if (
                    params["targetInfo"]["targetId"] == PAGE_ID
                    or params["targetInfo"]["type"] == "tab"
                ):
                    self._sessions[params["sessionId"]] = message.get("sessionId")
                case "Target.attachedToTarget" if "worker" in params["targetInfo"]["type"]:
                    self._workers.add(params["sessionId"])
                case "Fetch.requestPaused" | "Fetch.authRequired":
                    self.held.add(params["requestId"])
                    self._kinds[params["requestId"]] = params["resourceType"]
                case "Page.javascriptDialogOpening":
                    self.held.add(DIALOG)
                case "Page.javascriptDialogClosed":
                    self.held.discard(DIALOG)
                case "Target.detachedFromTarget":
                    self._sessions.pop(params["sessionId"], None)
            self.changed.notify_all()
        return True

    def _find_promise(self, command: Message) -> Promise | None:
        if not command["params"].get("awaitPromise") and command["method"] != AWAITING:
            return None
        return Promise(str(command.get("sessionId")), self._in_own_world(command))

    def _named_contexts(self, command: Message) -> list[tuple[str, str]]:
        params, session = command["params"], str(command.get("sessionId"))
        keys = ("contextId", "executionContextId", "uniqueContextId")
        return [(session, str(params[key])) for key in keys if key in params]

    def _in_own_world(self, command: Message) -> bool:
        """True if a command is for a world of the program's, or for a worker."""
        params, session = command["params"], str(command.get("sessionId"))
        if "worldName" in params or session in self._workers:
            return True
        # The middle of an object's id is that of its context.
        ids = [str(params.get(key, "")).split(".") for key in ("objectId", "promiseObjectId")]
        objects = [(session, parts[1]) for parts in ids if len(parts) > 1]
        return any(self._contexts.get(one) for one in [*self._named_contexts(command), *objects])


GOING = {"Page.navigate": "go to", "Page.reload": "reload"}
"""Commands that are actions of the trial, as those are called."""
