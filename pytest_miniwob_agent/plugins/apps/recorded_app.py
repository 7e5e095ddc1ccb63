"""The app of an item: running and recorded, or its tape."""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from pytest_miniwob_agent.cassettes.drift import diff
from pytest_miniwob_agent.cassettes.folder import TRAFFIC
from pytest_miniwob_agent.cassettes.traffic import (
    SHOWN,
    Bodies,
    Exchange,
    Traffic,
    Trial,
    body_digest,
)
from pytest_miniwob_agent.core.app import (
    REFUSED,
    AppTask,
    AppTrial,
    Beginning,
    PageMessage,
    PageRequest,
    PageResponse,
    url_origin,
)
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.code_digest import code_digest
from pytest_miniwob_agent.core.data import MASKS, Mask, masked
from pytest_miniwob_agent.core.decoding import find_charset
from pytest_miniwob_agent.core.errors import (
    CassetteError,
    CassetteNotWritten,
    Cause,
    Drift,
    NotRecorded,
    PageError,
)
from pytest_miniwob_agent.core.files import display_path, write_atomically
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
from pytest_miniwob_agent.plugins.apps.leaks import Leaks, Searched
from pytest_miniwob_agent.screen import render

READY = 30.0
"""Seconds after which a trial is not waited for any more that can't begin."""

SLOWER = 10.0
"""Seconds for which a silent app is awaited that has sent less than when it was recorded."""

SCREEN_LINES = 10
"""Lines of the screen in the message about that."""

TOKEN = Mask("token", r"[\w-]{32,}")
"""What an app draws at random for each form."""

LEAVE = "LEAVE"
"""What a page does with a socket that it leaves behind: not on the tape."""


class Origin(Protocol):
    """What answers live requests."""

    @property
    def origins(self) -> list[str]:
        """The origins in the browser."""

    def begin_trial(self, clock: float) -> None:
        """Forget what the trial before has left open; the page's clock is at so many seconds."""

    def answer(self, request: PageRequest, crowded: Callable[[], bool]) -> PageResponse | None:
        """Answer a request; None if nothing comes."""

    def messages(self, now: float, *, at_once: bool) -> list[PageMessage] | None:
        """Return what has come, at a time of the page's clock; None while more may come.

        With `at_once` nothing more is waited for.
        """


