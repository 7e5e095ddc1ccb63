"""One item replayed for somebody who watches: by pytest itself, which tells what happens.

A plugin of that inner run (`-p pytest_miniwob_agent.plugin.replaying`), and the function that
makes it.
The two talk through a pair of sockets, a line of JSON a message: its kind, and what belongs to it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Episode, Event
from pytest_miniwob_agent.core.observations import Shot
from pytest_miniwob_agent.core.protocols import Environment, Visible
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.plugin.hooks import KEEPER
from pytest_miniwob_agent.plugin.items import case_of
from pytest_miniwob_agent.plugin.trace import Run, Trace

Hear = Callable[[str, Any], bool]
"""Is told what happens: a kind and plain data. `item`: its id. `event`: one of the episode's.
`again`: the browser was lost, and the episode begins anew. `next`: the action that is done when the
call returns, or the word `trial` or `episode` where that ends. `outcome`: what became of the item.
False ends the run."""

_LINE = "MINIWOB_WATCHED"
"""Names the socket of the inner run, the case, and whether every action is waited for."""

_LEFT_OUT = ("results", "examples", "baseline", "gate", "report", "trace", "answers")
"""Options of ours that write, judge, or belong to recording."""

_OTHERS: dict[str, Any] = {
    "numprocesses": None, "dist": "no", "tx": [],
    "xmlpath": None, "htmlpath": None, "json_report": False, "allure_report_dir": None,
}  # fmt: skip
"""Options of other plugins that would run the item elsewhere, or write over a run's reports."""


def replay(case: str, args: Sequence[str], hear: Hear, *, stepwise: bool = False) -> None:
    """Replay the one item of `pytest ARGS` whose id is `case`, or ends with it.

    No model is asked that is behind a cassette, and nothing is written.

    Args:
        case: an item's id, its end, or pytest's id of the item.
        args: which items are meant, as one would run them.
        hear: is told what happens.
        stepwise: tell it of each action before that is done.

    Raises:
        UsageError: there is no such item, or more than one, or pytest can't run it; the message has
            its output.
    """
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "pytest", "-p", __name__]
    for name in _LEFT_OUT:
        command += ["-o", f"miniwob_{name}="]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with theirs:
            told = json.dumps([theirs.fileno(), case, stepwise])
            inner = subprocess.Popen(
                [*command, *args],
                env={**os.environ, _LINE: told},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        ended = False
        try:
            with ours, ours.makefile("r", encoding="utf-8") as messages:
                for message in messages:
                    kind, data = json.loads(message)
                    if kind == "wrong":
                        raise UsageError(data)
                    stop = not hear(kind, data)
                    ended = ended or stop or kind == "outcome"
                    if kind == "next":
                        with contextlib.suppress(BrokenPipeError):  # the run is over
                            ours.sendall(b"stop\n" if stop else b"go\n")
        finally:
            inner.wait()
        if not ended:
            output.seek(0)
            raise UsageError(f"pytest can't run the item:\n{output.read()}".rstrip())


# --- The inner run ---


class _Watched:
    """What takes the place of a report in the inner run: tells the outer one, and keeps nothing."""

    def __init__(self, number: int, case: str, stepwise: bool) -> None:
        self._socket = socket.socket(fileno=number)
        self._answers = self._socket.makefile("r", encoding="utf-8")
        self._watched = True
        self._case = case
        self._stepwise = stepwise

    def tell(self, kind: str, data: Any) -> None:
        """Send a message; the run ends, as it should with fixtures, if nobody is there to read."""
        if not self._watched:
            return
        try:
            self._socket.sendall(json.dumps([kind, data]).encode() + b"\n")
        except BrokenPipeError:
            self._leave()

    def wait(self, what: Action | str) -> None:
        """Say what is next, and wait until it may be done."""
        self.tell("next", to_data(what))
        if self._watched and self._answers.readline() != "go\n":
            self._leave()

    def _leave(self) -> None:
        self._watched = False
        pytest.exit("nobody watches any more")

    def trace(self, run: Run, environment: Environment) -> Trace:
        """The item's run, told as it goes."""
        if self._stepwise and not isinstance(environment, Visible):
            self.tell(
                "wrong",
                f"the page of {self._case} is no browser's, so that there is nothing to see: "
                "`miniwob-agent show` prints the episode",
            )
            self._leave()
        runs = itertools.count()

        def told(watch: Callable[[Event], None], camera: object) -> Episode:
            def see(event: Event) -> None:
                watch(event)
                self.tell("event", to_data(event))

            if next(runs):
                self.tell("again", None)
            return run(see, self._ask if self._stepwise else None)

        return Trace(told)

    def _ask(self, trial: int, step: int, shot: Shot, action: Action | None) -> None:
        self.wait(action or "trial")

    def finish(self, trace: Trace, outcome: dict[str, Any], cassette: object) -> None:
        """Leave the window open until it has been looked at."""
        if self._stepwise:
            self.wait("episode")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the one item that is meant."""
        ids = {item.nodeid: case.id for item in items if (case := case_of(item)) is not None}
        found = [
            name
            for name, id_ in ids.items()
            if name == self._case or f"/{id_}".endswith(f"/{self._case}")
        ]
        if not ids:
            self.tell(
                "wrong",
                "no MiniWoB++ item here: run this where your tests are, or name them after --",
            )
        elif not found:
            self.tell(
                "wrong",
                f"no item here is called {self._case}"
                + nearest(self._case, sorted(set(ids.values())))
                + "; other tests, seeds or options go after --, as you would run them",
            )
        elif len(found) > 1:
            self.tell(
                "wrong",
                f"{len(found)} items are called {self._case}; name one of {', '.join(found[:5])}"
                + (", ..." if len(found) > 5 else ""),
            )
        else:
            self.tell("item", ids[found[0]])
        items[:] = [item for item in items if [item.nodeid] == found]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Say what became of the item."""
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self.tell("outcome", outcome)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Leave out what a run does beside running an item, before any plugin prepares for it."""
    option = config.option
    for name, value in (_OTHERS | {f"miniwob_{name}": None for name in _LEFT_OUT}).items():
        if hasattr(option, name):
            setattr(option, name, value)
    option.miniwob_record = "none"
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Take the place of a report."""
    watched = _Watched(*json.loads(os.environ[_LINE]))
    config.stash[KEEPER] = watched
    config.pluginmanager.register(watched, "miniwob-watched")
