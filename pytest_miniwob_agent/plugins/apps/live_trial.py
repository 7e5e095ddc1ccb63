"""A trial of an item's app that runs, and is recorded."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from pytest_miniwob_agent.cassettes.traffic import SHOWN, Bodies, Exchange, Traffic, body_digest
from pytest_miniwob_agent.core.app import (
    REFUSED,
    AppTask,
    AppTrial,
    PageMessage,
    PageRequest,
    PageResponse,
)
from pytest_miniwob_agent.core.decoding import find_charset
from pytest_miniwob_agent.core.errors import PageError
from pytest_miniwob_agent.plugins.apps.leaks import Leaks
from pytest_miniwob_agent.plugins.apps.live_app import LiveApp

SLOWER = 10.0
"""Seconds for which a silent app is awaited that has sent less than when it was recorded."""


class LiveTrial:
    """Answers as the running app does, and records that as the last trial of `traffic`.

    The app is its value for `setup` and `reward`, and what answers. Without `leaks` no file is
    written; `expected` are the messages of the trial on another tape; `tell` is told of errors of
    the network.
    """

    def __init__(
        self,
        task: AppTask,
        app: tuple[Any, LiveApp],
        traffic: Traffic,
        bodies: Bodies,
        leaks: Leaks | None,
        expected: Sequence[PageMessage],
        tell: Callable[[str], None],
    ) -> None:
        self._task, self._bodies, self._leaks, self._tell = task, bodies, leaks, tell
        self._value, self._app = app
        self._trial, self._number = traffic.trials[-1], len(traffic.trials)
        self._expected = [*filter(_is_of_socket, expected)]
        self._in_real_time = False
        self._ahead: float | None = None  # seconds of real time that were ahead of the page's clock
        self._silent: float | None = None  # since when the app is silent, though more was recorded

    def begin(self, seed: int, clock: float) -> None:
        """Prepare the app; the page's clock is at so many seconds."""
        self._app.begin_trial(clock)
        if self._task.setup is not None:
            _outside_of_loops(self._task.call, "setup", self._value, seed)
        for name in ("goal", "start"):
            said = getattr(self._trial, name)
            self._may_keep(f"the {name} of trial {self._number}", said, replaced=False)

    def answer(
        self, request: PageRequest, step: int, crowded: Callable[[], bool]
    ) -> PageResponse | None:
        """Answer a request; raises as the live app does."""
        answer = self._app.answer(request, crowded)
        text = request.sent[:SHOWN].decode("utf-8", "replace")
        exchange = Exchange(
            step, request.kind, request.method, request.url, body_digest(request.sent), text
        )
        exchange.socket = request.socket
        self._may_keep(request, request.url, replaced=False)
        self._may_keep(f"what is sent by {request}", request.sent, replaced=False)
        if answer is not None:
            exchange.failed = answer.status == REFUSED
            if exchange.failed:
                self._tell(answer.remark)
            else:
                exchange.status = answer.status
            exchange.phrase = answer.phrase
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
        return self._leaks is not None and self._leaks.search(
            place, data, charset, replaced=replaced
        )

    def _keep(self, place: str, answer: PageResponse) -> str:
        """Keep the body of an answer; return its digest."""
        headers = [{name: value} for name, value in _visible_headers(answer.headers)]
        self._may_keep(f"a header of {place}", headers, replaced=True)
        self._may_keep(f"the status line of {place}", answer.phrase, replaced=False)
        charset = find_charset(answer.header("content-type"), answer.body)
        may = self._may_keep(place, answer.body, charset, replaced=answer.is_text)
        return self._bodies.write(answer.body) if may else body_digest(answer.body)

    def messages(self, after: int, at: float, turn: int) -> list[PageMessage] | None:
        if self._is_too_early(at):
            return None
        came = self._app.messages(at, at_once=self._in_real_time)
        if came == [] and self._is_slower(after, at):
            return None
        place = {"after": after, "at": at} | ({"turn": turn} if turn else {})
        for message in came or ():
            if remark := message.get("remark"):
                self._tell(remark)
            self._trial.messages.append(self._to_line(message) | place)
        return came

    def _is_slower(self, after: int, at: float) -> bool:
        """True for a while if the app has sent less by sockets than is on the tape until now."""
        due = sum(one["after"] <= after and one["at"] <= at for one in self._expected)
        if self._in_real_time or sum(map(_is_of_socket, self._trial.messages)) >= due:
            self._silent = None
            return False
        self._silent = self._silent or time.monotonic()
        return time.monotonic() - self._silent < SLOWER

    @contextmanager
    def in_real_time(self) -> Iterator[None]:
        """In a block, let the page's clock go no faster than real time.

        The page's clock stands still while `messages` returns None.
        """
        self._in_real_time, self._ahead = True, None
        try:
            yield
        finally:
            self._in_real_time = False

    def _is_too_early(self, at: float) -> bool:
        # The page's clock may be ahead of real time by what it was when the block began.
        if not self._in_real_time:
            return False
        ahead = time.monotonic() - at / 1000
        self._ahead = ahead if self._ahead is None else self._ahead
        return ahead < self._ahead

    def _to_line(self, message: PageMessage) -> dict[str, Any]:
        line = {name: value for name, value in message.items() if name != "remark"}
        where = f"message {len(self._trial.messages) + 1} of trial {self._number}"
        if answer := line.pop("response", None):
            headers = _visible_headers(answer.headers)
            line |= {"status": answer.status, "headers": headers, "stream": answer.socket}
            line |= {"phrase": answer.phrase} if answer.phrase else {}
            line["body"] = self._keep(where, answer)
            return line
        data, binary = line.get("data", ""), line.get("binary", False)
        others = {name: value for name, value in line.items() if name != "data"}
        self._may_keep(where, others, replaced=False)
        said = base64.b64decode(data) if binary else data.encode()
        may = self._may_keep(where, said, replaced=not binary)
        if len(data) > SHOWN and may:
            line["body"] = self._bodies.write(line.pop("data").encode())
        return line

    def judge(self, trial: AppTrial, questions: int, *, driven: bool) -> float:
        """Ask the task's judge, and note what it says."""
        said = _outside_of_loops(self._task.call, "reward", self._value, trial)
        if not isinstance(said or 0, int | float) or not -1 <= (said or 0) <= 1:
            raise PageError(
                f"the reward of AppTask {self._task.name!r} was {said!r}; it is a number from -1 "
                "to 1, and 0 while the task is undecided"
            )
        kept = self._trial
        kept.reward, kept.questions, kept.made = float(said or 0), questions, len(kept.exchanges)
        return kept.reward


def _outside_of_loops(function: Callable[..., Any], *values: Any) -> Any:
    # Django's models refuse to work in a thread with an event loop
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(*values)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *values).result()


def _is_of_socket(message: PageMessage) -> bool:
    # The parts of an answer come in any number.
    return bool(message["socket"] > 0)


def _visible_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    # The page goes on without cookies that no script sees.
    return [
        (name, value)
        for name, value in headers
        if not (name.lower() == "set-cookie" and "httponly" in value.lower())
    ]
