"""`miniwob-agent compare`: what got better and what got worse between two runs."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace

from pytest_miniwob_agent.cli.arguments import Commands, add_format


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "compare",
        help="show what got better and worse between two runs",
        description="Compare two results files item by item: what changed, the solved rates with "
        "their intervals, calls and tokens. On GitHub Actions it also writes the job's summary.",
        epilog="A file is a path, git:REF:PATH for the file as it was at a commit, or git:REF for "
        "the path of the other one at a commit: miniwob-agent compare git:main results.jsonl. "
        "Join the results of shards first, with miniwob-agent results merge.",
    )
    parser.add_argument("base", metavar="BASE", help="the results before")
    parser.add_argument("head", metavar="HEAD", help="the results after")
    add_format(parser, ["text", "markdown", "json"])
    parser.add_argument(
        "--gate",
        metavar="KIND",
        help="exit with 1 if this gate is red: items[:M], paired[:ALPHA] or rate:POINTS; with "
        "paired:strict or paired:ALPHA:strict, also if the items are too few to decide",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the comparison; 1 if a gate was given and is red."""
    from pytest_miniwob_agent.results.comparison import Comparison
    from pytest_miniwob_agent.results.file import read_results
    from pytest_miniwob_agent.results.gate import Gate, judge
    from pytest_miniwob_agent.terminal.comparison import ComparisonView
    from pytest_miniwob_agent.terminal.github import report_to_github

    gate = Gate.parse(options.gate) if options.gate else None
    baseline = read_results(options.base, beside=options.head)
    head = read_results(options.head, beside=options.base)
    verdict = judge(baseline, head, gate) if gate else None
    view = ComparisonView(Comparison(baseline, head), verdict)
    if options.format == "json":
        print(json.dumps(view.data(), indent=1))
    else:
        text = view.text(shutil.get_terminal_size().columns)
        print(view.markdown() if options.format == "markdown" else text, end="")
    report_to_github(view)
    return int(verdict is not None and verdict.failed)
