"""`miniwob-agent tables`: a run beside the published figures."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands, add_format
from pytest_miniwob_agent.core.errors import UsageError


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "tables",
        help="compare runs with the published figures",
        description="The tables and figures of three papers with the values of a run: completion "
        "by task, beside the published rates, the significance of more trials, planner calls, "
        "groups of tasks. Of several runs, also those that compare variants of an agent.",
    )
    parser.add_argument(
        "results", metavar="RESULTS", nargs="+", help="a results file, or git:REF:PATH"
    )
    parser.add_argument(
        "--reward",
        choices=["full", "any"],
        default="full",
        help="the reward from which a trial counts as solved: full = 1, as everywhere else; any = "
        "above 0, as in the paper's code, which pays for partial solutions (default: %(default)s)",
    )
    parser.add_argument(
        "--plot", metavar="FILE.svg", help="draw what the papers draw into a file, too"
    )
    add_format(parser, ["text", "json"])
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the tables; draw the figures if a file is named."""
    from pytest_miniwob_agent.core.files import write_atomically
    from pytest_miniwob_agent.report.plot import draw
    from pytest_miniwob_agent.results.figures import tables_of, variant_tables
    from pytest_miniwob_agent.results.file import read_results
    from pytest_miniwob_agent.results.published import Paper
    from pytest_miniwob_agent.terminal import tables

    papers = {}
    for source in options.results:
        for setup, results in read_results(source).by_setup.items():
            name = setup if len(options.results) == 1 else f"{source} {setup}".strip()
            papers[name] = Paper(results, any_reward=options.reward == "any")
    if not any(paper.conclusive for paper in papers.values()):
        raise UsageError(f"{options.results[0]} has no item that is solved or unsolved")
    variants = variant_tables(list(papers.values()))
    if options.format == "json":
        data = {name: tables.tables_data(paper) for name, paper in papers.items()}
        whole = data if len(data) > 1 else next(iter(data.values()))
        print(json.dumps(whole | tables.rows_by_name(variants), indent=1))
    else:
        width = shutil.get_terminal_size().columns
        print("\n".join(tables.tables_text(paper, width) for paper in papers.values()), end="")
        print("".join(tables.table_text(table, width) for table in variants), end="")
    if options.plot:
        figures = [("comparison", table) for table in variants] + [
            (f"{paper.agent} with {paper.model}", table)
            for paper in papers.values()
            for table in tables_of(paper)
        ]
        if not (drawn := draw(figures)):
            raise UsageError("nothing to draw: no paper has a figure for these agents and tasks")
        try:
            write_atomically(Path(options.plot), drawn)
        except OSError as error:
            raise UsageError(f"{options.plot} can't be written: {error}") from None
    return 0
