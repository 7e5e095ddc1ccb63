"""`miniwob-agent report merge`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import add_shards
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.plugins.report.folder import Report


def add_merge(parser: ArgumentParser) -> None:
    parser.description = (
        "Join the HTML reports of all shards of a suite, with their pictures, into the one that a "
        "run of all items would have written. The shards are checked as by miniwob-agent results "
        "merge."
    )
    add_shards(parser)
    parser.set_defaults(run=join_report)


def join_report(options: Namespace) -> int:
    report = Report(Path(options.output), "--output")
    count = counted(report.merge([Path(path) for path in options.shards]), "item")
    print(f"{report.index}: {count} of {len(options.shards)} shards")
    return 0
