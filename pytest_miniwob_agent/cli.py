"""The command `miniwob-agent`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_miniwob_agent import catalogue
from pytest_miniwob_agent.core import MiniwobError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if all is well, 1 if it found something, 2 for a wrong call."""
    parser = argparse.ArgumentParser(
        prog="miniwob-agent", description="Tools beside the pytest plugin pytest-miniwob-agent."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    certify = commands.add_parser(
        "certify",
        help="check that pages are deterministic",
        description="Load each page in several browsers, in other orders and at another pace, do "
        "the same things on it, and compare all that is seen.",
    )
    certify.add_argument(
        "selectors", nargs="*", default=["*"], metavar="SELECTOR",
        help="task, category or glob (default: every task of the installed miniwob package)",
    )  # fmt: skip
    certify.add_argument("--seeds", default="1000-1001", help="such as 1000-1024,7 (%(default)s)")
    certify.add_argument("--output", type=Path, metavar="FILE", help="write the verdicts as JSON")
    certify.add_argument("--browser", metavar="PATH", help="the Chromium or Chrome to use")
    certify.set_defaults(run=_certify)
    options = parser.parse_args(arguments)
    try:
        result: int = options.run(options)
    except MiniwobError as error:
        print(f"miniwob-agent: {error}", file=sys.stderr)
        return 2
    return result


def _certify(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.browser import Browser
    from pytest_miniwob_agent.certify import certify

    cases = catalogue.cases(options.selectors, catalogue.parse_seeds(options.seeds))
    verdicts: dict[str, dict[str, str | int]] = {}
    failed = 0
    for verdict in certify(cases, lambda: Browser(options.browser), _progress):
        _progress("")
        failed += bool(verdict.difference)
        verdicts[verdict.case.id] = {
            "observations": verdict.observations,
            "difference": verdict.difference,
        }
        word = "DIFFERS" if verdict.difference else "same"
        print(f"{word:<8}{verdict.case}, {verdict.observations} observations")
        if verdict.difference:
            print("  " + verdict.difference.replace("\n", "\n  "))
    if options.output:
        text = json.dumps(verdicts, indent=1, sort_keys=True, ensure_ascii=False)
        options.output.write_text(text + "\n", encoding="utf-8")
    print(f"{len(cases) - failed} of {len(cases)} cases are deterministic")
    return 1 if failed else 0


def _progress(text: str) -> None:
    """Show one line that the next one replaces, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text[:78]}", end="", file=sys.stderr, flush=True)
