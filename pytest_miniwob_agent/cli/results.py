"""What runs have written: `miniwob-agent compare`, and `results merge` for shards."""

from __future__ import annotations

import json
import shutil
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import add_format, add_prices, add_shards
from pytest_miniwob_agent.core.errors import NoResultsYet, UsageError
from pytest_miniwob_agent.core.text import counted, nearest
from pytest_miniwob_agent.models.budget import parse_prices
from pytest_miniwob_agent.results.comparison import Comparison
from pytest_miniwob_agent.results.file import merge_results, read_results
from pytest_miniwob_agent.results.gate import Gate, judge, judge_setups
from pytest_miniwob_agent.results.twins import find_twins
from pytest_miniwob_agent.terminal.views import (
    ComparisonView,
    SeveralView,
    TwinsView,
    report_to_github,
)


def add_merge(parser: ArgumentParser) -> None:
    parser.description = (
        "Join the results files of all shards of a suite into the one that a run of all items "
        "would have written. It is an error if a shard is missing or given twice, if its commit, "
        "items, agent, model, prompts or limits differ, or if an item is in none or in several."
    )
    judge = "miniwob-agent compare git:main results.jsonl --gate items"
    parser.epilog = f"Then one gate judges them all:\n\n  {judge}"
    add_shards(parser)
    parser.set_defaults(run=join_results)


def join_results(options: Namespace) -> int:
    results = merge_results([read_results(path) for path in options.shards])
    results.write(Path(options.output))
    partial = f" (a partial run: {', '.join(results.partial)})" if results.partial else ""
    count = counted(len(results.results), "item")
    print(f"{options.output}: {count} of {len(options.shards)} shards{partial}")
    return 0


def add_compare(parser: ArgumentParser) -> None:
    parser.description = (
        "Compare two results files item by item: what changed, the solved rates with "
        "their intervals, calls and tokens. With more files, each is compared with the first. Of "
        "one file, also show its pairs: items, and the same perturbed or attacked. On GitHub "
        "Actions it also writes the job's summary."
    )
    parser.epilog = (
        "A file is a path, git:REF:PATH for a file at a commit, or git:REF for the other "
        "file at a commit: miniwob-agent compare git:main results.jsonl. With one file of several "
        "agents or models, all are compared with the first of them, or with --first. Join the "
        "results of shards first, with miniwob-agent results merge."
    )
    parser.add_argument("base", metavar="BASE", help="the results before")
    parser.add_argument("heads", metavar="HEAD", nargs="*", help="the results after")
    parser.add_argument(
        "--first",
        metavar="AGENT/MODEL",
        help="with one file: compare the others with this one, such as reflective/gpt-5",
    )
    add_format(parser, ["text", "markdown", "json"])
    parser.add_argument(
        "--by-task",
        action="store_true",
        help="treat the seeds of a task as one in tests and intervals, to ask if other tasks would "
        "change too; by default, if these items would change again",
    )
    parser.add_argument(
        "--gate",
        metavar="KIND",
        help="exit with 1 if this gate is red or inconclusive: items[:M], "
        "paired[:ALPHA][:by-task], until-decided[:ALPHA][:by-task] or rate:POINTS, which limits "
        "such as calls:+10%%, or lenient, may follow after commas; grade:NAME:-POINTS may also "
        "stand alone; perturbed:-POINTS and followed:PERCENT also judge the pairs in one file",
    )
    add_prices(parser)
    parser.set_defaults(run=compare)


def compare(options: Namespace) -> int:
    """Print the comparison; 1 if a gate was given and fails."""
    gate = Gate.parse(options.gate) if options.gate else None
    by_task = options.by_task or bool(gate and gate.by_task)
    gate = gate and replace(gate, by_task=by_task)
    try:
        baseline = read_results(options.base, beside=next(iter(options.heads), None))
    except NoResultsYet as error:
        as_json = options.format == "json"
        if as_json:
            print(json.dumps({"miniwob_compare": 1, "baseline": None}, indent=1))
        remark = f"no baseline yet, nothing judged: {error}"
        print(remark, file=sys.stderr if as_json else sys.stdout)
        return 0
    heads = [read_results(head, beside=options.base) for head in options.heads]
    if options.first and heads:
        raise UsageError("--first names one of the agents in one file: leave out the other files")
    setups = baseline.by_setup
    first = options.first or next(iter(setups), "")
    if options.first and first not in setups:
        raise UsageError(
            f"{options.base} has no results of {first!r}{nearest(first, list(setups))}; "
            f"it has {', '.join(filter(None, setups)) or 'one agent and model'}"
        )
    twins = {} if heads else find_twins(baseline, by_task=by_task)
    if not heads and (gate.kind == "twins" if gate else twins and len(setups) == 1):
        verdict = judge(baseline, baseline, gate) if gate else None
        alone = TwinsView(twins, verdict)
        _show(alone, options)
        report_to_github(alone.markdown(), verdict)
        return int(verdict is not None and verdict.failed)
    source = baseline
    if not heads:
        baseline = setups.pop(first, baseline)
        heads = list(setups.values())
    if not heads:
        lacking = "" if twins else ", and no items that are also perturbed or attacked"
        pairs = ", or a gate for its pairs, such as perturbed:-10" if twins else ""
        raise UsageError(
            f"{options.base} has one agent and model{lacking}: name a file to compare it with"
            f"{pairs}"
        )
    if len(heads) > 1 and gate:
        raise UsageError("--gate judges one run: name two files, or one file of two set-ups")
    several = [Comparison(baseline, head, by_task=by_task) for head in heads]
    prices = parse_prices(options.prices)
    verdict = None
    if gate and options.heads:
        verdict = judge(baseline, heads[0], gate, prices=prices)
    elif gate:
        if gate.kind == "until-decided" and source.partial:
            raise UsageError(
                f"{options.base} is of a partial run ({', '.join(source.partial)}), which does not "
                f"tell the rounds: replay the run with its gate, or use --gate paired"
            )
        verdict = judge_setups(source, first, gate, prices)
    one = ComparisonView(several[0], verdict)
    view = one if len(heads) == 1 else SeveralView(several)
    within = [TwinsView(twins)] if twins else []
    _show(view, options, *within)
    markdown = "\n".join(each.markdown() for each in [view, *within])
    report_to_github(markdown, verdict, one.changed[0] if len(heads) == 1 else ())
    return int(verdict is not None and verdict.failed)


def _show(
    view: ComparisonView | SeveralView | TwinsView, options: Namespace, *within: TwinsView
) -> None:
    if options.format == "json":
        more = {"pairs": within[0].data()["twins"]} if within else {}
        print(json.dumps(view.data() | more, indent=1))
    elif options.format == "markdown":
        print("\n".join(each.markdown() for each in [view, *within]), end="")
    else:
        width = shutil.get_terminal_size().columns
        print("\n".join(each.text(width) for each in [view, *within]), end="")
