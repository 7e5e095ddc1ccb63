"""Pytest inside a command: a run in a process of its own, which reports to the command.

The module is a plugin of that inner run (`-p pytest_miniwob_agent.plugin.inner`), and it has the
functions that start one: `replay` and `collect`. The two processes talk through a pair of sockets,
in lines of JSON: the kind of a message, and its data.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.browser.grid_address import Grid, HostPort, read_grid
from pytest_miniwob_agent.cassettes.folder.stems import Used
from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import from_data, to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Event
from pytest_miniwob_agent.core.observations import Shot
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import Observer, Page, Visible
from pytest_miniwob_agent.core.text import listed, nearest
from pytest_miniwob_agent.plugin.items.collection import case_of, cases_of
from pytest_miniwob_agent.plugin.options.project_folder import suite_files
from pytest_miniwob_agent.plugin.options.reading import read_settings
from pytest_miniwob_agent.plugin.run.state import STATE

_SETUP = "MINIWOB_INNER"
"""Variable with what the inner run is to do, and the socket to report to."""

NO_ITEMS = (
    "no item here uses a cassette: run this where your tests are, or name them after --; and name "
    "a model, in the ini file (miniwob_model) or with -- --miniwob-model=ID"
)


class _Channel:
    """One end of the connection between the two processes."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._lines = end.makefile("r", encoding="utf-8")

    def send(self, kind: str, data: Any = None) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: the other process is gone.
        """
        self._end.sendall(json.dumps([kind, data]).encode() + b"\n")

    def receive(self) -> tuple[str, Any] | None:
        """Return the next message; None if the other process is gone."""
        line = self._lines.readline()
        return tuple(json.loads(line)) if line else None

    def close(self) -> None:
        """Close the connection."""
        self._lines.close()
        self._end.close()


@dataclass(slots=True)
class _InnerRun:
    channel: _Channel
    output: str = ""
    """What pytest printed, once the run is over."""


@contextlib.contextmanager
def _inner_run(args: Sequence[str], **setup: Any) -> Generator[_InnerRun]:
    """Run `pytest ARGS` in a process of its own; the end of the block waits for its end."""
    outer_end, inner_end = socket.socketpair()
    run = _InnerRun(_Channel(outer_end))
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with inner_end:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-p", __name__, *args],
                env={**os.environ, _SETUP: json.dumps({**setup, "socket": inner_end.fileno()})},
                pass_fds=[inner_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield run
        finally:
            run.channel.close()  # the inner run ends, if it has not yet
            process.wait()
            output.seek(0)
            run.output = output.read().rstrip()


def replay(
    case: str,
    args: Sequence[str],
    observer: Observer,
    step: Callable[[Action | str], bool] | None = None,
    slowmo: int | None = None,
) -> None:
    """Replay the one item of `pytest ARGS` whose id is `case`, or ends with it.

    No model behind a cassette is called, and nothing is written.

    Args:
        case: an item's id, its end, or pytest's id of the item.
        args: arguments that select the items, as for a usual run.
        observer: follows the episode as it is replayed; it gets no pictures.
        step: called before each action, and with `trial` or `episode` where that ends; the replay
            goes on when it returns True, and ends when it returns False.
        slowmo: with a window, milliseconds that each action takes longer.

    Raises:
        UsageError: no item has this id, or more than one, or pytest can't run it; the message has
            its output.
    """
    complete = False
    with _inner_run(args, job="replay", case=case, watched=step is not None, slowmo=slowmo) as run:
        while message := run.channel.receive():
            match message:
                case "error", text:
                    raise UsageError(text)
                case "episode", id_:
                    observer.before_episode(Case.from_id(id_))
                case "event", data:
                    observer.on_event(from_data(Event, data))
                case "outcome", data:
                    complete = True
                    observer.after_item(from_data(Outcome, data))
                case "next", data:
                    assert step is not None
                    go_on = step(data if isinstance(data, str) else from_data(Action, data))
                    complete = complete or not go_on
                    with contextlib.suppress(BrokenPipeError):  # the run is over
                        run.channel.send("go" if go_on else "stop")
    if not complete:
        raise UsageError(f"pytest can't run the item:\n{run.output}")


@dataclass(frozen=True, slots=True)
class Collected:
    """The cassettes, the key and the Grid that a pytest run would use.

    Attributes:
        used: the cassettes of its items; also of items that are deselected, or of `miniwob_suites`
            alone.
        key_variable: the environment variable that an option names for the key.
        grid: the Grid that the run opens its browsers on; None for this machine.
        problem: why the items can't be collected, with pytest's output; empty if they can.
    """

    used: Used = field(default_factory=lambda: Used(Path(), ()))
    key_variable: str | None = None
    grid: Grid | None = None
    problem: str = ""


def collect(args: Sequence[str]) -> Collected:
    """Return what `pytest ARGS` would use."""
    found: dict[str, Any] = {}
    with _inner_run(["--collect-only", "-qq", *args], job="collect") as run:
        while message := run.channel.receive():
            match message:
                case "settings", (variable, address, capabilities, serve):
                    found["key_variable"] = variable
                    if address:
                        place = HostPort(*serve) if serve else None
                        found["grid"] = read_grid(address, capabilities, place)
                case "cassettes", (folder, stems, deselected):
                    found["used"] = Used(Path(folder), stems, deselected)
    if "used" not in found:
        found["problem"] = f"pytest can't collect the items:\n{run.output}"
    return Collected(**found)


def used_cassettes(args: Sequence[str]) -> Used:
    """Return the cassettes that the items of `pytest ARGS` use.

    Raises:
        UsageError: pytest can't collect the items, or none of them uses a cassette.
    """
    collected = collect(args)
    if collected.problem:
        raise UsageError(collected.problem)
    if not collected.used.stems:
        raise UsageError(NO_ITEMS)
    return collected.used


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Prepare the inner run for its job, before any other plugin prepares for a run."""
    setup = json.loads(os.environ[_SETUP])
    channel = _Channel(socket.socket(fileno=setup["socket"]))
    config.add_cleanup(channel.close)
    plugin = _Collector(channel) if setup["job"] == "collect" else _Player(channel, setup)
    plugin.prepare(config)
    config.pluginmanager.register(plugin, "miniwob-inner")
    return (yield)


