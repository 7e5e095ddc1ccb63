"""Arguments that several commands have, the form of their help, and their progress."""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.tasks.catalogue import Catalogue
from pytest_miniwob_agent.tasks.selectors import suite_names


class _HelpFormatter(argparse.HelpFormatter):
    """Breaks no option at a hyphen, and keeps paragraphs and indented lines."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            part if part.startswith(" ") else "\n".join(self._split_lines(part, width))
            for part in text.rstrip().split("\n\n")
        )


class Parser(argparse.ArgumentParser):
    """A parser whose help, and that of its commands, can be copied from."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _HelpFormatter, **options})


def add_selectors(parser: argparse.ArgumentParser) -> None:
    """Add the tasks to work on, as `selectors`, and the folders of custom pages."""
    parser.add_argument(
        "selectors",
        nargs="*",
        metavar="SELECTOR",
        help="task, category, CATEGORY/TASK, glob over them, or suite: "
        f"{', '.join(suite_names())} (default: "
        "the tasks of --pages; without that all, every task)",
    )
    add_pages(parser)


def add_pages(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pages",
        action="append",
        type=Path,
        metavar="DIR",
        help="a folder of your own pages, any number of times (default: those of the ini file)",
    )


def make_catalogue(options: argparse.Namespace) -> Catalogue:
    from pytest_miniwob_agent.plugin.reading import read_ini_option

    return Catalogue(options.pages or read_ini_option("pages") or [])


def read_selectors(options: argparse.Namespace, catalogue: Catalogue) -> list[str]:
    if options.selectors:
        return list(options.selectors)
    return catalogue.own_tasks if options.pages else ["all"]


def add_shards(parser: argparse.ArgumentParser) -> None:
    """Add what shards wrote, as `shards`, and the `output` that joins it."""
    parser.add_argument("shards", nargs="+", metavar="PATH", help="what each shard wrote")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="what to write")


def add_pytest_args(
    parser: argparse.ArgumentParser,
    meaning: str = "whose items to take (default: all that it collects here)",
) -> None:
    """Add the arguments of a pytest run, as `pytest_args`."""
    parser.add_argument(
        "pytest_args",
        nargs="*",
        metavar="-- PYTEST ARGUMENTS",
        help=f"arguments of the pytest run {meaning}",
    )


OF_APPS = "of a test on apps"
"""The pytest run of a command that is for pages, too."""


def on_apps(options: argparse.Namespace, *selectors: str) -> bool:
    """Return True if the selectors name tests; only then there may be arguments for pytest."""
    named = any(".py" in selector for selector in selectors)
    if options.pytest_args and not named:
        raise UsageError("arguments after -- are for pytest, which runs only tests on apps here")
    return named


def add_browser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--browser", metavar="PATH", help="the Chromium or Chrome to use")


def add_prices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prices",
        default="",
        metavar="PRICES",
        help="for the cost: 'MODEL PROMPT COMPLETION' in US dollars per million tokens, "
        "as in miniwob_prices of the ini file",
    )


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add the format of the output, as `format`; the first one is the default."""
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help="(default: %(default)s)"
    )


# Wall-clock seconds between two lines if standard error is no terminal.
_PAUSE = 20.0

_shown = time.monotonic()


def show_progress(text: str) -> None:
    """Show a line that the next call replaces; where it can't, show a line now and then."""
    global _shown
    if sys.stderr.isatty():
        # A line that wraps could not be erased.
        print(f"\r\x1b[2K{text[:78]}", end="", file=sys.stderr, flush=True)
    elif text and time.monotonic() - _shown >= _PAUSE:
        _shown = time.monotonic()
        print(text, file=sys.stderr, flush=True)
