"""The hooks of the plugin, in the order of a run; each calls the module that does the work.

`terminal.run` explains the letters of items.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from typing import Any

import pytest

from pytest_miniwob_agent import builtin
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.plugin import collection, controller, reading
from pytest_miniwob_agent.plugin import reports as item_report
from pytest_miniwob_agent.plugin.item import RUN
from pytest_miniwob_agent.plugin.state import STATE
from pytest_miniwob_agent.terminal.run import report_status

pytest_plugins = ["pytest_miniwob_agent.plugin.fixtures"]


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add our hooks, and the plugins of this package."""
    builtin.register(pluginmanager)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add every option and its ini twin."""
    reading.add_options(parser, pluginmanager)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and read the settings."""
    config.addinivalue_line("markers", collection.MARKER)
    controller.configure(config)


@pytest.hookimpl(wrapper=True)
def pytest_sessionstart(session: pytest.Session) -> Generator[None]:
    """Begin the run, before its header is shown and workers start."""
    controller.begin(session)
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist the project's folder, and the one that all processes share."""
    node.workerinput["miniwob_folder"] = str(reading.project_folder(node.config))
    node.workerinput["miniwob_shared"] = str(node.config.stash[STATE].shared or "")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item for each case that the test's `miniwob` markers select."""
    collection.parametrize(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check all items before any is deselected."""
    collection.check_marked(items, config)


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_before_split(config: pytest.Config) -> None:
    """Note that items may now be split; pytest-split, registered later, does so last of all."""
    state = config.stash[STATE]
    state.selection.splitting = state.settings.shard is not None


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Remember the cases that are left out; those of other shards are not."""
    if items and not (selection := items[0].config.stash[STATE].selection).splitting:
        selection.deselected |= collection.cases_of(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember the cases that will run."""
    session.config.stash[STATE].selection.to_run = collection.cases_of(session.items)


# A fixture plays the episode, so what it raises comes while pytest sets the item up, where it would
# be an error of the test's surroundings. It is the item's own failure, and plugins that retry,
# annotate or expect failures look for those in the call. So the set-up keeps it, and the call
# raises it.


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Begin a run of the item."""
    __tracebackhide__ = True
    item_report.begin_run(item)
    try:
        return (yield)
    except Exception as error:
        run = item.stash.get(RUN, None)
        if item.config.getoption("setuponly", False) or run is None or run.raised is not error:
            raise


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Raise the agent's exception, where plugins that retry and annotate look for failures."""
    __tracebackhide__ = True
    if (run := item.stash.get(RUN, None)) is not None and run.raised is not None:
        raise run.raised


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Attach the item's outcome to its report, which holds no keys."""
    item_report.remember_end(item, call)
    report = yield
    item_report.attach_outcome(item, call, report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    """Leave keys out of a warning, before it is shown or sent by a worker."""
    text = str(warning_message.message)
    if (shown := mask(text)) != text:
        warning_message.message = shown


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(config: pytest.Config) -> Generator[None, Any, Any]:
    """Send the outcome."""
    return item_report.serialize((yield), on_worker=hasattr(config, "workerinput"))


@pytest.hookimpl(wrapper=True)
def pytest_report_from_serializable() -> Generator[None, Any, Any]:
    """Restore the outcome."""
    return item_report.deserialize((yield))


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, Any] | None:
    """Map outcomes to status letters."""
    outcome: Outcome | None = getattr(report, "miniwob", None)
    if outcome is None or report.when == "teardown":
        return None
    status = report_status(report.outcome, outcome)
    if status is None and report.failed and getattr(report, "miniwob_inconclusive", False):
        return "error", "E", ("ERROR", {"red": True})
    return status


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the controller what this worker selected."""
    session.config.stash[STATE].send(session.config)
