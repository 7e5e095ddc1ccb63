"""The HTML report of a run (`--miniwob-report`), and `miniwob-agent report merge`.

- `run`: the step of a run that writes it
- `screenshots`: pictures of the page of an item
- `command`: the command
- `folder`: the report's folder: pages, pictures, and the data that are made of the outcomes; the
  merge of the reports of shards
- `index.html`, `report.css`: the one page, and its style
- `scripts/`: the scripts that draw the pages; one object per file, dependencies at its top
  - `elements`: elements and strings of a page; foreign text never becomes markup
  - `items`: the items, what their data mean, and which of them the overview shows
  - `overview`: rates, reasons why items have no result, the map of tasks, the list of items
  - `item`: the page of an item: its film, and a step with its action, calls and reflection
  - `pages`: addresses, keys and themes, and the functions that data files call
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.hookspec import Step, Subcommand
from pytest_miniwob_agent.plugin.options import option

if TYPE_CHECKING:
    import pytest

    from pytest_miniwob_agent.core.outcome import Outcome
    from pytest_miniwob_agent.core.protocols import Observer, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of this plugin."""

    report: Path | None = option(
        "write an HTML report into this folder: pages that open from disk, index.html first",
        parse=Path,
        metavar="DIR",
        whole_run=True,
        group="Report",
    )
    trace: str = option(
        "screenshots for --miniwob-report: off; on = of every item, as it runs; "
        "retain-on-failure = of items that are unsolved or drifted, which run again for that",
        default="retain-on-failure",
        choices=("off", "on", "retain-on-failure"),
        whole_run=True,
    )


def pytest_miniwob_options() -> type:
    return Options


def pytest_miniwob_commands() -> list[Subcommand]:
    return [
        Subcommand("report", "join the reports of shards"),
        Subcommand("report merge", "join the reports of shards", f"{__name__}.command:add_merge"),
    ]


def _options(config: pytest.Config) -> Options:
    from pytest_miniwob_agent.plugin.state import options_of

    return options_of(config, Options)


def pytest_miniwob_begin(session: pytest.Session) -> None:
    config = session.config
    if config.getoption("miniwob_trace") and _options(config).report is None:
        raise UsageError("--miniwob-trace goes with --miniwob-report=DIR, which shows the pictures")


def pytest_miniwob_step(config: pytest.Config) -> Step | None:
    if (folder := _options(config).report) is None:
        return None
    from pytest_miniwob_agent.plugins.report.run import ReportPages

    return ReportPages(config, folder)


def pytest_miniwob_observer(item: pytest.Item, page: Page | None) -> Observer | None:
    options = _options(item.config)
    if options.report is None or page is None:
        return None
    from pytest_miniwob_agent.plugins.report.screenshots import Screenshots

    return Screenshots(options.report, options.trace, page)


def pytest_miniwob_links(config: pytest.Config, outcome: Outcome) -> Mapping[str, str]:
    if (folder := _options(config).report) is None:
        return {}
    from pytest_miniwob_agent.core.files import display_path

    return {"in the report": f"{display_path(folder)}/index.html#/item/{outcome.case}"}


def pytest_miniwob_picture(config: pytest.Config, name: str) -> Path | None:
    if (folder := _options(config).report) is None:
        return None
    from pytest_miniwob_agent.plugins.report.folder import Report

    return Report(folder).picture(name)
