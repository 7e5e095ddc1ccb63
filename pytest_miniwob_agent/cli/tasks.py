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
from pytest_miniwob_agent.tasks.suites import SUITES

INTRODUCTION = """\
# Tasks

Every task of the installed `miniwob` package can be an item. This page is the output of
`miniwob-agent tasks --format markdown`; a test keeps it up to date. The [gallery](gallery.md) has a
picture of each page, and what it asks.

- **Category** is ours: the three of the reflective agent's paper for its 43 tasks, `other` for the
  rest.
- **RCI** and **WebWISE** mark the tasks that these papers report. RCI's appendix puts nine of its
  tasks into groups of difficulty; its text speaks of 55 tasks, its table has figures for 54.
  WebWISE groups its 48 by the number of functions that a solution calls.
- **Actions** are those of a solution ([actions](actions.md)); `place` is a click at a place inside
  an element, `point` an action at a point of the page.
- **Remarks** on what the *full screen* has are about the agent's parameter `screen`
  ([screens](screens.md#the-full-screen)); the compact screen of the paper lacks it.
- **Certified** is yes if the page was the same in all passes of `miniwob-agent certify`
  ([determinism](determinism.md)), with the number of observations.

Suites select them by name: {suites}.
"""


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
    head = ("task", "category", "RCI", "WebWISE", "actions", "certified", "remark")
    body = [
        (
            f"`{task.name}`" if markdown else task.name,
            task.category,
            task.rci,
            task.webwise,
            ", ".join(task.actions),
            task.certified,
            task.remark,
        )
        for task in tasks
    ]
    rows = [head, *body]
    if markdown:
        print(INTRODUCTION.format(suites=", ".join(f"`{name}`" for name in SUITES)))
        print("\n".join(layout.markdown_table(rows, numbers=False)))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**6
        lines = layout.fitting_table([row[:-1] for row in rows], width, numbers=False)
        print("\n".join(lines))
    return 0
