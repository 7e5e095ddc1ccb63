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
from pytest_miniwob_agent.plugin.results import check_baseline
from pytest_miniwob_agent.plugin.state import STATE
from pytest_miniwob_agent.terminal.run import report_status

pytest_plugins = ["pytest_miniwob_agent.plugin.fixtures"]


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    builtin.register(pluginmanager)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    reading.add_options(parser, pluginmanager)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", collection.MARKER)
    controller.configure(config)


@pytest.hookimpl(wrapper=True)
def pytest_sessionstart(session: pytest.Session) -> Generator[None]:
    # Before the run's header is shown and workers start.
    controller.begin(session)
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist the project's folder, and the one that all processes share."""
    node.workerinput["miniwob_folder"] = str(reading.project_folder(node.config))
    node.workerinput["miniwob_shared"] = str(node.config.stash[STATE].shared or "")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    collection.parametrize(metafunc)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, Any, Any]:
    try:
        collection.check_marked(items, config)  # before any item is deselected
        result = yield
        check_baseline(config)
    except pytest.UsageError as error:
        items.clear()
        if not hasattr(config, "workerinput"):
            raise
        # That of a worker would be an internal error of pytest-xdist, without the message.
        report = pytest.CollectReport(session.nodeid, "failed", str(error), [])
        config.hook.pytest_collectreport(report=report)
        return None
    return result


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_before_split(config: pytest.Config) -> None:
    # pytest-split, which is registered later, deselects last of all.
    state = config.stash[STATE]
    state.selection.splitting = state.settings.shard is not None


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    # Those of other shards still belong to the run.
    if items and not (selection := items[0].config.stash[STATE].selection).splitting:
        selection.deselected |= collection.get_cases(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    session.config.stash[STATE].selection.to_run = collection.get_cases(session.items)


# A fixture plays the episode, so what it raises comes while pytest sets the item up, where it would
# be an error of the test's surroundings. It is the item's own failure, and plugins that retry,
# annotate or expect failures look for those in the call. So the set-up keeps it, and the call
# raises it.


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    __tracebackhide__ = True
    item_report.begin_run(item)
    try:
        return (yield)
    except Exception as error:
        run = item.stash.get(RUN, None)
        if item.config.getoption("setuponly", False) or run is None or run.raised is not error:
            raise


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    __tracebackhide__ = True
    run = item.stash.get(RUN, None)
    if run is None:
        return (yield)
    if run.raised is not None:
        raise run.raised
    with run.run_body():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    report = yield
    item_report.attach_outcome(item, call, report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    # Before it is shown, or sent by a worker.
    text = str(warning_message.message)
    if (shown := mask(text)) != text:
        warning_message.message = shown


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(config: pytest.Config) -> Generator[None, Any, Any]:
    return item_report.serialize((yield), on_worker=hasattr(config, "workerinput"))


@pytest.hookimpl(wrapper=True)
def pytest_report_from_serializable() -> Generator[None, Any, Any]:
    return item_report.deserialize((yield))


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> tuple[str, str, Any] | None:
    outcome: Outcome | None = getattr(report, "miniwob", None)
    if outcome is None or report.when == "teardown":
        return None
    status = report_status(report.outcome, outcome)
    if status is None and report.failed and getattr(report, "miniwob_inconclusive", False):
        return "error", "E", ("ERROR", {"red": True})
    return status


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    session.config.stash[STATE].send(session.config)