class RecordedApp:
    """The app of an item: its tape as long as that goes, or the running app, which is recorded.

    An item is replayed whole, or live whole: `go_live` begins it again with the app. If it is
    checked, the app runs and its tape stays as it is, until `go_live` records it again.

    Args:
        task: the task.
        seed: the case's seed.
        limits: the item's; what the tape has beyond them need not be played.
        folder: the cassette folder.
        stem: the item's cassette in it.
        start: starts the app; its value for `setup` and `reward`, and what answers. None for a
            replay alone.
        anew: True to record whatever is on the tape.
        checks: True to check the app as it is now, if there is a tape; else the app is recorded.
        records: True if the tape may be written.
        searched: what was found in bodies that other items have stored.

    Attributes:
        screen_version: that of the tape (`observations.SCREEN_VERSION`); None if no tape is to be
            played, until it is set.
        clock: the page's clock at the beginning of a trial that is recorded now.
    """

    def __init__(
        self,
        task: AppTask,
        seed: int,
        limits: Limits,
        folder: Path,
        stem: str,
        start: Callable[[], tuple[Any, Origin]] | None,
        *,
        anew: bool = False,
        checks: bool = False,
        records: bool = True,
        searched: Searched | None = None,
    ) -> None:
        self.path = folder / f"{stem}{TRAFFIC}"
        self._searched = {} if searched is None else searched
        self._leaks = Leaks(task, self.path, self._searched)
        self._task, self._seed, self._limits, self._start = task, seed, limits, start
        self._bodies = Bodies(folder)
        self._app: tuple[Any, Origin] | None = None
        self._recorded: Traffic | None = None  # of an app that is checked
        self._records = records
        self._code = {
            name: digest
            for name in ("setup", "reward")
            if (function := getattr(task, name)) and (digest := code_digest(function))
        }
        self._traffic: Traffic | None = None
        self._trial = Trial("", "")
        self._left: list[Exchange] = []  # of the trial, in a replay
        self._coming: list[dict[str, Any]] = []  # messages of the trial, on a tape
        self._number = self._questions = 0
        self._made = 0  # strict requests
        self._requests: list[PageRequest] = []
        self._failures: list[str] = []  # what is said of errors of the network
        self._now, self._asked = 0.0, 0  # the page's clock, and how often the page has asked since
        self._in_real_time = False
        self._ahead: float | None = None  # seconds of real time that were ahead of the page's clock
        self._silent: float | None = None  # since when the app is silent, though more was recorded
        self.screen_version: int | None = None
        self.clock: float | None = int(time.time()) if task.clock is None else task.clock
        if self.can_go_live and (anew or not self.path.exists()):
            self.go_live()
        elif self.path.exists():
            self._traffic = Traffic.load(self.path)
            self.screen_version, self.clock = self._traffic.screens, self._traffic.clock
            if checks and start is not None:
                self._recorded, self._app = self._traffic, start()
                self.rewind()

    @property
    def goal(self) -> str:
        return self._task.goal_text(self._seed)

    @property
    def live(self) -> bool:
        return self._app is not None

    @property
    def can_go_live(self) -> bool:
        """True if the episode may begin again with the running app, which is recorded."""
        return self._records and self._start is not None and (self.checked or not self.live)

    @property
    def replayed(self) -> bool:
        """True if the tape alone has answered."""
        return not self.live and self._traffic is not None

    @property
    def checked(self) -> bool:
        """True if the app runs and its tape stays as it is."""
        return self._recorded is not None

    def go_live(self) -> None:
        """Start the app, unless it runs; the episode begins again, and is recorded."""
        assert self._start is not None
        self._recorded = None
        self._app = self._app or self._start()
        self.rewind()

    @contextmanager
    def as_recorded(self) -> Iterator[None]:
        """In a block, have the tape of a checked app answer in its place."""
        app, now, then = self._app, self._traffic, self._recorded
        self._app, self._traffic, self._recorded = None, then, None
        self.rewind()
        try:
            yield
        finally:
            self._app, self._traffic, self._recorded = app, now, then

    def rewind(self) -> None:
        if self._app is not None:
            self._traffic = Traffic(self._app[1].origins, allow=list(self._task.allow))
        self._number, self._left, self._failures = 0, [], []
        self._leaks = Leaks(self._task, self.path, self._searched)

    def begin_trial(self) -> Beginning:
        self._end_trial()
        self._leaks.check()
        self._questions = self._made = self._asked = 0
        self._requests = []
        goal, start = self._task.goal_text(self._seed), self._task.start_path(self._seed)
        if self._app is not None:
            assert self._traffic is not None
            self._coming, self._silent = [], None
            # A checked app must still get the task that was recorded.
            if self._recorded is not None and self._number < len(self._recorded.trials):
                then = self._recorded.trials[self._number]
                self._coming = [*filter(_is_of_socket, then.messages)]
                self._check_task(then, goal, start)
            self._traffic.clock = self.clock
            self._app[1].begin_trial(self._task.initial_clock(self.clock))
            if self._task.setup is not None:
                _outside_of_loops(self._task.call, "setup", self._app[0], self._seed)
            self._trial = Trial(goal, start)
            self._traffic.trials.append(self._trial)
            self._may_keep(f"the goal of trial {self._number + 1}", goal, replaced=False)
            self._may_keep(f"the start of trial {self._number + 1}", start, replaced=False)
        else:
            if not self.path.exists():
                raise NotRecorded(f"there is no traffic {display_path(self.path)}")
            self._traffic = self._traffic or Traffic.load(self.path)
            if self._number == len(self._traffic.trials):
                raise self._drift(f"trial {self._number + 1} was not recorded")
            self._trial = self._traffic.trials[self._number]
            self._left = list(self._trial.exchanges)
            self._coming = list(self._trial.messages)
            self._check_task(self._trial, goal, start)
            self._check_code(self._traffic.code)
        self._number += 1
        traffic = self._traffic
        return Beginning(goal, traffic.origins, start, self._number, traffic.clock)

    def _check_code(self, then: Mapping[str, str]) -> None:
        for name, digest in then.items():
            function = getattr(self._task, name, None)
            if function is None or self._code.get(name, digest) != digest:
                what = f"{name} of AppTask {self._task.name!r} is not what it was"
                hint = "--miniwob-app=live runs it as it is now, with the recorded answers"
                raise self._drift(what, [hint], "judge")

    @property
    def remark(self) -> str:
        """What the user must know of the app, or of the judge of a replay; empty for nothing."""
        if self._failures:
            shown = "; ".join(dict.fromkeys(self._failures))
            return f"{display_path(self.path)}: {shown}"
        if self.live or self._traffic is None or self._task.reward is None:
            return ""
        if "reward" in self._traffic.code:
            return ""
        return (
            "there are recordings on apps that don't know their judge, so a change of it is not "
            "noticed: pytest --miniwob-app=live --miniwob-record=new_episodes notes it, for nothing"
        )

    def _check_task(self, then: Trial, goal: str, start: str) -> None:
        if then.goal != goal:
            raise self._drift("another goal", diff(then.goal, goal), "goal")
        if then.start != start:
            raise self._drift(f"the start is {start!r} now, and was {then.start!r}")

    def answer(
        self, request: PageRequest, step: int, crowded: Callable[[], bool]
    ) -> PageResponse | None:
        """Answer a request; raises a `Drift` if it is not on the tape, and as the live app does."""
        if request.method == LEAVE:
            return None if self._app is None else self._app[1].answer(request, crowded)
        assert self._traffic is not None
        if url_origin(re.sub("^ws", "http", request.url)) not in self._traffic.origins:
            what = request.kind if request.socket else request.method
            return PageResponse(
                REFUSED,
                remark=f"a request was refused, as it leads out of the app: {what} {request.url}; "
                "AppTask(origins=[...]) allows further ones",
            )
        self._requests.append(request)
        self._made += request.strict and request.kind != "Ping"  # which nobody waits for
        if self._app is None:
            return self._replay(request, step)
        answer = self._app[1].answer(request, crowded)
        text = request.sent[:SHOWN].decode("utf-8", "replace")
        exchange = Exchange(
            step, request.kind, request.method, request.url, body_digest(request.sent), text
        )
        exchange.socket = request.socket
        self._may_keep(request, request.url, replaced=False)
        self._may_keep(f"what is sent by {request}", request.sent, replaced=False)
        if answer is not None:
            exchange.failed = answer.status == REFUSED
            self._failures += [answer.remark] if exchange.failed else []
            exchange.status = None if exchange.failed else answer.status
            exchange.headers, exchange.socket = _visible_headers(answer.headers), answer.socket
            exchange.body = self._keep(f"the answer to {request}", answer)
            if not self._trial.exchanges and (answer.status == 404 or answer.status >= 500):
                raise PageError(
                    f"the app answers {request}, with which AppTask {self._task.name!r} begins, "
                    f"with the status {answer.status}: correct its `start`, or the app"
                )
            challenge = answer.header("www-authenticate")  # a script's request may fail by it
            if answer.status == 401 and request.kind == "Document" and "Basic" in challenge:
                raise PageError(
                    f"the app asks for a user and password at {request}, by HTTP basic "
                    "authentication: write USER:PASSWORD@ before the host in its address"
                )
        self._trial.exchanges.append(exchange)
        return answer

    def _may_keep(
        self, place: object, data: Any, charset: str = "utf-8", *, replaced: bool
    ) -> bool:
        """True unless data holds a secret; of an app that is checked nothing is kept."""
        return not self.checked and self._leaks.search(place, data, charset, replaced=replaced)

    def _keep(self, place: str, answer: PageResponse) -> str:
        """Keep the body of an answer; return its digest."""
        headers = [{name: value} for name, value in _visible_headers(answer.headers)]
        self._may_keep(f"a header of {place}", headers, replaced=True)
        charset = find_charset(answer.header("content-type"), answer.body)
        may = self._may_keep(place, answer.body, charset, replaced=answer.is_text)
        return self._store(answer.body) if may else body_digest(answer.body)

    def _store(self, body: bytes) -> str:
        try:
            return self._bodies.write(body)
        except OSError as error:
            raise CassetteNotWritten(f"an answer can't be kept: {error}") from None

    def messages(self, now: float) -> list[PageMessage] | None:
        """Return what has come for the page, which is idle; None while more may come."""
        if now != self._now:
            self._now, self._asked = now, 0
        came = self._live_messages() if self.live else self._replayed_messages()
        self._asked += came is not None
        return came

    def _live_messages(self) -> list[PageMessage] | None:
        assert self._app is not None
        if self._is_too_early():
            return None
        came = self._app[1].messages(self._now, at_once=self._in_real_time)
        if came == [] and self._is_slower():
            return None
        place = {"after": self._made, "at": self._now}
        place |= {"turn": self._asked} if self._asked else {}
        for message in came or ():
            self._failures += filter(None, [message.get("remark")])
            self._trial.messages.append(self._to_line(message) | place)
        return came

    def _is_slower(self) -> bool:
        """True for a while if the app has sent less by sockets than is on the tape until now."""
        due = sum(one["after"] <= self._made and one["at"] <= self._now for one in self._coming)
        if self._in_real_time or sum(map(_is_of_socket, self._trial.messages)) >= due:
            self._silent = None
            return False
        self._silent = self._silent or time.monotonic()
        return time.monotonic() - self._silent < SLOWER

    def _replayed_messages(self) -> list[PageMessage]:
        due = []
        while self._coming and self._is_due(self._coming[0]):
            due.append(self._from_line(self._coming.pop(0)))
        return due

    def _is_due(self, line: dict[str, Any]) -> bool:
        # When it came, the page had made as many requests, and its clock was there.
        at = line["at"], line.get("turn", 0)
        return bool(line["after"] <= self._made and at <= (self._now, self._asked))

    @contextmanager
    def in_real_time(self) -> Iterator[None]:
        """In a block, let the page's clock go no faster than real time, if the app is live.

        The page's clock stands still while `messages` returns None.
        """
        self._in_real_time, self._ahead = self.live, None
        try:
            yield
        finally:
            self._in_real_time = False

    def _is_too_early(self) -> bool:
        # The page's clock may be ahead of real time by what it was when the block began.
        if not self._in_real_time:
            return False
        ahead = time.monotonic() - self._now / 1000
        self._ahead = ahead if self._ahead is None else self._ahead
        return ahead < self._ahead

    def _to_line(self, message: PageMessage) -> dict[str, Any]:
        line = {name: value for name, value in message.items() if name != "remark"}
        where = f"message {len(self._trial.messages) + 1} of trial {self._number}"
        if answer := line.pop("response", None):
            headers = _visible_headers(answer.headers)
            line |= {"status": answer.status, "headers": headers, "stream": answer.socket}
            line["body"] = self._keep(where, answer)
            return line
        data, binary = line.get("data", ""), line.get("binary", False)
        others = {name: value for name, value in line.items() if name != "data"}
        self._may_keep(where, others, replaced=False)
        said = base64.b64decode(data) if binary else data.encode()
        may = self._may_keep(where, said, replaced=not binary)
        if len(data) > SHOWN and may:
            line["body"] = self._store(line.pop("data").encode())
        return line

    def _from_line(self, line: dict[str, Any]) -> PageMessage:
        message = dict(line)
        if "body" in line:
            digest = message.pop("body")
            body = self._bodies.read(digest)
            if "status" in line:
                headers = [(name, value) for name, value in line["headers"]]
                answer = PageResponse(line["status"], headers, body, line["stream"])
                return {"socket": line["socket"], "type": line["type"], "response": answer}
            try:
                message["data"] = body.decode()
                if line.get("binary"):
                    base64.b64decode(body, validate=True)
            except ValueError as error:
                file = display_path(self._bodies.path(digest))
                raise CassetteError(
                    f"the message {file} of {display_path(self.path)} can't be read: {error}"
                ) from None
        return message

    def _replay(self, request: PageRequest, step: int) -> PageResponse | None:
        key = (request.method, request.url, body_digest(request.sent), request.socket)
        found = next((one for one in self._left if one.key == key), None)
        if found is not None:
            self._left.remove(found)
        elif not request.strict:
            alike = [one for one in self._trial.exchanges if one.key == key]
            if not alike:
                return PageResponse(404)  # only some browsers ask
            found = alike[-1]
        if found is None:
            raise self._not_on_tape(request, step)
        if found.status is None:
            return PageResponse(REFUSED) if found.failed else None
        body = self._bodies.read(found.body)
        return PageResponse(found.status, found.headers, body, found.socket)

    def is_ready(self, trial: AppTrial, waited: float) -> bool:
        """Return True if the trial can begin.

        Raises:
            PageError: it can't, `READY` seconds after its page has been loaded.
            Drift: the same, but it could when it was recorded.
        """
        task = self._task
        if task.is_ready(replace(trial, requests=self._requests)):
            return True
        if waited < READY:
            return False
        why = f"{task.ready!r} is missing" if isinstance(task.ready, str) else "`ready` is not True"
        what = f"trial {self._number} can't begin {READY:g} s after its page was loaded, as {why}"
        if not self.live:
            raise self._drift(what)
        shown = render(trial.observation.elements).splitlines()[:SCREEN_LINES]
        raise PageError("\n  ".join([f"AppTask {task.name!r}: {what}. The page shows", *shown]))

    def judge(self, trial: AppTrial, *, driven: bool = False) -> float:
        """Return the reward of the live app's judge, of its tape, or of what the page shows.

        A page that is `driven` by a program is judged at any time: its requests decide.
        """
        self._leaks.check()
        self._questions += 1
        task, kept = self._task, self._trial
        trial = replace(trial, requests=self._requests)
        if task.solved_when is not None:
            solved = task.call("solved_when", trial)
            return 0.0 if solved is None else 1.0 if solved else -1.0
        if self._app is None:
            left = [one for one in kept.exchanges[: kept.made] if one in self._left]
            made = not any(one.request.strict for one in left)
            over = made if driven else self._questions >= kept.questions
            return kept.reward if over else 0.0
        said = _outside_of_loops(task.call, "reward", self._app[0], trial)
        if not isinstance(said or 0, int | float) or not -1 <= (said or 0) <= 1:
            raise PageError(
                f"the reward of AppTask {task.name!r} was {said!r}; it is a number from -1 to 1, "
                "and 0 while the task is undecided"
            )
        kept.reward, kept.questions = float(said or 0), self._questions
        kept.made = len(kept.exchanges)
        return kept.reward

    def _end_trial(self) -> None:
        """Check that a replayed trial has made all its requests; raises a `Drift`."""
        # The item may be allowed fewer steps than were recorded.
        within = [one for one in self._left if one.step <= self._limits.steps]
        missing = [one for one in within if one.request.strict]
        self._left = []
        if missing:
            named = "; ".join(map(str, missing))
            raise self._drift(f"of trial {self._number}, not made: {named}")

    def finish(self, calls: int, *, solved: bool) -> None:
        """End an episode of so many model calls: check it, or write what was recorded.

        The tape of a checked app takes over a changed `setup` and `reward` if they lead to the same
        verdict; that of `solved_when` is on no tape, so the task is to be solved.

        From then on the tape answers.
        """
        if self._traffic is None:
            return
        if self._recorded is not None:
            rewards = [
                [one.reward for one in each.trials] for each in (self._recorded, self._traffic)
            ]
            alike = solved if self._task.reward is None else rewards[0] == rewards[1]
            if self._records and alike:
                self._recorded.code = self._code
                self._write(self._recorded)
            return
        if self._app is None:
            if calls >= self._limits.calls:
                return  # it has ended within a trial
            self._end_trial()
            if self._number < min(len(self._traffic.trials), self._limits.trials):
                raise self._drift(f"trial {self._number + 1} was not played")
            return
        self._leaks.check()
        self._traffic.screens = self.screen_version or SCREEN_VERSION
        self._traffic.code = self._code
        recorded, self._app, self._traffic = self._traffic, None, None
        self._write(recorded)

    def _write(self, traffic: Traffic) -> None:
        text = traffic.dump()
        if not self.path.exists() or self.path.read_text("utf-8") != text:
            try:
                write_atomically(self.path, text)
            except OSError as error:
                raise CassetteNotWritten(
                    f"{display_path(self.path)} can't be written: {error}"
                ) from None

    def _not_on_tape(self, request: PageRequest, step: int) -> Drift:
        same = [
            one
            for one in self._left
            if (one.method, one.url, one.key[3]) == (request.method, request.url, request.socket)
        ]
        if not same:
            return self._drift(f"{request} was made at step {step}, and was not recorded")
        sent = request.sent[:SHOWN].decode("utf-8", "replace")
        what = f"{request} was made with another body at step {step}"
        return self._drift(what, diff(same[0].shown, sent))

    def _drift(self, what: str, lines: Iterable[str] = (), kind: str = "traffic") -> Drift:
        text = "\n  ".join([f"{display_path(self.path)}: {what}", *lines])
        return Drift(text, [Cause(kind, what)], [what, *lines])

    def changed_requests(self) -> list[str]:
        """Return how the requests of a checked app differ from its tape's, as lines of `diff`."""
        assert self._recorded is not None
        assert self._traffic is not None
        changed: list[str] = []
        for then, now in zip(self._recorded.trials, self._traffic.trials, strict=False):
            last = max((one.step for one in now.exchanges), default=0)
            lines = [
                "\n".join(
                    masked(f"{one} {one.shown}".rstrip(), *MASKS, TOKEN)
                    for one in sorted(trial.exchanges, key=lambda one: (one.step, str(one)))
                    if one.request.strict and one.step <= last
                )
                for trial in (then, now)
            ]
            changed += [line for line in diff(*lines) if line[:2] in ("- ", "+ ")]
        return changed

    @property
    def last_request(self) -> str:
        """The last request that a replay must make, such as `POST /login`, or empty."""
        return next((str(one) for one in reversed(self._requests) if one.strict), "")


def _outside_of_loops(function: Callable[..., Any], *values: Any) -> Any:
    # Django's models refuse to work in a thread with an event loop
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(*values)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *values).result()


def _is_of_socket(message: Mapping[str, Any]) -> bool:
    # The parts of an answer come in any number.
    return bool(message["socket"] > 0)


def _visible_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    # The page goes on without cookies that no script sees.
    return [
        (name, value)
        for name, value in headers
        if not (name.lower() == "set-cookie" and "httponly" in value.lower())
    ]
