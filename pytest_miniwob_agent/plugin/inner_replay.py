"""Replay of one item by an inner pytest run, for `miniwob-agent show` and `play`.

The module is a plugin of that inner run (`-p pytest_miniwob_agent.plugin.inner_replay`); it has the
function that starts it, too. The two processes talk through a pair of sockets, in lines of JSON:
the kind of a message, and its data.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest

from pytest_miniwob_agent.core.actions import Action, action_from_data
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Event, event_from_data
from pytest_miniwob_agent.core.observations import Shot
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import Observer, Page, Visible
from pytest_miniwob_agent.core.text import listed, nearest
from pytest_miniwob_agent.plugin.items.collection import case_of
from pytest_miniwob_agent.plugin.run.state import STATE

_SETUP = "MINIWOB_REPLAY"
"""Variable with the socket of the inner run, the case, and whether each action waits."""

_LEFT_OUT = ("results", "baseline", "gate", "report", "trace", "answers")
"""Options of this plugin that write, judge, or belong to recording."""

_OTHERS: dict[str, Any] = {
    "numprocesses": None, "dist": "no", "tx": [],
    "xmlpath": None, "htmlpath": None, "json_report": False, "allure_report_dir": None,
}  # fmt: skip
"""Options of other plugins that would run the item elsewhere, or write over a run's reports."""


def replay(
    case: str,
    args: Sequence[str],
    observer: Observer,
    step: Callable[[Action | str], bool] | None = None,
) -> None:
    """Replay the one item of `pytest ARGS` whose id is `case`, or ends with it.

    No model is asked that is behind a cassette, and nothing is written.

    Args:
        case: an item's id, its end, or pytest's id of the item.
        args: arguments that select the items, as for a usual run.
        observer: follows the episode as it is replayed; it gets no pictures.
        step: called before each action, and with `trial` or `episode` where that ends; the replay
            continues when it returns True, and ends when it returns False.

    Raises:
        UsageError: no item has this id, or more than one, or pytest can't run it; the message has
            its output.
    """
    outer_end, inner_end = socket.socketpair()
    command = [sys.executable, "-m", "pytest", "-p", __name__]
    for name in _LEFT_OUT:
        command += ["-o", f"miniwob_{name}="]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with inner_end:
            setup = json.dumps([inner_end.fileno(), case, step is not None])
            inner = subprocess.Popen(
                [*command, *args],
                env={**os.environ, _SETUP: setup},
                pass_fds=[inner_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            with outer_end:
                complete = _follow(outer_end, observer, step)
        finally:
            inner.wait()
        if not complete:
            output.seek(0)
            raise UsageError(f"pytest can't run the item:\n{output.read()}".rstrip())


def _follow(
    outer_end: socket.socket, observer: Observer, step: Callable[[Action | str], bool] | None
) -> bool:
    """Pass messages of the inner run to the observer; return True if the item came to its end."""
    complete = False
    with outer_end.makefile("r", encoding="utf-8") as messages:
        for message in messages:
            kind, data = json.loads(message)
            match kind:
                case "error":
                    raise UsageError(data)
                case "episode":
                    observer.before_episode(Case.from_id(data))
                case "event":
                    observer.on_event(event_from_data(data))
                case "outcome":
                    complete = True
                    observer.after_item(Outcome.from_data(data))
                case "next":
                    assert step is not None
                    go_on = step(data if isinstance(data, str) else action_from_data(data))
                    complete = complete or not go_on
                    with contextlib.suppress(BrokenPipeError):  # the run is over
                        outer_end.sendall(b"go\n" if go_on else b"stop\n")
    return complete


class _Sender(Observer):
    """Sends the outer process the events of the inner run."""

    def __init__(self, number: int, case: str, stepwise: bool) -> None:
        self._socket = socket.socket(fileno=number)
        self._answers = self._socket.makefile("r", encoding="utf-8")
        self._connected = True
        self._case = case
        self.wants_pictures = stepwise  # there is one before each action, with the pointer in place

    def observe(self, environment: Page) -> Observer:
        """Follow the item's run."""
        if self.wants_pictures and not isinstance(environment, Visible):
            self._send(
                "error",
                f"the page of {self._case} is not in a browser, so that there is nothing to see: "
                "`miniwob-agent show` prints the episode",
            )
            self._leave()
        return self

    def before_episode(self, case: Case) -> None:
        self._send("episode", case.id)

    def on_event(self, event: Event) -> None:
        self._send("event", to_data(event))

    def on_picture(self, shot: Shot, trial: int, step: int, action: Action | None) -> None:
        self._wait(action or "trial")

    def after_item(self, outcome: Outcome) -> None:
        """Leave the window open until it has been looked at."""
        if self.wants_pictures:
            self._wait("episode")

    def _send(self, kind: str, data: Any) -> None:
        """Send a message; end the run, fixtures included, if the outer process is gone."""
        if not self._connected:
            return
        try:
            self._socket.sendall(json.dumps([kind, data]).encode() + b"\n")
        except BrokenPipeError:
            self._leave()

    def _wait(self, following: Action | str) -> None:
        """Send what follows, and wait until it may be done."""
        self._send("next", to_data(following))
        if self._connected and self._answers.readline() != "go\n":
            self._leave()

    def close(self) -> None:
        """Close the connection."""
        self._connected = False
        self._answers.close()
        self._socket.close()

    def _leave(self) -> None:
        self._connected = False
        pytest.exit("the outer process is gone")

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
            self._send(
                "error",
                "no MiniWoB++ item here: run this where your tests are, or name them after --",
            )
        elif not found:
            self._send(
                "error",
                f"no item here is called {self._case}"
                + nearest(self._case, sorted(set(ids.values())))
                + "; other tests, seeds or options go after --, as you would run them",
            )
        elif len(found) > 1:
            self._send(
                "error",
                f"{len(found)} items are called {self._case}; name one of {listed(found)}",
            )
        items[:] = [item for item in items if [item.nodeid] == found]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send the item's outcome."""
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._send("outcome", outcome.to_data())


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Leave out what a run does beside running an item, before any plugin prepares for it."""
    option = config.option
    for name, value in (_OTHERS | {f"miniwob_{name}": None for name in _LEFT_OUT}).items():
        if hasattr(option, name):
            setattr(option, name, value)
    option.miniwob_record = "none"
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Follow the item's run."""
    sender = _Sender(*json.loads(os.environ[_SETUP]))
    config.stash[STATE].observe = sender.observe
    config.add_cleanup(sender.close)
    config.pluginmanager.register(sender, "miniwob-replay")
