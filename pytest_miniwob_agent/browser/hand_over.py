"""A page that is handed over to a program, which drives it through CDP.

The program's commands come in by a WebSocket on loopback, and go to the browser by a connection of
its own (`program`). In between the page's clock moves on by what the program asks: after input,
while it waits for a promise of the page, if it repeats a question, and by whole seconds if it
sleeps. A recording notes what of that is a matter of real time, and a replay does as noted
(`core.pace`). What the program does is seen by the page itself (page/witness.js).
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, Queue
from typing import Any, Protocol

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection
from websockets.sync.server import ServerConnection

from pytest_miniwob_agent.browser.commands import ALLOWED, CLOSES, EMPTY, fate
from pytest_miniwob_agent.browser.devtools import Message
from pytest_miniwob_agent.browser.endpoint import Endpoint
from pytest_miniwob_agent.browser.page import FINE_FRAME_MS, SETTLE_MS
from pytest_miniwob_agent.browser.program import (
    GOING,
    LONGEST,
    Connection,
    Names,
    Promise,
    question_digest,
)
from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.core.protocols import Driven

HISTORY = "Page.navigateToHistoryEntry"

TOUCHING = ("DOM.", "Input.", "Runtime.")
"""Beginnings of the names of commands that may do something to the page."""

ASKING = (
    "Accessibility.", "CSS.get", "DOM.", "DOMSnapshot.", "Page.capture", "Runtime.callFunctionOn",
    "Runtime.evaluate",
)  # fmt: skip
"""Beginnings of the names of commands with which a program may look whether something has come."""

ALIVE = "1"
"""What chromedriver evaluates before each command, to hear that the page answers."""

STEP = 100
"""Milliseconds of the page's clock that pass at once while a program waits for a promise."""

FRAMES = 6
"""Frames of the browser, about as long as `STEP`, that pass before each step if the promise is not
one of the page's scripts. A program's scripts have their own clock, which follows real time."""

POLL = 0.005
"""Wall-clock seconds between two looks at a program that waits for a promise and for a model."""

REPEATED, MOST_REPEATED = 1000, 30_000
"""Milliseconds of the page's clock that pass if a program asks the same a third time: first the
least, then as much again as has passed so. After the most nothing passes until it acts."""

SCRIPTS_RUN = "scripts of the program in the page's own world, which can change how it judges"
"""Begins the remark on a program that has run some."""

MORE_SCRIPTS = (
    "the page got further scripts while the program had it, which can change how it judges"
)
"""The remark on scripts such as a program inserts from a world of its own."""

SECOND = 1000
"""Milliseconds of the page's clock that pass at once while a program is silent."""

PAUSE = 2
"""Whole wall-clock seconds of silence after which the page goes on: the program sleeps, or waits
for an event."""

HELD = 0.5
"""Wall-clock seconds after which a request or dialog of the page that the program has not answered
stops the page: the program does something else first, and the page is read once it has answered."""

EARLY, LATE = 0.25, -0.5
"""Wall-clock seconds by which a silence may be longer than it seems, once it has ended, or shorter,
while it lasts. The program's own work in this process is no silence."""


PATIENCE = 300
"""Wall-clock seconds of silence that don't count in a replay. A program that is silent for longer
may be another one than that of the recording, and wait for what did not come there."""

INPUT, CALL, END = "input", "call", "end"
"""What comes besides commands that are not input: input, a model call, the end of the block."""


class BrowserPage(Protocol):
    """The page in its browser."""

    def witnessed(self, acted: bool) -> tuple[Driven, int] | None:
        """Let what a program did take effect; that, and the ms that have passed meanwhile.

        `acted` is True if the program has sent input. Without that, and if it did nothing: None.
        """

    def hear(self) -> None:
        """Let dialogs wait for the program; without that each gets a default answer."""

    def elapse(self, ms: int, repeated: bool) -> int:
        """Let so many ms pass on the page's clock, and return how many have.

        With `repeated`, only until something has come that is not to recur.
        """

    def has_more_scripts(self) -> bool:
        """True if the page has got scripts since it was handed over, beside the program's own."""

    def connect(self) -> ClientConnection:
        """Open a connection to the browser."""


