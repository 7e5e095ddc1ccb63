"""`miniwob-agent compare`: what got better and what got worse between runs."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace

from pytest_miniwob_agent.cli.arguments import Commands, add_format, add_prices
from pytest_miniwob_agent.core.errors import NoResultsYet, UsageError
from pytest_miniwob_agent.core.text import nearest


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "compare",
        help="show what got better and worse between two runs",
        description="Compare two results files item by item: what changed, the solved rates with "
        "their intervals, calls and tokens. Of more files, compare each with the first. On GitHub "
        "Actions it also writes the job's summary.",
        epilog="A file is a path, git:REF:PATH for the file as it was at a commit, or git:REF for "
        "the path of the other one at a commit: miniwob-agent compare git:main results.jsonl. "
        "Of one file with several agents or models, all are compared with the first of them, or "
        "with the one that --first names. "
        "Join the results of shards first, with miniwob-agent results merge.",
    )
    parser.add_argument("base", metavar="BASE", help="the results before")
    parser.add_argument("heads", metavar="HEAD", nargs="*", help="the results after")
    parser.add_argument(
        "--first",
        metavar="AGENT/MODEL",
        help="compare those of one file with this one, such as reflective/gpt-5",
    )
    add_format(parser, ["text", "markdown", "json"])
    parser.add_argument(
        "--by-task",
        action="store_true",
        help="take the seeds of a task as one in tests and intervals: would it hold for other "
        "tasks? By item: would it hold for these tasks, if they ran again?",
    )
    parser.add_argument(
        "--gate",
        metavar="KIND",
        help="exit with 1 if this gate is red or inconclusive: items[:M], paired[:ALPHA][:by-task] "
        "or rate:POINTS, and behind it limits such as calls:+10%%, or lenient, separated by commas",
    )
    add_prices(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the comparison; 1 if a gate was given and fails."""
    from pytest_miniwob_agent.models.budget import parse_prices
    from pytest_miniwob_agent.results.comparison import Comparison
    from pytest_miniwob_agent.results.file import read_results
    from pytest_miniwob_agent.results.gate import Gate, judge
    from pytest_miniwob_agent.terminal.comparison import ComparisonView, SeveralView
    from pytest_miniwob_agent.terminal.github import report_to_github

    gate = Gate.parse(options.gate) if options.gate else None
    try:
        baseline = read_results(options.base, beside=next(iter(options.heads), None))
    except NoResultsYet as error:
        print(f"no baseline yet, nothing judged: {error}")
        return 0
    heads = [read_results(head, beside=options.base) for head in options.heads]
    if options.first and heads:
        raise UsageError("--first names one of the agents in one file: leave out the other files")
    if not heads:
        setups = baseline.by_setup
        first = options.first or next(iter(setups), "")
        if options.first and first not in setups:
            raise UsageError(
                f"{options.base} has no results of {first!r}{nearest(first, list(setups))}; "
                f"it has {', '.join(setups) or 'none'}"
            )
        baseline = setups.pop(first, baseline)
        heads = list(setups.values())
    if not heads:
        raise UsageError(f"{options.base} has one agent and model: name a file to compare it with")
    by_task = options.by_task or bool(gate and gate.by_task)
    several = [Comparison(baseline, head, by_task=by_task) for head in heads]
    if len(heads) > 1 and gate:
        raise UsageError("--gate judges one run: name one file behind the baseline")
    prices = parse_prices(options.prices)
    verdict = judge(baseline, heads[0], gate, prices=prices) if gate else None
    one = ComparisonView(several[0], verdict)
    view = one if len(heads) == 1 else SeveralView(several)
    if options.format == "json":
        print(json.dumps(view.data(), indent=1))
    else:
        text = view.text(shutil.get_terminal_size().columns)
        print(view.markdown() if options.format == "markdown" else text, end="")
    if len(heads) == 1:
        report_to_github(one)
    return int(verdict is not None and verdict.failed)
