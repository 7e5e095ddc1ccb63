"""`miniwob-agent tasks`: the list of tasks, with the facts about each."""

from __future__ import annotations

import json
import shutil
import sys
from argparse import Namespace

from pytest_miniwob_agent.cli.arguments import (
    Commands,
    add_format,
    add_selectors,
    catalogue_of,
    selectors_of,
)

COLUMNS = ("task", "category", "RCI", "WebWISE", "actions", "certified", "remark")


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "tasks",
        help="list the tasks",
        description="List tasks with their categories, the papers that used them, the actions that "
        "they need, and whether they are certified to be deterministic.",
    )
    add_selectors(parser)
    add_format(parser, ["text", "markdown", "json"])
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the list."""
    from pytest_miniwob_agent.tasks.facts import list_tasks
    from pytest_miniwob_agent.terminal import layout

    catalogue = catalogue_of(options)
    tasks = list_tasks(selectors_of(options, catalogue), catalogue)
    if options.format == "json":
        print(json.dumps([vars(task) for task in tasks], indent=1))
        return 0
    markdown = options.format == "markdown"
    rows: list[tuple[str, ...]] = [COLUMNS]
    for task in tasks:
        name, actions = f"`{task.name}`" if markdown else task.name, ", ".join(task.actions)
        facts = (task.category, task.rci, task.webwise, actions, task.certified, task.remark)
        rows.append((name, *facts))
    if markdown:
        rows.insert(1, (":--",) * len(COLUMNS))
        print("\n".join("| " + " | ".join(row) + " |" for row in rows))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**6
        lines = layout.fitting_table([row[:-1] for row in rows], width, numbers=False)
        print("\n".join(lines))
    return 0
