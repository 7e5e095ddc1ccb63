"""Transcripts and pictures of items, for pytest-html, pytest-json-report and Allure.

`run` gives them to the plugins that report on a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

# Plugins that report, as `run.Exports` calls them, and the options that have them report.
_REPORTING = {"html": "htmlpath", "json": "json_report", "allure": "allure_report_dir"}


def pytest_miniwob_begin(session: pytest.Session) -> None:
    config = session.config
    if plugins := [name for name, key in _REPORTING.items() if config.getoption(key, None)]:
        from pytest_miniwob_agent.plugins.transcripts.run import Exports

        config.pluginmanager.register(Exports(plugins), Exports.name)
