"""`miniwob-agent tables`: a run beside the published figures."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace

from pytest_miniwob_agent.cli.arguments import Commands, add_format
from pytest_miniwob_agent.core.errors import UsageError


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "tables",
        help="compare a run with the published figures",
        description="Completion with 1, 3 and 5 trials by task, the significance of more trials "
        "and the planner calls that staging saves, each beside the published figures.",
    )
    parser.add_argument("results", metavar="RESULTS", help="a results file, or git:REF:PATH")
    parser.add_argument(
        "--reward",
        choices=["full", "any"],
        default="full",
        help="the reward from which a trial counts as solved: full = 1, as everywhere else; any = "
        "above 0, as in the paper's code, which pays for partial solutions (default: %(default)s)",
    )
    add_format(parser, ["text", "json"])
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the tables."""
    from pytest_miniwob_agent.results.file import read_results
    from pytest_miniwob_agent.results.published import Paper
    from pytest_miniwob_agent.terminal.tables import tables_data, tables_text

    any_reward = options.reward == "any"
    several = read_results(options.results).by_setup
    papers = {setup: Paper(run, any_reward=any_reward) for setup, run in several.items()}
    if not any(paper.conclusive for paper in papers.values()):
        raise UsageError(f"{options.results} has no item that is solved or unsolved")
    if options.format == "json":
        data = {setup: tables_data(paper) for setup, paper in papers.items()}
        print(json.dumps(data if len(data) > 1 else next(iter(data.values())), indent=1))
    else:
        width = shutil.get_terminal_size().columns
        print("\n".join(tables_text(paper, width) for paper in papers.values()), end="")
    return 0
