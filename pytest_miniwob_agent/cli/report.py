"""`miniwob-agent report`: joins the reports of shards."""

from __future__ import annotations

from argparse import Namespace

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.cli.results import add_merge_step
from pytest_miniwob_agent.core.text import counted


def add(commands: Commands) -> None:
    """Add the arguments of all steps."""
    add_merge_step(
        commands,
        "report",
        "Join the HTML reports of all shards of a suite, with their pictures, into the one that a "
        "run of all items would have written. The shards are checked as by miniwob-agent results "
        "merge.",
    ).set_defaults(run=merge)


def merge(options: Namespace) -> int:
    """Write the joined report."""
    from pytest_miniwob_agent.report.folder import Report
    from pytest_miniwob_agent.report.merge import merge_reports

    report = Report(options.output, "--output")
    count = merge_reports(options.shards, report)
    print(f"{report.index}: {counted(count, 'item')} of {len(options.shards)} shards")
    return 0
