"""The forecast of a recording: a line before the first call.

That of items without a cassette is below the number of items. Whether recorded items drift shows
only as they run: then the limit on their calls is said before the first of them is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.cassettes.folder import finished_stems, parse_model_folder
from pytest_miniwob_agent.cassettes.format import read_cassette
from pytest_miniwob_agent.cassettes.tape import total_usage
from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.text import counted, wrap
from pytest_miniwob_agent.models.budget import money, total_cost
from pytest_miniwob_agent.plugin.collection import Problem, get_problem
from pytest_miniwob_agent.plugin.state import DRIFT_FORECAST, State

SAMPLE = 40
"""Number of cassettes that a forecast reads at most, spread over the recorded items."""

SHIPPED = {
    "reflective": Usage(182, 102_900, 1_200),
    "rci": Usage(963, 896_500, 13_700),
    "webwise": Usage(129, 127_200, 2_200),
}
"""What 100 items of an agent took in the cassettes of this package's repository, rounded."""

OWN = "our own recordings"


def forecast(items: Sequence[pytest.Item], state: State) -> str:
    """Return the forecast for the items of a run; empty if none of them is to be recorded.

    It is measured by recorded items of the same agent and model, if there are any.

    Raises:
        MiniwobError: the agent can't be made, or a cassette is damaged.
    """
    settings = state.settings
    problems = [problem for problem in map(get_problem, items) if problem is not None]
    used = {stem: each for each in problems for stem in state.find_cassettes([each.case])}
    done = () if settings.record == "all" else {*finished_stems(settings.cassettes)}
    lacking = {stem: problem for stem, problem in used.items() if stem not in done}
    recorded = [problem for stem, problem in used.items() if stem not in lacking]
    calls = counted(_most(items, recorded, settings.max_calls), "model call")
    write_atomically(
        _shared(state) / DRIFT_FORECAST,
        f"recorded calls no longer fit: recording at most {calls} in "
        f"{counted(len(recorded), 'recorded item')}",
    )
    if not lacking:
        return ""
    line = f"recording {counted(len(lacking), 'item')}"
    if others := len(used) - len(lacking):
        line += f" ({others:,} more replay)"
    most = _most(items, list(lacking.values()), settings.max_calls)
    line += f": at most {counted(most, 'model call')}"
    models = {parse_model_folder(stem): problem.setup.model for stem, problem in lacking.items()}
    counts = Counter(map(parse_model_folder, lacking))
    expected = [
        _expect(settings.cassettes, folder, counts[folder], model)
        for folder, model in models.items()
    ]
    if all(usage for usage, _ in expected):
        usages = [pair for usage, _ in expected for pair in usage]
        about = sum((usage for _, usage in usages), Usage())
        sources = " and ".join(dict.fromkeys(source for _, source in expected))
        line += f"; by {sources} about {counted(about.calls, 'call')} and {about.tokens:,} tokens"
        cost = total_cost((usage, settings.find_price(model)) for model, usage in usages)
        if cost is not None:
            line += f", {money(cost)}"
    return line


def _most(items: Sequence[pytest.Item], problems: Sequence[Problem], limit: int | None) -> int:
    most = sum(problem.limits.calls for problem in problems)
    for problem in problems:
        config = items[0].config
        for counts in config.hook.pytest_miniwob_grader_calls(config=config, problem=problem):
            most += sum(counts.values())
    return most if limit is None else min(most, limit)


def _shared(state: State) -> Path:
    assert state.shared is not None
    return state.shared


def _expect(
    cassettes: Path, folder: str, items: int, model: str | None
) -> tuple[list[tuple[str | None, Usage]], str]:
    """Return what items of an agent and model will take of each model, if known, and by what."""
    recorded = [stem for stem in finished_stems(cassettes) if parse_model_folder(stem) == folder]
    sample = recorded[:: len(recorded) // SAMPLE + 1]
    taken, count, source = {model: SHIPPED.get(folder.partition("/")[0], Usage())}, 100, OWN
    if sample:
        taken, count, source = {}, len(sample), f"{folder} of your cassettes"
        for file in (cassettes / f"{stem}.yaml" for stem in sample):
            for call in read_cassette(file) if file.exists() else ():  # or it makes no calls
                asked = str(call.body.get("model")) if call.of_grader else model
                usage = total_usage([call], estimate=True)
                taken[asked] = taken.get(asked, Usage()) + usage
    expected = [
        (asked, Usage(*(-(-part * items // count) for part in parts)))
        for asked, usage in taken.items()
        if any(parts := (usage.calls, usage.prompt, usage.completion))
    ]
    return expected, source


class Forecaster:
    """Makes the forecast when items are collected, and shows it if there is a terminal.

    With pytest-xdist the first is a worker and the second the controller.
    """

    def __init__(self, config: pytest.Config, state: State) -> None:
        self._config = config
        self._state = state
        self._shown = False

    @property
    def _file(self) -> Path:
        return _shared(self._state) / "forecast.txt"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> Generator[None, None, None]:
        worker = getattr(self._config, "workerinput", {}).get("workerid", "gw0")
        if worker == "gw0":
            with suppress(MiniwobError):  # each item says so
                write_atomically(self._file, forecast(session.items, self._state))
        yield
        if not hasattr(self._config, "workerinput"):
            self._show()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        self._show()

    def _show(self) -> None:
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if self._shown or not self._file.exists() or terminal is None:
            return
        self._shown = True
        if terminal.verbosity >= 0 and (line := self._file.read_text("utf-8")):
            terminal.ensure_newline()
            for part in wrap(line, self._config.get_terminal_writer().fullwidth):
                terminal.write_line(part)
