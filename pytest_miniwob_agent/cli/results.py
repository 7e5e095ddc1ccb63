"""What runs have written.

`miniwob-agent results` and `report` join what shards have written, export it and send traces;
`compare` compares runs, and `tables` prints the tables of the papers.
"""

from __future__ import annotations

import json
import shutil
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands, add_format, add_prices, add_pytest_args
from pytest_miniwob_agent.core.errors import NoResultsYet, UsageError
from pytest_miniwob_agent.core.files import write_output
from pytest_miniwob_agent.core.text import counted, nearest
from pytest_miniwob_agent.models.budget import parse_prices
from pytest_miniwob_agent.papers.figures import tables_of, variant_tables
from pytest_miniwob_agent.papers.output import (
    draw,
    rows_by_name,
    table_text,
    tables_data,
    tables_text,
)
from pytest_miniwob_agent.papers.tables import Paper
from pytest_miniwob_agent.results.comparison import Comparison
from pytest_miniwob_agent.results.export import COLUMNS, csv_text
from pytest_miniwob_agent.results.file import merge_results, read_results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.results.twins import twins_of
from pytest_miniwob_agent.terminal.views import (
    ComparisonView,
    SeveralView,
    TwinsView,
    report_to_github,
)


def add_results(commands: Commands) -> None:
    """Add the arguments of both commands."""
    steps = _add_noun(commands, "results", "join, export or trace results")
    results = _add_merge(
        steps,
        "results",
        "Join the results files of all shards of a suite into the one that a run of all items "
        "would have written. It is an error if a shard is missing or given twice, if its commit, "
        "items, agent, model, prompts or limits differ, or if an item is in none or in several.",
    )
    judge = "miniwob-agent compare git:main results.jsonl --gate items"
    results.epilog = f"Then one gate judges them all:\n\n  {judge}"
    results.set_defaults(run=join_results)
    export = steps.add_parser(
        "export",
        help="write results as a table for other tools",
        description="Write results as CSV, with a row for each item.",
        epilog="Columns:\n\n" + "\n".join(f"  {name:18}{text}" for name, text in COLUMNS.items()),
    )
    export.add_argument("results", metavar="RESULTS", help="a results file, or git:REF:PATH")
    export.add_argument("-o", "--output", type=Path, metavar="PATH", help="the file to write")
    add_prices(export)
    export.set_defaults(run=export_results)
    otel = steps.add_parser(
        "otel",
        help="send traces of recorded items by OpenTelemetry",
        description="Replay items from their cassettes, and send a trace of each by OTLP over HTTP "
        "to OTEL_EXPORTER_OTLP_ENDPOINT, as pytest --miniwob-otel does while a run goes on. "
        "Durations are those of the replay. Nothing is written, and no model is called.",
    )
    add_pytest_args(otel)
    otel.set_defaults(run=send_traces)
    steps = _add_noun(commands, "report", "join the reports of shards")
    _add_merge(
        steps,
        "report",
        "Join the HTML reports of all shards of a suite, with their pictures, into the one that a "
        "run of all items would have written. The shards are checked as by miniwob-agent results "
        "merge.",
    ).set_defaults(run=join_report)


def _add_noun(commands: Commands, noun: str, text: str) -> Commands:
    command = commands.add_parser(noun, help=text, description=f"{text.capitalize()}.")
    steps: Commands = command.add_subparsers(required=True, metavar="STEP", dest="step")
    return steps


def _add_merge(steps: Commands, noun: str, description: str) -> ArgumentParser:
    text = f"join the {noun.removesuffix('s')}s of shards"
    parser: ArgumentParser = steps.add_parser("merge", help=text, description=description)
    parser.add_argument("shards", nargs="+", metavar="PATH", help="what each shard wrote")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="what to write")
    return parser


def export_results(options: Namespace) -> int:
    """Write the table, or print it."""
    results, prices = read_results(options.results), parse_prices(options.prices)
    content = csv_text(results, prices)
    if options.output is None:
        print(content, end="")
    else:
        write_output(options.output, content)
        print(f"{options.output}: {counted(len(results.results), 'item')}")
    return 0


def send_traces(options: Namespace) -> int:
    """Send the traces of the items of a pytest run."""
    from pytest_miniwob_agent.plugin.inner import trace

    print(f"sent the traces of {counted(trace(options.pytest_args), 'item')}")
    return 0


def join_results(options: Namespace) -> int:
    """Write the joined results."""
    results = merge_results([read_results(path) for path in options.shards])
    results.write(Path(options.output))
    partial = f" (a partial run: {', '.join(results.partial)})" if results.partial else ""
    count = counted(len(results.results), "item")
    print(f"{options.output}: {count} of {len(options.shards)} shards{partial}")
    return 0


