"""The tasks of the installed `miniwob` package: pages, categories, suites, a table of facts."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from pytest_miniwob_agent.core.errors import UsageError

CATEGORIES: dict[str, tuple[str, ...]] = {
    "1-screen-1-step": (
        "click-button", "click-dialog", "click-dialog-2", "click-link", "click-tab", "click-test",
        "click-test-2", "click-widget", "focus-text", "focus-text-2",
    ),
    "1-screen-n-step": (
        "click-button-sequence", "click-checkboxes", "click-checkboxes-large",
        "click-checkboxes-soft", "click-checkboxes-transfer", "click-collapsible", "click-option",
        "click-scroll-list", "enter-password", "enter-text", "enter-text-2", "enter-text-dynamic",
        "find-word", "login-user", "multi-layouts", "multi-orderings", "read-table",
        "read-table-2", "social-media-all", "social-media-some",
    ),
    "n-screen-n-step": (
        "click-collapsible-2", "click-menu-2", "click-pie", "click-tab-2", "click-tab-2-hard",
        "email-inbox", "email-inbox-forward-nl", "email-inbox-forward-nl-turk",
        "email-inbox-nl-turk", "navigate-tree", "search-engine", "social-media",
        "use-autocomplete",
    ),
}  # fmt: skip
"""The 43 tasks of the reflective agent's paper (tables 10 to 12), as `miniwob` names them."""

OTHER = "other"
"""The category of every other task of the installed `miniwob` package."""

DATA = Path(__file__).with_name("data")
"""The table of facts about tasks, the verdicts of `certify`, and a first page of your own."""


def page_path(task: str) -> Path:
    """Return the HTML file of a task. A flight task has a folder, named after the dot."""
    if task.startswith("flight."):
        return pages_folder() / "flight" / task.removeprefix("flight.") / "wrapper.html"
    return pages_folder() / "miniwob" / f"{task}.html"


@cache
def pages_folder() -> Path:
    """Return the folder of the installed `miniwob` package that holds all pages."""
    spec = importlib.util.find_spec("miniwob")
    if spec is None or spec.origin is None:
        raise UsageError("the miniwob package is not installed: pip install miniwob")
    return Path(spec.origin).parent / "html"


@cache
def installed_tasks() -> dict[str, str]:
    """Return the category of every installed task, by the task's name."""
    category = {task: name for name, members in CATEGORIES.items() for task in members}
    names = [path.stem for path in pages_folder().glob("miniwob/*.html")]
    names += [f"flight.{path.parent.name}" for path in pages_folder().glob("flight/*/wrapper.html")]
    return {name: category.get(name, OTHER) for name in sorted(names)}


@cache
def task_facts() -> dict[str, Mapping[str, str]]:
    """Return the rows of `data/tasks.csv`, by task."""
    lines = (DATA / "tasks.csv").read_text(encoding="utf-8").splitlines()
    return {row["task"]: row for row in csv.DictReader(lines)}


def task_fact(task: str, column: str) -> str:
    """Return one field of `data/tasks.csv`; empty for a task that is not in it."""
    return task_facts().get(task, {}).get(column, "")


SUITES: dict[str, Callable[[str], object]] = {
    "paper": lambda task: installed_tasks().get(task, OTHER) != OTHER,
    "rci": lambda task: task_fact(task, "rci"),
    "webwise": lambda task: task_fact(task, "webwise"),
    "all": lambda task: True,
}
"""Suites by name, each with a function that is true for the names of its tasks. In order: the 43
tasks of the reflective agent's paper, those of the RCI paper, those of the WebWISE paper, and every
task, custom ones too. A line here adds a suite."""
