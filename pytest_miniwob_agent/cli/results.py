"""`miniwob-agent results`: joins the results of shards."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.core.text import counted


def add(commands: Commands) -> None:
    """Add the arguments of all steps."""
    summary = "join the results of shards"
    steps = commands.add_parser(
        "results", help=summary, description=f"{summary.capitalize()}."
    ).add_subparsers(required=True, metavar="STEP", dest="step")
    parser = steps.add_parser(
        "merge",
        help=summary,
        description="Join the results files of all shards of a suite into the one that a run of "
        "all items would have written. A shard that is missing or given twice, one of another "
        "commit, agent, model, prompt or limit, and an item that no shard or several were given "
        "are errors that name it.",
        epilog="Then one gate judges them all:\n\n"
        "  miniwob-agent compare git:main results.jsonl --gate items",
    )
    parser.add_argument("shards", nargs="+", metavar="FILE", help="the results of each shard")
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="FILE", help="the file to write"
    )
    parser.set_defaults(run=merge)


def merge(options: Namespace) -> int:
    """Write the joined results."""
    from pytest_miniwob_agent.results.file import read_results
    from pytest_miniwob_agent.results.merge import merge_results

    results = merge_results([read_results(name) for name in options.shards])
    results.write(options.output)
    partial = f" (a partial run: {', '.join(results.partial)})" if results.partial else ""
    count = counted(len(results.results), "item")
    print(f"{options.output}: {count} of {len(options.shards)} shards{partial}")
    return 0
