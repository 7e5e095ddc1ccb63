"""Suites: named selections of tasks."""

from __future__ import annotations

from collections.abc import Callable

from pytest_miniwob_agent.tasks.catalogue import OTHER, installed_tasks, task_fact

SUITES: dict[str, Callable[[str], object]] = {
    "paper": lambda task: installed_tasks().get(task, OTHER) != OTHER,
    "rci": lambda task: task_fact(task, "rci"),
    "webwise": lambda task: task_fact(task, "webwise"),
    "all": lambda task: True,
}
"""Suites by name, each with a function that is true for the names of its tasks. In order: the 43
tasks of the reflective agent's paper, those of the RCI paper, those of the WebWISE paper, and every
task, custom ones too. A line here adds a suite."""


def suites_of(task: str) -> tuple[str, ...]:
    """The names of the suites that a task is in."""
    return tuple(name for name, includes in SUITES.items() if includes(task))
