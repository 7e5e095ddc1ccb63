"""`miniwob-agent tasks`: the list of tasks, with the facts about each."""

from __future__ import annotations

import json
import shutil
import sys
from argparse import Namespace
from functools import cache
from typing import Any

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
    from pytest_miniwob_agent.tasks.selectors import select_tasks
    from pytest_miniwob_agent.terminal import layout

    catalogue = catalogue_of(options)
    selected = select_tasks(selectors_of(options, catalogue), catalogue)
    tasks = [facts_of(task, category) for category, task in selected]
    if options.format == "json":
        print(json.dumps(tasks, indent=1))
        return 0
    markdown = options.format == "markdown"
    rows: list[tuple[str, ...]] = [COLUMNS]
    for task in tasks:
        shown = task | {"actions": ", ".join(task["actions"])}
        name = f"`{task['name']}`" if markdown else task["name"]
        rows.append((name, *(shown[column.lower()] for column in COLUMNS[1:])))
    if markdown:
        rows.insert(1, (":--",) * len(COLUMNS))
        print("\n".join("| " + " | ".join(row) + " |" for row in rows))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**6
        lines = layout.fitting_table([row[:-1] for row in rows], width, numbers=False)
        print("\n".join(lines))
    return 0


def facts_of(task: str, category: str) -> dict[str, Any]:
    """The facts about a task; `rci` and `webwise` are its groups in these papers."""
    from pytest_miniwob_agent.tasks.catalogue import SUITES, task_fact

    found = _differences().get(task)
    certified = "yes" if found else "not tried"
    for difference in filter(None, found or ()):
        certified = f"no: {difference.splitlines()[0]}"
    return {
        "name": task,
        "category": category,
        "suites": [name for name, includes in SUITES.items() if includes(task)],
        "rci": task_fact(task, "rci"),
        "webwise": task_fact(task, "webwise"),
        "actions": task_fact(task, "actions").split(),
        "certified": certified,
        "remark": task_fact(task, "remark"),
    }


@cache
def _differences() -> dict[str, list[str]]:
    """What differs in each case of a task, by the output of `miniwob-agent certify --output`."""
    from pytest_miniwob_agent.core.case import Case
    from pytest_miniwob_agent.tasks.catalogue import DATA

    found: dict[str, list[str]] = {}
    for case, verdict in json.loads((DATA / "certified.json").read_text("utf-8")).items():
        found.setdefault(Case.from_id(case).task, []).append(verdict["difference"])
    return found