def _off_cpu() -> float:
    """Wall-clock seconds that this process did not work, from any moment on."""
    return time.monotonic() - time.process_time()


def _asks(command: Message) -> bool:
    """True if a program may look with a command whether something has come."""
    looks: bool = command["method"].startswith(ASKING)
    return looks and command["params"].get("expression") != ALIVE


class HandedPage:
    """The page as a program gets it; every method may be called in any thread.

    Attributes:
        cdp_url, http_url: the addresses for CDP clients, with a secret in their path.
        port: the port for those that take no path; None without `open_port`.
    """

    def __init__(
        self,
        page: BrowserPage,
        tell: Callable[[Driven], str | None],
        pace: Pace,
        target: str,
        timeout: float,
        on_app: bool,
        open_port: bool = False,
    ) -> None:
        self._page, self._tell, self._pace, self._timeout = page, tell, pace, timeout
        pace.begin()
        self._names = Names(target)
        self._on_app = on_app
        self._clock = ThreadPoolExecutor(1)  # for what lets time pass on the page
        self._connections: list[Connection] = []
        self._workers: list[threading.Thread] = []  # one of each connection
        self._taken_back = False
        self._stopping: set[str] = set()  # what has stopped the page, for `HELD` or longer
        self._calls = 0  # of the model that are under way
        self._acted = self._touched = False  # since the page was read: input, or any script
        self._asked: Counter[str] = Counter()  # questions since time passed
        self._repeated = 0  # ms that passed as the program asked the same again
        self._moved = False  # the clock, or may have, by real time since something came
        self._waited = ""  # the repeated question for which it has moved
        # Since the program acted: ms of the page's clock, wall-clock seconds of its silences, and
        # when the present silence began.
        self._passed, self._silent, self._began = 2 * SETTLE_MS, 0.0, _off_cpu()
        self._pressed = self._dragging = False  # the mouse's button, and then moves
        self._done, self._reward = False, 0.0
        self._error: BaseException | None = None
        self._endpoints = [self._listen(secrets.token_urlsafe(16))]
        address = self._endpoints[0].address
        self.cdp_url, self.http_url = f"ws://{address}", f"http://{address}"
        self.port: int | None = None
        if open_port:
            self._endpoints.append(self._listen())
            self.port = self._endpoints[-1].port

    def _listen(self, secret: str = "") -> Endpoint:
        return Endpoint(self._serve, self._page.connect, self._names, self._timeout, secret)

    @property
    def done(self) -> bool:
        """True once the page has judged."""
        self._catch_up(self._until(EARLY), self._pace.stops)
        return self._done

    @property
    def reward(self) -> float:
        """The page's verdict; 0 until `done`."""
        return self._reward

    @property
    def over(self) -> bool:
        """True once the page has judged, or the program may do nothing more; time stands still."""
        return self._done or bool(self._refusal())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let no time pass on the page, once what the program did before is written down."""
        self._arrive(CALL)
        if self._error is not None:
            raise self._error
        self._pace.act()
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._began = _off_cpu()
            self._forget_questions()

    def close(self) -> None:
        """Take the page back from the program, whatever that does; raise the error of the page."""
        self._arrive(END)
        self._taken_back = True
        for connection in self._connections:
            connection.close()
        for endpoint in self._endpoints:
            endpoint.close()
        for worker in self._workers:
            worker.join()  # it would let time pass on the next page
        self._clock.shutdown()  # after what is under way
        failures = [one.failure for one in self._connections if one.failure]
        self._error = self._error or next(iter(failures), None)
        # Not how often: a program that polls does so as fast as the machine.
        if scripts := set[str]().union(*(one.scripts for one in self._connections)):
            self._tell(Driven(remark=f"{SCRIPTS_RUN}: {len(scripts)}"))
        if self._error is None and self._page.has_more_scripts():
            self._tell(Driven(remark=MORE_SCRIPTS))
        if self._error is not None:
            raise self._error

    def _refusal(self) -> str | None:
        return str(self._error or "") or self._tell(Driven())

    def _arrive(self, what: str, command: Message | None = None) -> None:
        """Bring the page's clock to where it is when something comes, and note where that is."""
        pace, name = self._pace, self._pace.name(what)
        # While the model is asked, no time passes.
        move = None if self._calls else pace.due(name, last=what in (INPUT, CALL, END))
        # Input comes at once, unless the program has slept before it.
        slept = what == INPUT and (move is not None or self._slept(EARLY) >= PAUSE)
        held = move is not None and move.held
        stops = None if not pace.strict or (what == END and not held) else held
        ms = move.ms if move else SECOND * self._slept(EARLY)
        promises = [promise for one in self._connections if (promise := one.promise)]
        self._moved |= slept or any(one.left < LONGEST for one in promises)
        held = (slept or what != INPUT) and self._catch_up(ms, stops)
        self._silent, self._began = self._silence(), _off_cpu()
        moved, ms = self._moved or self._waited not in ("", what), self._passed
        if moved:
            self._moved, self._waited = False, ""
        if command and _asks(command) and not self._calls:
            held |= self._take_question(what, command, stops)
        pace.note(name, ms, moved=moved or held, held=held, waits=bool(promises))

    def _catch_up(self, ms: int, stops: bool | None = None) -> bool:
        """Let what the program has done take effect, and so many ms pass since it acted.

        The page is read at each second: what has come by itself takes time to take effect, and a
        recording, which follows real seconds, and a replay, which knows the end, are to agree.
        Returns what `_run` does.
        """

        def keep_up() -> None:
            self._read_page()
            before = -1
            while before < self._passed < ms:
                self._moved, before = True, self._passed
                self._elapse(min(ms, SECOND * (before // SECOND + 1)) - before)
                if any(one.promise for one in self._connections):
                    self._asked.clear()  # as in a recording, in which it passed for the promise
                self._read_page()

        return self._run(keep_up, stops)

    def _until(self, more: float) -> int:
        """The ms that are to have passed since the program acted, if nothing comes by now."""
        move = None if self._calls else self._pace.due()
        return move.ms if move else SECOND * self._slept(more)

    def _slept(self, more: float) -> int:
        """Whole wall-clock seconds that the program slept since it acted, as far as they count."""
        return max(0, int(self._silence() + more - PATIENCE * self._pace.strict))

    def _run(self, work: Callable[[], None], stops: bool | None = None) -> bool:
        """Do what lets time pass on the page, but don't wait if that waits for the program.

        True if it does: after `HELD`, at once if the page is known to stop (`stops`), and never if
        it is known that it does not.
        """
        running = self._clock.submit(work)
        before = self._stopping
        while not wait([running], POLL if stops or self._stopping & self.held else HELD).done:
            held = self.held
            if stops is not False and (held if stops else before & held):
                self._stopping = held
                running.add_done_callback(self._take_error)
                return True
            before = held
        self._stopping = set()
        running.result()
        return False

    def _take_error(self, running: Future[None]) -> None:
        # Nobody waits for it.
        self._error = self._error or running.exception()

    @property
    def held(self) -> set[str]:
        """What the program has not answered: ids of the page's requests, and of its dialog."""
        return {one for connection in self._connections for one in connection.held}

    def _read_page(self) -> None:
        if self._refusal() or not self._touched:
            return
        for connection in self._connections:
            connection.await_answers()
        acted, self._acted, self._touched = self._acted, False, False
        try:
            if found := self._page.witnessed(acted):
                driven, passed = found
                self._done = driven.after is not None and driven.after.done
                self._reward = driven.after.reward if driven.after is not None else 0.0
                self._passed += passed
                self._tell(driven)
        except MiniwobError as error:
            self._error = error

    def _elapse(self, ms: int, *, repeated: bool = False) -> None:
        if self._refusal():
            return
        self._touched = True
        try:
            self._passed += self._page.elapse(ms, repeated)
        except MiniwobError as error:
            self._error = error

    def _silence(self) -> float:
        """Wall-clock seconds since the program acted in which it waited for nothing."""
        waits = self._calls or any(one.waits for one in self._connections)
        return self._silent + (0 if waits or not self._connections else _off_cpu() - self._began)

    def _answered(self) -> None:
        # Another silence begins.
        self._began = _off_cpu()

    def _forget_questions(self) -> None:
        self._asked.clear()
        self._repeated = 0

    def _take_question(self, what: str, command: Message, stops: bool | None) -> bool:
        """Let time pass before the third of the same questions: the program waits for something.

        Returns what `_run` does.
        """
        question = json.dumps({**command, "id": None}, sort_keys=True)
        self._asked[question] += 1
        if self._asked[question] < 3:
            return False
        self._asked = Counter({question: 2})
        return self._run(partial(self._pass_for_question, what), stops)

    def _pass_for_question(self, what: str) -> None:
        before, limit = self._passed, self._pace.limit(what)
        ms = min(max(REPEATED, self._repeated), MOST_REPEATED - self._repeated)
        ms = ms if limit is None else min(ms, limit - before)
        if ms > 0:
            self._waited = what
            self._elapse(ms, repeated=True)
            self._repeated += self._passed - before
            self._read_page()

    def _serve(self, client: ServerConnection, target: str | None) -> None:
        """Take a program's commands until it leaves; those for a target alone, if that is named.

        What the page itself may wait for goes to the browser at once, everything else in turn.
        """
        try:
            connection = Connection(
                client, self._page.connect(), self._names, self._timeout, self._answered
            )
            if target is not None:
                connection.attach(target)
        except Exception as error:  # noqa: BLE001 - nobody else would hear of it
            self._error = self._error or error
            return
        inbox: Queue[Message | None] = Queue()
        self._connections.append(connection)
        self._answered()
        worker = threading.Thread(target=self._work, args=(connection, inbox), daemon=True)
        self._workers.append(worker)
        worker.start()
        try:
            with suppress(ConnectionClosed, OSError):
                for text in client:
                    if command := self._parse(connection, text):
                        if self._is_urgent(connection, command):
                            goes_first = bool(self._pace.stops)
                            while goes_first and inbox.unfinished_tasks and not connection.lost:
                                time.sleep(POLL)  # the page was read before it was answered
                            connection.send(command)
                        else:
                            inbox.put(command)
        except Exception as error:  # noqa: BLE001 - nobody else would hear of it
            self._error = self._error or error
        finally:
            connection.close()
            inbox.put(None)

    def _work(self, connection: Connection, inbox: Queue[Message | None]) -> None:
        try:
            while not self._taken_back:
                promise, limit = connection.promise, self._pace.limit()
                stays = self._calls or (limit is not None and limit <= self._passed)
                try:
                    command = inbox.get(timeout=POLL * bool(stays) if promise else -LATE)
                except Empty:
                    if promise and not stays:
                        self._run(partial(self._pass_time, connection, promise))
                    elif not promise and (ms := self._until(LATE)) >= SECOND * PAUSE:
                        self._moved = True
                        self._catch_up(ms)
                    continue
                if command is None:
                    return
                self._carry_out(connection, command)
                inbox.task_done()
        except BaseException as error:  # noqa: BLE001 - who follows the run may end it
            self._error = error
        finally:
            connection.close()  # or the program would wait for ever

    def _parse(self, connection: Connection, text: str | bytes) -> Message | None:
        known: Message = {}
        try:
            command = json.loads(text)
            json.dumps(command, allow_nan=False)
            known = command if isinstance(command, dict) else {}
            method, params = known["method"], known.get("params") or {}  # nodriver sends []
            known["params"] = params
            strings = isinstance(method, str) and isinstance(known.get("sessionId", ""), str)
            if type(known["id"]) is int and strings and isinstance(params, dict):
                return connection.session | known
        except (ValueError, LookupError, TypeError, RecursionError):
            pass
        connection.reply(known, "a command is a JSON object with an id and a method")
        return None

    def _is_urgent(self, connection: Connection, command: Message) -> bool:
        passes = fate(command["method"]) == ALLOWED and not self._refused(connection, command)
        return passes and connection.is_urgent(command)

    def _refused(self, connection: Connection, command: Message) -> str | None:
        return self._refusal() or connection.refusal(command, on_app=self._on_app)

    def _carry_out(self, connection: Connection, command: Message) -> None:
        method = command["method"]
        is_input = method.startswith("Input.")
        self._arrive(INPUT if is_input else question_digest(command), command)
        if is_input:
            self._follow(method, command["params"])
            self._passed, self._silent = 0, 0.0
            self._forget_questions()
            self._pace.act()
        error = self._refused(connection, command)
        if connection.is_foreign(command):
            error = "Cannot find context with specified id"
        if method == HISTORY and not self._refusal() and self._traverse(connection, command):
            self._acted = self._touched = True
            connection.reply(command)
        elif fate(method) == CLOSES:  # Playwright waits for it even if it is refused
            if not error:
                why = "the program has closed the page, and can do nothing more on it"
                self._tell(Driven(remark=why))
            connection.detach()
            connection.reply(command, success=True)
        elif error:
            connection.reply(command, error)
        elif method == "Target.getTargets" and connection.left:
            connection.reply(command, targetInfos=[])
        elif (
            fate(method) == EMPTY
            or (is_input and self._done)
            or not self._goes(connection, command)
        ):
            connection.reply(command)
        else:
            if method == "Page.enable":
                self._run(self._page.hear)  # the program hears of dialogs
            connection.send(command)  # before the page may be read, in another thread
            self._acted |= is_input or method in GOING
            self._touched |= method.startswith((*TOUCHING, *GOING))

    def _follow(self, method: str, params: Mapping[str, Any]) -> None:
        # Scripts follow the mouse by frames or timers, before its next event.
        kind = params.get("type")
        if kind == "mouseWheel" and self._acted:
            self._catch_up(0)
        elif method == "Input.dispatchDragEvent" or self._dragging:
            self._run(partial(self._elapse, FINE_FRAME_MS))
        if kind in ("mousePressed", "mouseReleased"):
            self._pressed = kind == "mousePressed"
        self._dragging = self._pressed and (self._dragging or kind == "mouseMoved")

    def _goes(self, connection: Connection, command: Message) -> bool:
        """Note that a program goes to another page of an app; False if it may not act any more."""
        verb = GOING.get(command["method"])
        if verb is None:
            return True
        what = json.dumps(f"{verb} {command['params'].get('url', '')}".rstrip())
        params = {"expression": f"window.miniwobAgent?.go({what})"}
        found = connection.ask("Runtime.evaluate", params, command.get("sessionId"))
        return found.get("result", {}).get("result", {}).get("value") is not False

    def _traverse(self, connection: Connection, command: Message) -> bool:
        """Go to an entry of the page's own history; False if that is another page's."""
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
        if self._calls:
            return
        found = (
            {}
            if self._refusal()
            else connection.evaluate(promise, f"miniwobAgent.linger({step}, {frames})")
        )
        self._touched = True
        if step:
            self._pace.confirm()
            self._passed += step
            self._asked.clear()
        # If it is not one of the page's scripts, frames pass again before the next step.
        promise.begun = not (promise.begun and promise.own_world)
        promise.left -= step
        if self._refusal() or "exceptionDetails" in found.get("result", {}):
            promise.left = 0  # it is not of the page, or nobody waits any more
