"""`miniwob-agent results`: joins the results of shards."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.core.text import counted


def add(commands: Commands) -> None:
    """Add the arguments of all steps."""
    parser = add_merge_step(
        commands,
        "results",
        "Join the results files of all shards of a suite into the one that a run of all items "
        "would have written. A shard that is missing, given twice, or of another commit, items, "
        "agent, model, prompt or limit is an error that names it, and so is an item that went to "
        "no shard or to several.",
    )
    parser.epilog = (
        "Then one gate judges them all:\n\n"
        "  miniwob-agent compare git:main results.jsonl --gate items"
    )
    parser.set_defaults(run=merge)


def add_merge_step(commands: Commands, noun: str, description: str) -> ArgumentParser:
    """Add a command with the step `merge`, and return the parser of that step."""
    things = noun.removesuffix("s") + "s"
    summary = f"join the {things} of shards"
    steps = commands.add_parser(
        noun, help=summary, description=f"{summary.capitalize()}."
    ).add_subparsers(required=True, metavar="STEP", dest="step")
    parser: ArgumentParser = steps.add_parser("merge", help=summary, description=description)
    parser.add_argument(
        "shards", nargs="+", type=Path, metavar="PATH", help="what each shard wrote"
    )
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="PATH", help="what to write"
    )
    return parser


def merge(options: Namespace) -> int:
    """Write the joined results."""
    from pytest_miniwob_agent.results.file import read_results
    from pytest_miniwob_agent.results.merge import merge_results

    results = merge_results([read_results(path) for path in options.shards])
    results.write(options.output)
    partial = f" (a partial run: {', '.join(results.partial)})" if results.partial else ""
    count = counted(len(results.results), "item")
    print(f"{options.output}: {count} of {len(options.shards)} shards{partial}")
    return 0
