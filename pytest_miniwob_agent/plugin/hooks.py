"""The hooks of the plugin: each calls the module that does the work.

Options are in `options`, items in `collection`, fixtures in `fixtures`. The outcome of an item is
made in `item_run`, travels by `outcomes` and is compared with the `baseline`; the `controller`
collects the outcomes, and writes and judges them when the run is over.

F means that the agent failed the task; E that the run is inconclusive (no browser, no cassette); D
that the item's model calls are not those of its cassette (drift); w that it waits for completions
of deferred recording, and b for a larger budget. Against a baseline, P is solved now and was not;
R was solved and is not, where the gate judges all items together.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.plugin import collection, exports, options, outcomes
from pytest_miniwob_agent.plugin.controller import Controller
from pytest_miniwob_agent.plugin.options import Settings
from pytest_miniwob_agent.plugin.state import STATE, State
from pytest_miniwob_agent.terminal import statuses

pytest_plugins = ["pytest_miniwob_agent.plugin.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every option and its ini twin."""
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, read the settings, take answers, and prepare the controller."""
    config.addinivalue_line("markers", collection.MARKER)
    try:
        settings = options.read_settings(config)
        state = config.stash[STATE] = State(settings)
        if settings.baseline or settings.results:
            from pytest_miniwob_agent.plugin.baseline import load_baseline

            state.baseline = load_baseline(settings)
        if plugins := exports.reporting_plugins(config):
            state.exports = exports.Exports(plugins)
            config.pluginmanager.register(state.exports, "miniwob-exports")
        if hasattr(config, "workerinput"):
            shared = config.workerinput["miniwob_shared"]
            state.shared = Path(shared) if shared else None
            return
        controller = Controller(config, state, _take_answers(settings))
    except MiniwobError as error:
        raise pytest.UsageError(str(error)) from None
    if settings.record not in ("none", "defer"):
        folder = tempfile.TemporaryDirectory(prefix="miniwob-")
        config.add_cleanup(folder.cleanup)
        state.shared = Path(folder.name)
        from pytest_miniwob_agent.terminal.progress import Progress

        config.pluginmanager.register(Progress(config, settings.price), "miniwob-progress")
    config.pluginmanager.register(controller, "miniwob-controller")


def _take_answers(settings: Settings) -> list[str]:
    """Put answers of deferred recording into cassettes; return what to say of it."""
    if settings.record != "defer":
        return []
    from pytest_miniwob_agent.cassettes.pending import read_pending, take_answers

    if settings.answers is None:
        read_pending(settings.pending)  # a damaged file is reported before the run
        return []
    return [
        f"miniwob answers: {take_answers(settings.answers, settings.pending, settings.cassettes)}"
    ]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass on the folder that the workers of pytest-xdist share."""
    node.workerinput["miniwob_shared"] = str(node.config.stash[STATE].shared or "")


# --- Collection ---


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Turn garbage collection on again, which is off while many items are made."""
    with collection.garbage_collection_resumed():
        return (yield)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item for each case that the test's `miniwob` markers select."""
    collection.parametrize(metafunc)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Remember the cases that were left out on purpose."""
    for item in items:
        if case := collection.case_of(item):
            item.config.stash[STATE].deselected.add(case.id)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember the cases that will run."""
    cases = filter(None, map(collection.case_of, session.items))
    session.config.stash[STATE].selected |= {case.id for case in cases}


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the controller the cases that this worker selected and deselected."""
    if hasattr(session.config, "workeroutput"):
        state = session.config.stash[STATE]
        session.config.workeroutput["miniwob_selected"] = sorted(state.selected)
        session.config.workeroutput["miniwob_deselected"] = sorted(state.deselected)


# --- Reports ---


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget what an earlier run of the item left."""
    outcomes.forget_earlier_run(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Attach the item's outcome to its report."""
    report = yield
    outcomes.attach_outcome(item, call, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(config: pytest.Config) -> Generator[None, Any, Any]:
    """Send the outcome as JSON."""
    return outcomes.serialize((yield), on_worker=hasattr(config, "workerinput"))


@pytest.hookimpl(wrapper=True)
def pytest_report_from_serializable() -> Generator[None, Any, Any]:
    """Restore the outcome."""
    return outcomes.deserialize((yield))


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, Any] | None:
    """Map outcomes to status letters."""
    outcome: Outcome | None = getattr(report, "miniwob", None)
    return statuses.letter(report.outcome, outcome) if outcome is not None else None
