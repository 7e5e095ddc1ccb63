"""`miniwob-agent results export`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import add_prices
from pytest_miniwob_agent.core.files import write_output
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.models.budget import parse_prices
from pytest_miniwob_agent.plugins.export.table import COLUMNS, csv_text
from pytest_miniwob_agent.results.file import read_results


def add_export(parser: ArgumentParser) -> None:
    parser.description = "Write results as CSV, with a row for each item."
    columns = (f"  {name:18}{text}" for name, text in COLUMNS.items())
    parser.epilog = "\n".join(["Columns:\n", *columns])
    parser.add_argument("results", metavar="RESULTS", help="a results file, or git:REF:PATH")
    parser.add_argument("-o", "--output", type=Path, metavar="PATH", help="the file to write")
    add_prices(parser)
    parser.set_defaults(run=export_results)


def export_results(options: Namespace) -> int:
    results, prices = read_results(options.results), parse_prices(options.prices)
    content = csv_text(results, prices)
    if options.output is None:
        print(content, end="")
    else:
        write_output(options.output, content)
        print(f"{options.output}: {counted(len(results.results), 'item')}")
    return 0
