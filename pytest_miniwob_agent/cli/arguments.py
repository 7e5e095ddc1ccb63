"""Arguments that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TypeAlias

from pytest_miniwob_agent.tasks.suites import SUITES

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_selectors(parser: argparse.ArgumentParser) -> None:
    """Add the tasks to work on, as `selectors`."""
    parser.add_argument(
        "selectors",
        nargs="*",
        default=["all"],
        metavar="SELECTOR",
        help=f"task, category, glob over both, or suite: {', '.join(SUITES)} (default: all, every "
        "task of the installed miniwob package)",
    )


def add_pytest_args(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the pytest run whose items are meant, as `pytest_args`."""
    parser.add_argument(
        "pytest_args",
        nargs="*",
        metavar="-- PYTEST ARGUMENTS",
        help="the arguments of the pytest run whose items to take (default: none, for all items "
        "that pytest collects in this folder)",
    )


def add_browser(parser: argparse.ArgumentParser) -> None:
    """Add the path of the browser, as `browser`."""
    parser.add_argument("--browser", metavar="PATH", help="the Chromium or Chrome to use")


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add the format of the output, as `format`; the first one is the default."""
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help="(default: %(default)s)"
    )