def join_report(options: Namespace) -> int:
    """Write the joined report."""
    from pytest_miniwob_agent.report.folder import Report

    report = Report(Path(options.output), "--output")
    count = counted(report.merge([Path(path) for path in options.shards]), "item")
    print(f"{report.index}: {count} of {len(options.shards)} shards")
    return 0


def add_compare(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "compare",
        help="show what got better and worse between two runs",
        description="Compare two results files item by item: what changed, the solved rates with "
        "their intervals, calls and tokens. With more files, each is compared with the first. Of "
        "one file, also show its pairs: items, and the same perturbed or attacked. On GitHub "
        "Actions it also writes the job's summary.",
        epilog="A file is a path, git:REF:PATH for a file at a commit, or git:REF for the other "
        "file at a commit: miniwob-agent compare git:main results.jsonl. With one file of several "
        "agents or models, all are compared with the first of them, or with --first. Join the "
        "results of shards first, with miniwob-agent results merge.",
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
        help="exit with 1 if this gate is red or inconclusive: items[:M], paired[:ALPHA][:by-task] "
        "or rate:POINTS, which limits such as calls:+10%%, or lenient, may follow after commas; "
        "perturbed:-POINTS and followed:PERCENT also judge the pairs in one file",
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
    twins = {} if heads else twins_of(baseline, by_task=by_task)
    if not heads and (gate.kind == "twins" if gate else twins and len(setups) == 1):
        verdict = judge(baseline, baseline, gate) if gate else None
        alone = TwinsView(twins, verdict)
        _show(alone, options)
        report_to_github(alone.markdown(), verdict)
        return int(verdict is not None and verdict.failed)
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
        raise UsageError("--gate judges one run: name one file behind the baseline")
    several = [Comparison(baseline, head, by_task=by_task) for head in heads]
    prices = parse_prices(options.prices)
    verdict = judge(baseline, heads[0], gate, prices=prices) if gate else None
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
    """Print a view and, behind it, the pairs within the run."""
    if options.format == "json":
        more = {"pairs": within[0].data()["twins"]} if within else {}
        print(json.dumps(view.data() | more, indent=1))
    elif options.format == "markdown":
        print("\n".join(each.markdown() for each in [view, *within]), end="")
    else:
        width = shutil.get_terminal_size().columns
        print("\n".join(each.text(width) for each in [view, *within]), end="")


def add_tables(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "tables",
        help="compare runs with the published figures",
        description="Print the tables and figures of three papers with the values of a run beside "
        "the published ones: completion by task, the significance of more trials, planner calls, "
        "groups of tasks. With several runs, also those that compare variants of an agent.",
    )
    parser.add_argument(
        "results", metavar="RESULTS", nargs="+", help="a results file, or git:REF:PATH"
    )
    parser.add_argument(
        "--reward",
        choices=["full", "any"],
        default="full",
        help="the reward at which a trial counts as solved: full = 1, as everywhere else; any = "
        "above 0, as in the paper's code (default: %(default)s)",
    )
    parser.add_argument(
        "--plot", metavar="FILE.svg", help="also draw the papers' figures into a file"
    )
    add_format(parser, ["text", "json"])
    parser.set_defaults(run=print_tables)


def print_tables(options: Namespace) -> int:
    """Print the tables; draw the figures if a file is named."""
    papers = {}
    for source in options.results:
        for setup, results in read_results(source).by_setup.items():
            name = setup if len(options.results) == 1 else f"{source} {setup}".strip()
            papers[name] = Paper(results, any_reward=options.reward == "any")
    if not any(paper.conclusive for paper in papers.values()):
        raise UsageError(f"{options.results[0]} has no item that is solved or unsolved")
    variants = variant_tables(list(papers.values()))
    if options.format == "json":
        data = {name: tables_data(paper) for name, paper in papers.items()}
        whole = data if len(data) > 1 else next(iter(data.values()))
        print(json.dumps(whole | rows_by_name(variants), indent=1))
    else:
        width = shutil.get_terminal_size().columns
        print("\n".join(tables_text(paper, width) for paper in papers.values()), end="")
        print("".join(table_text(table, width) for table in variants), end="")
    if options.plot:
        figures = [("comparison", table) for table in variants] + [
            (f"{paper.agent} with {paper.model}", table)
            for paper in papers.values()
            for table in tables_of(paper)
        ]
        if not (drawn := draw(figures)):
            raise UsageError("nothing to draw: no paper has a figure for these agents and tasks")
        try:
            write_output(Path(options.plot), drawn)
        except OSError as error:
            raise UsageError(f"{options.plot} can't be written: {error}") from None
    return 0
