"""`miniwob-agent report`: joins the reports of shards."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.core.text import counted


def add(commands: Commands) -> None:
    """Add the arguments of all steps."""
    summary = "join the reports of shards"
    steps = commands.add_parser(
        "report", help=summary, description=f"{summary.capitalize()}."
    ).add_subparsers(required=True, metavar="STEP", dest="step")
    parser = steps.add_parser(
        "merge",
        help=summary,
        description="Join the HTML reports of all shards of a suite, with their pictures, into the "
        "one that a run of all items would have written. The shards are checked as by "
        "miniwob-agent results merge.",
    )
    parser.add_argument(
        "shards", nargs="+", type=Path, metavar="DIR", help="the report of each shard"
    )
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="DIR", help="the folder to write"
    )
    parser.set_defaults(run=merge)


def merge(options: Namespace) -> int:
    """Write the joined report."""
    from pytest_miniwob_agent.report.folder import Report
    from pytest_miniwob_agent.report.merge import merge_reports

    report = Report(options.output, "--output")
    count = merge_reports(options.shards, report)
    print(f"{report.index}: {counted(count, 'item')} of {len(options.shards)} shards")
    return 0
