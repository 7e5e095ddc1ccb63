"""Start of a run in one process: settings, baseline, answers, and the plugins that take part."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.files import check_writable, display_path
from pytest_miniwob_agent.core.secrets import KEY_VARIABLE, redact
from pytest_miniwob_agent.plugin.items.report import Exports
from pytest_miniwob_agent.plugin.options.reading import read_settings
from pytest_miniwob_agent.plugin.options.settings import Settings
from pytest_miniwob_agent.plugin.run.controller import Controller
from pytest_miniwob_agent.plugin.run.results import RunResults, load_baseline
from pytest_miniwob_agent.plugin.run.state import STATE, Selection, State

_REPORTING = {"html": "htmlpath", "json": "json_report", "allure": "allure_report_dir"}
"""Plugins that report, as `Exports` calls them, and the options that have them report."""


def start(config: pytest.Config) -> None:
    """Give the configuration its state, and register the plugins of this process.

    Raises:
        pytest.UsageError: an option, or a file that it names, is not valid.
    """
    try:
        state = config.stash[STATE] = State(read_settings(config), Selection.of(config))
        settings = state.settings
        if settings.key_variable is not None:  # its value is a secret until the run is over
            patch = pytest.MonkeyPatch()
            patch.setenv(KEY_VARIABLE, settings.key_variable)
            config.add_cleanup(patch.undo)
        if settings.baseline or settings.results:  # for the gate, which is checked in any case
            state.baseline = load_baseline(settings)
        if plugins := [name for name, key in _REPORTING.items() if config.getoption(key, None)]:
            state.exports = Exports(plugins)
            config.pluginmanager.register(state.exports, "miniwob-exports")
        if hasattr(config, "workerinput"):
            shared = config.workerinput["miniwob_shared"]
            state.shared = Path(shared) if shared else None
        else:
            _start_controller(config, state)
        if state.shared is not None:
            from pytest_miniwob_agent.plugin.run.forecast import Forecaster

            config.pluginmanager.register(Forecaster(config, state), "miniwob-forecaster")
    except MiniwobError as error:
        raise pytest.UsageError(redact(str(error))) from None


def _start_controller(config: pytest.Config, state: State) -> None:
    settings = state.settings
    collecting = config.option.collectonly
    if settings.results and not (collecting or config.option.help):
        try:  # before anything is run or paid for
            if settings.results.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            check_writable(settings.results)
        except OSError as error:
            raise UsageError(
                f"--miniwob-results: {display_path(settings.results)} can't be written: "
                f"{error.strerror or error}; name another file"
            ) from None
    report = results = None
    if settings.report and not collecting:
        from pytest_miniwob_agent.report.folder import Report

        report = Report(settings.report)
        report.check()  # that the folder holds nothing else
    if settings.results or settings.baseline:
        results = RunResults(config, state)
    controller = Controller(config, state, results, report, list(_header(settings)))
    if settings.record not in ("none", "defer"):
        from pytest_miniwob_agent.terminal.progress import Progress

        folder = tempfile.TemporaryDirectory(prefix="miniwob-")
        config.add_cleanup(folder.cleanup)
        state.shared = Path(folder.name)
        config.pluginmanager.register(Progress(config, settings.price), "miniwob-progress")
    config.pluginmanager.register(controller, "miniwob-controller")


def _header(settings: Settings) -> Iterator[str]:
    """Yield lines for the header of the run; put answers of deferred recording into cassettes."""
    if settings.model is not None:
        yield f"miniwob cassettes: {display_path(settings.cassettes)}"
    if settings.record == "defer":
        from pytest_miniwob_agent.cassettes.deferred.answers import take_answers
        from pytest_miniwob_agent.cassettes.deferred.pending import read_pending

        if settings.answers is None:
            read_pending(settings.pending)  # a damaged file is reported before the run
        else:
            taken = take_answers(settings.answers, settings.pending, settings.cassettes)
            yield f"miniwob answers: {taken}"
    if settings.shard is not None:
        yield "miniwob shard: {} of {}".format(*settings.shard)