class _Collector:
    """Reports the settings of a run, and the cassettes that its items use."""

    def __init__(self, channel: _Channel) -> None:
        self._channel = channel
        self._suites: list[Path] = []

    def prepare(self, config: pytest.Config) -> None:
        config.option.lf = False  # which leaves out files without an item that failed
        with contextlib.suppress(UsageError):  # pytest reports it later
            settings = read_settings(config)
            data = [settings.key_variable, settings.remote, settings.capabilities, settings.serve]
            self._channel.send("settings", data)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Collect the suites too, unless the arguments name tests."""
        if config.args_source is not config.ArgsSource.ARGS:
            self._suites = suite_files(config)
            config.args += map(str, self._suites)
            config.option.keepduplicates = True  # also those in a folder of tests

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the items that are in suites alone."""
        items[:] = [item for item in items if item.path not in self._suites]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.testsfailed:
            return
        state = session.config.stash[STATE]
        stems = set(state.cassettes_of(state.selection.cases))
        deselected = stems.difference(state.cassettes_of(cases_of(session.items)))
        folder = str(state.settings.cassettes)
        self._channel.send("cassettes", [folder, sorted(stems), sorted(deselected)])


_LEFT_OUT = ("results", "baseline", "gate", "report", "trace", "answers")
"""Our options that write, judge, or belong to recording."""

_OTHERS: dict[str, Any] = {
    "numprocesses": None, "dist": "no", "tx": [],
    "xmlpath": None, "htmlpath": None, "json_report": False, "allure_report_dir": None,
}  # fmt: skip
"""Options of other plugins that would run the item elsewhere, or overwrite the reports of a run."""


class _Player(Observer):
    """Replays one item, and reports its episode."""

    def __init__(self, channel: _Channel, setup: dict[str, Any]) -> None:
        self._channel = channel
        self._connected = True
        self._case: str = setup["case"]
        self._slowmo: int | None = setup["slowmo"]
        self.wants_pictures = setup["watched"]  # one before each action, with the pointer in place

    def prepare(self, config: pytest.Config) -> None:
        """Leave out what a run does besides running an item."""
        for name, value in _OTHERS.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        for name in _LEFT_OUT:
            setattr(config.option, f"miniwob_{name}", "")
        config.option.miniwob_record = "none"

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        state = config.stash[STATE]
        state.observe, state.slowmo = self.observe, self._slowmo

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
                + "; name other tests, seeds or options after --, as you would run them",
            )
        elif len(found) > 1:
            self._send(
                "error", f"{len(found)} items are called {self._case}; name one: {listed(found)}"
            )
        items[:] = [item for item in items if [item.nodeid] == found]

    def observe(self, environment: Page) -> Observer:
        """Follow the item's run."""
        if self.wants_pictures and not isinstance(environment, Visible):
            self._send(
                "error",
                f"the page of {self._case} is not in a browser, so there is nothing to see: "
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
        """Leave the window open until the user has seen the end."""
        if self.wants_pictures:
            self._wait("episode")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (outcome := getattr(report, "miniwob", None)) is not None:
            self._send("outcome", outcome.to_data())

    def _send(self, kind: str, data: Any) -> None:
        """Send a message; end the run, fixtures included, if the outer process is gone."""
        if not self._connected:
            return
        try:
            self._channel.send(kind, data)
        except BrokenPipeError:
            self._leave()

    def _wait(self, following: Action | str) -> None:
        """Send what follows, and wait until it may be done."""
        self._send("next", to_data(following))
        if self._connected and self._channel.receive() != ("go", None):
            self._leave()

    def _leave(self) -> None:
        self._connected = False
        pytest.exit("the outer process is gone")
