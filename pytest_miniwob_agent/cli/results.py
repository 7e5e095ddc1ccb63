"""`miniwob-agent results` and `miniwob-agent report`: join what shards have written."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.core.text import counted


def add(commands: Commands) -> None:
    """Add the arguments of both commands."""
    results = _add_merge(
        commands,
        "results",
        "Join the results files of all shards of a suite into the one that a run of all items "
        "would have written. A shard that is missing, given twice, or of another commit, items, "
        "agent, model, prompt or limit is an error that names it, and so is an item that went to "
        "no shard or to several.",
    )
    judge = "miniwob-agent compare git:main results.jsonl --gate items"
    results.epilog = f"Then one gate judges them all:\n\n  {judge}"
    results.set_defaults(run=merge_results)
    _add_merge(
        commands,
        "report",
        "Join the HTML reports of all shards of a suite, with their pictures, into the one that a "
        "run of all items would have written. The shards are checked as by miniwob-agent results "
        "merge.",
    ).set_defaults(run=merge_report)


def _add_merge(commands: Commands, noun: str, description: str) -> ArgumentParser:
    text = f"join the {noun.removesuffix('s')}s of shards"
    command = commands.add_parser(noun, help=text, description=f"{text.capitalize()}.")
    steps = command.add_subparsers(required=True, metavar="STEP", dest="step")
    parser: ArgumentParser = steps.add_parser("merge", help=text, description=description)
    parser.add_argument("shards", nargs="+", metavar="PATH", help="what each shard wrote")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="what to write")
    return parser


def merge_results(options: Namespace) -> int:
    """Write the joined results."""
    from pytest_miniwob_agent.results import merge
    from pytest_miniwob_agent.results.file import read_results

    results = merge.merge_results([read_results(path) for path in options.shards])
    results.write(Path(options.output))
    partial = f" (a partial run: {', '.join(results.partial)})" if results.partial else ""
    count = counted(len(results.results), "item")
    print(f"{options.output}: {count} of {len(options.shards)} shards{partial}")
    return 0


def merge_report(options: Namespace) -> int:
    """Write the joined report."""
    from pytest_miniwob_agent.report.folder import Report

    report = Report(Path(options.output), "--output")
    count = counted(report.merge([Path(path) for path in options.shards]), "item")
    print(f"{report.index}: {count} of {len(options.shards)} shards")
    return 0
