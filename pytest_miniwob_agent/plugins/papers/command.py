"""`miniwob-agent tables`."""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import add_format
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_output
from pytest_miniwob_agent.plugins.papers.figures import run_tables, variant_tables
from pytest_miniwob_agent.plugins.papers.output import (
    draw,
    rows_by_name,
    table_text,
    tables_data,
    tables_text,
)
from pytest_miniwob_agent.plugins.papers.tables import Paper
from pytest_miniwob_agent.results.file import read_results


def add_tables(parser: ArgumentParser) -> None:
    parser.description = (
        "Print the tables and figures of three papers with the values of a run beside "
        "the published ones: completion by task, the significance of more trials, planner calls, "
        "groups of tasks. With several runs, also those that compare variants of an agent."
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
            for table in run_tables(paper)
        ]
        if not (drawn := draw(figures)):
            raise UsageError("nothing to draw: no paper has a figure for these agents and tasks")
        try:
            write_output(Path(options.plot), drawn)
        except OSError as error:
            raise UsageError(f"{options.plot} can't be written: {error}") from None
    return 0
