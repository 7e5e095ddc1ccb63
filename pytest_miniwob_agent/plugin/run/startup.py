"""Start of a run in one process: settings, baseline, answers, and the plugins that take part."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.files import check_writable, display_path
from pytest_miniwob_agent.core.secrets import KEY_VARIABLE, redact
from pytest_miniwob_agent.plugin.items.selection import Selection
from pytest_miniwob_agent.plugin.options.project_folder import check_ini_file, describe_cassettes
from pytest_miniwob_agent.plugin.options.settings import Settings, read_settings
from pytest_miniwob_agent.plugin.run.controller import Controller
from pytest_miniwob_agent.plugin.run.state import STATE, State

if TYPE_CHECKING:
    from pytest_miniwob_agent.report.folder import Report

_REPORTING = {"html": "htmlpath", "json": "json_report", "allure": "allure_report_dir"}
"""Options of plugins that report, by the names that `Exports` knows the plugins by."""


def start(config: pytest.Config) -> None:
    """Give the configuration its state, and register the plugins of this process.

    Raises:
        pytest.UsageError: an option, or a file that it names, is not valid.
    """
    try:
        state = config.stash[STATE] = State(read_settings(config), selection=Selection.of(config))
        _name_key(config, state.settings)
        _load_baseline(state)
        _register_exports(config, state)
        if hasattr(config, "workerinput"):
            shared = config.workerinput["miniwob_shared"]
            state.shared = Path(shared) if shared else None
            if state.shared is not None:
                _register_forecaster(config, state)
        else:
            _start_controller(config, state)
    except MiniwobError as error:
        raise pytest.UsageError(redact(str(error))) from None


def _name_key(config: pytest.Config, settings: Settings) -> None:
    """Have the value of `--miniwob-key-variable` known as a secret until the run is over."""
    if settings.key_variable is not None:
        patch = pytest.MonkeyPatch()
        patch.setenv(KEY_VARIABLE, settings.key_variable)
        config.add_cleanup(patch.undo)


def _load_baseline(state: State) -> None:
    """Load the baseline; the gate is checked where results are written alone, too."""
    if state.settings.baseline or state.settings.results:
        from pytest_miniwob_agent.plugin.run.baseline import load_baseline

        state.baseline = load_baseline(state.settings)


def _register_exports(config: pytest.Config, state: State) -> None:
    if plugins := [name for name, key in _REPORTING.items() if config.getoption(key, None)]:
        from pytest_miniwob_agent.plugin.run.exports import Exports

        state.exports = Exports(plugins)
        config.pluginmanager.register(state.exports, "miniwob-exports")


def _start_controller(config: pytest.Config, state: State) -> None:
    settings = state.settings
    check_ini_file(config)
    report = _open_report(config, settings)
    _check_results_file(config, settings)
    results = None
    if settings.results or settings.baseline:
        from pytest_miniwob_agent.plugin.run.results import RunResults

        results = RunResults(config, state)
    header = [_take_answers(settings)]
    if settings.shard is not None:
        header.append("miniwob shard: {} of {}".format(*settings.shard))
    if settings.model is not None:
        header.insert(0, describe_cassettes(config, settings.cassettes))
    controller = Controller(config, state, results, report, [line for line in header if line])
    if settings.record not in ("none", "defer"):
        folder = tempfile.TemporaryDirectory(prefix="miniwob-")
        config.add_cleanup(folder.cleanup)
        state.shared = Path(folder.name)
        from pytest_miniwob_agent.terminal.progress import Progress

        _register_forecaster(config, state)
        config.pluginmanager.register(Progress(config, settings.price), "miniwob-progress")
    config.pluginmanager.register(controller, "miniwob-controller")


def _register_forecaster(config: pytest.Config, state: State) -> None:
    from pytest_miniwob_agent.plugin.run.forecast import Forecaster

    config.pluginmanager.register(Forecaster(config, state), "miniwob-forecaster")


def _check_results_file(config: pytest.Config, settings: Settings) -> None:
    """Check that the results can be written, before anything is run or paid for.

    Raises:
        UsageError: they can't be.
    """
    file = settings.results
    if file is None or config.option.collectonly or config.option.help:
        return
    reason = "it is a folder" if file.is_dir() else ""
    try:
        check_writable(file)
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise UsageError(
            f"--miniwob-results: {display_path(file)} can't be written: {reason}; name another file"
        )


def _open_report(config: pytest.Config, settings: Settings) -> Report | None:
    """Return the report that the run writes, if it writes one.

    Raises:
        UsageError: its folder holds something else than a report.
    """
    if settings.report is None or config.option.collectonly:
        return None
    from pytest_miniwob_agent.report.folder import Report

    report = Report(settings.report)
    report.check()
    return report


def _take_answers(settings: Settings) -> str:
    """Put answers of deferred recording into cassettes; return a line on that for the header.

    Raises:
        UsageError: the answers or the waiting requests can't be read.
    """
    if settings.record != "defer":
        return ""
    from pytest_miniwob_agent.cassettes.deferred.batch_file import read_pending
    from pytest_miniwob_agent.cassettes.deferred.pending import take_answers

    if settings.answers is None:
        read_pending(settings.pending)  # a damaged file is reported before the run
        return ""
    taken = take_answers(settings.answers, settings.pending, settings.cassettes)
    return f"miniwob answers: {taken}"
