"""`miniwob-agent results` and `report`: join what shards have written, export it, send traces."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands, add_prices, add_pytest_args
from pytest_miniwob_agent.core.text import counted


def add(commands: Commands) -> None:
    """Add the arguments of both commands."""
    steps = _add_noun(commands, "results", "join, export or trace results")
    results = _add_merge(
        steps,
        "results",
        "Join the results files of all shards of a suite into the one that a run of all items "
        "would have written. A shard that is missing, given twice, or of another commit, items, "
        "agent, model, prompt or limit is an error that names it, and so is an item that went to "
        "no shard or to several.",
    )
    judge = "miniwob-agent compare git:main results.jsonl --gate items"
    results.epilog = f"Then one gate judges them all:\n\n  {judge}"
    results.set_defaults(run=merge_results)
    export = steps.add_parser(
        "export",
        help="write results as a table for other tools",
        description="Write a table with a row for each item: task, seed, outcome, reward, steps, "
        "calls, tokens, cost, agent and model, as CSV. docs/output.md has the columns.",
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
    ).set_defaults(run=merge_report)


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
    from pytest_miniwob_agent.core.files import write_atomically
    from pytest_miniwob_agent.models.budget import parse_prices
    from pytest_miniwob_agent.results import export
    from pytest_miniwob_agent.results.file import read_results

    results, prices = read_results(options.results), parse_prices(options.prices)
    content = export.csv_text(results, prices)
    if options.output is None:
        print(content, end="")
    else:
        write_atomically(options.output, content)
        print(f"{options.output}: {counted(len(results.results), 'item')}")
    return 0


def send_traces(options: Namespace) -> int:
    """Send the traces of the items of a pytest run."""
    from pytest_miniwob_agent.plugin.inner import trace

    print(f"sent the traces of {counted(trace(options.pytest_args), 'item')}")
    return 0


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
