"""`miniwob-agent tasks`: which tasks there are, and what is known of each."""

from __future__ import annotations

import json
import shutil
import sys
from argparse import Namespace

from pytest_miniwob_agent.tasks.facts import list_tasks
from pytest_miniwob_agent.terminal import layout

INTRODUCTION = """\
# Tasks

Every task of the installed `miniwob` package can be an item. This page is what
`miniwob-agent tasks --format markdown` prints; a test keeps it so.

- **Category** is ours: the three of the reflective agent's paper for its 43 tasks, `other` for the
  rest.
- **RCI** and **WebWISE** mark the tasks that these papers report. RCI's appendix puts nine of its
  tasks into groups of difficulty; its text speaks of 55 tasks, its table has figures for 54.
  WebWISE groups its 48 by the number of functions that a solution calls.
- **Actions** are those that a solution takes ([actions](actions.md)); `place` is a click at a place
  inside an element.
- **Certified** tells whether the page was the same in all passes of `miniwob-agent certify`
  ([determinism](determinism.md)), and over how many observations.

Suites select them by name: `paper`, `rci`, `webwise`, `all`.
"""


def run(options: Namespace) -> int:
    """The command."""
    tasks = list_tasks(options.selectors)
    if options.format == "json":
        print(json.dumps([vars(task) for task in tasks], indent=1))
        return 0
    marked = options.format == "markdown"
    rows = [("task", "category", "RCI", "WebWISE", "actions", "certified", "remark")]
    for task in tasks:
        name = f"`{task.name}`" if marked else task.name
        rows.append(
            (
                name, task.category, task.rci, task.webwise, ", ".join(task.actions),
                task.certified, task.remark,
            )
        )  # fmt: skip
    if marked:
        print(INTRODUCTION)
        print("\n".join(layout.markdown_table(rows, numbers=False)))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**6
        lines = layout.fitting_table([row[:-1] for row in rows], width, numbers=False)
        print("\n".join(lines))
    return 0
