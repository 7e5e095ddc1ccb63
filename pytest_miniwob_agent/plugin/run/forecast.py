"""Forecast of a recording, shown before the first call."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.cassettes.folder.stems import case_of as case_of_stem
from pytest_miniwob_agent.cassettes.folder.stems import finished_stems
from pytest_miniwob_agent.cassettes.format.call import usage_of
from pytest_miniwob_agent.cassettes.format.file import read_cassette
from pytest_miniwob_agent.cassettes.format.names import stem
from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.core.usage import Usage
from pytest_miniwob_agent.models.prices import cost_of, money
from pytest_miniwob_agent.plugin.items.collection import case_of, cassettes_of, limits_of
from pytest_miniwob_agent.plugin.options.settings import Settings
from pytest_miniwob_agent.plugin.run.state import State
from pytest_miniwob_agent.terminal.layout import wrap

SAMPLE = 40
"""Number of cassettes that a forecast reads at most, spread over the recorded items."""

SHIPPED = {
    "reflective": Usage(182, 102_900, 1_200),
    "rci": Usage(963, 896_500, 13_700),
    "webwise": Usage(129, 127_200, 2_200),
}
"""What 100 items of an agent took in the cassettes of this package's repository, rounded."""

_FILE = "forecast.json"
"""The file in the folder that the processes of a run share."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast of a recording.

    Args:
        items: the number of items to record.
        others: the number of items that have a cassette.
        most: the number of calls that the limits allow.
        calls: about how many calls it takes; None if nothing alike is recorded.
        prompt: about how many prompt tokens.
        completion: about how many completion tokens.
        source: the recordings that these are drawn from.
    """

    items: int
    others: int
    most: int
    calls: int | None = None
    prompt: int = 0
    completion: int = 0
    source: str = ""

    @property
    def expected(self) -> int:
        """The number of calls to expect; the most where nothing better is known."""
        return self.most if self.calls is None else min(self.calls, self.most)

    def line(self, settings: Settings) -> str:
        """Return the forecast in words."""
        others = f" ({self.others:,} more replay)" if self.others else ""
        calls = f"at most {counted(self.most, 'model call')}"
        if self.calls is not None:
            usage = Usage(self.calls, self.prompt, self.completion)
            cost = cost_of(usage, settings.price)
            price = "" if cost is None else f", {money(cost)}"
            about = counted(self.calls, "call")
            calls += f"; by {self.source} about {about} and {usage.tokens:,} tokens{price}"
        return f"recording {counted(self.items, 'item')}{others}: {calls}"


def forecast(items: Iterable[pytest.Item], settings: Settings) -> Forecast | None:
    """Return the forecast for the items of a run, None if none of them is to be recorded.

    Items whose agent or model is given by a user's fixture are left out.

    Raises:
        MiniwobError: the agent can't be made, or a cassette is damaged.
    """
    from pytest_miniwob_agent.agents.registry import load_agent

    known, _ = cassettes_of(items, settings)
    if not known or settings.model is None:
        return None
    agent = load_agent(settings.agent, settings.prompts, settings.agent_params).name
    calls = {
        stem(agent, settings.model, case): limits_of(item).calls
        for item in items
        if (case := case_of(item)) is not None
    }
    stems = dict.fromkeys(known)
    lacking = [
        each
        for each in stems
        if settings.record == "all" or not (settings.cassettes / f"{each}.yaml").exists()
    ]
    if not lacking:
        return None
    most = sum(calls[each] for each in lacking)
    if settings.max_calls is not None:
        most = min(most, settings.max_calls)
    usage, count, source = _alike(lacking, agent, settings)
    expected = {}
    if count:
        expected = {
            name: -(-getattr(usage, name) * len(lacking) // count)
            for name in ("calls", "prompt", "completion")
        }
    return Forecast(len(lacking), len(stems) - len(lacking), most, source=source, **expected)


def _alike(lacking: Sequence[str], agent: str, settings: Settings) -> tuple[Usage, int, str]:
    """Return what the nearest recorded items took, their number, and what they are.

    Nearest are items of the same agent, by the same model and of the same tasks if there are any.
    """
    folder, model, *_ = lacking[0].split("/")
    recorded = [s for s in finished_stems(settings.cassettes) if s.startswith(f"{folder}/")]
    recorded = [s for s in recorded if s.split("/")[1] == model] or recorded
    tasks = {case_of_stem(each).partition("/")[0] for each in lacking}
    recorded = [s for s in recorded if case_of_stem(s).partition("/")[0] in tasks] or recorded
    if not recorded:
        return SHIPPED.get(agent, Usage()), 100 if agent in SHIPPED else 0, "our own recordings"
    sample = recorded[:: -(-len(recorded) // SAMPLE)]
    usage = sum(
        (
            usage_of(read_cassette(settings.cassettes / f"{each}.yaml"), estimate=True)
            for each in sample
        ),
        Usage(),
    )
    return usage, len(sample), f"{'/'.join(sample[0].split('/')[:2])} of your cassettes"


class Forecaster:
    """Makes the forecast where items are collected, and shows it where there is a terminal.

    With pytest-xdist the first is a worker and the second the controller.
    """

    def __init__(self, config: pytest.Config, state: State) -> None:
        self._config = config
        self._state = state
        self._shown = False

    @property
    def _file(self) -> Path:
        assert self._state.shared is not None
        return self._state.shared / _FILE

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Make the forecast before a worker reports its items; show it below their number."""
        worker = getattr(self._config, "workerinput", {}).get("workerid", "gw0")
        if worker == "gw0" and not self._config.option.collectonly:
            self._make(session.items)
        yield
        if not hasattr(self._config, "workerinput"):
            self._show()

    def _make(self, items: Sequence[pytest.Item]) -> None:
        try:
            found = forecast(items, self._state.settings)
        except MiniwobError:  # each item says so
            return
        if found is not None:
            write_atomically(self._file, json.dumps(asdict(found)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Show the forecast once the worker that makes it has collected its items."""
        self._show()

    def _show(self) -> None:
        if self._shown or not self._file.exists():
            return
        self._shown = True
        found = Forecast(**json.loads(self._file.read_text("utf-8")))
        settings = self._state.settings
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None:
            return
        if terminal.verbosity >= 0:
            terminal.ensure_newline()
            for line in wrap(found.line(settings), terminal._tw.fullwidth):
                terminal.write_line(line)
