"""What is known of each task: papers, actions, certification."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.tasks.catalogue import suites, task_facts
from pytest_miniwob_agent.tasks.selection import select_tasks


@dataclass(frozen=True)
class Task:
    """A task and what is known of it."""

    name: str
    category: str
    suites: tuple[str, ...]
    rci: str
    webwise: str
    actions: tuple[str, ...]
    certified: str
    remark: str


def list_tasks(selectors: list[str]) -> list[Task]:
    """The selected tasks.

    Raises:
        UsageError: a selector matches nothing.
    """
    found = []
    for category, name in select_tasks(selectors):
        about = task_facts().get(name, {})
        found.append(
            Task(
                name,
                category,
                suites(name),
                about.get("rci", ""),
                about.get("webwise", ""),
                tuple(about.get("actions", "").split()),
                _certified(name),
                about.get("remark", ""),
            )
        )
    return found


@cache
def _verdicts() -> dict[str, dict[str, Any]]:
    """What `miniwob-agent certify --output` wrote of the package's tasks, by case."""
    text = (Path(__file__).with_name("data") / "certified.json").read_text(encoding="utf-8")
    verdicts: dict[str, dict[str, Any]] = json.loads(text)
    return verdicts


def _certified(task: str) -> str:
    """The verdicts over a task's cases, in a few words."""
    found = [verdict for case, verdict in _verdicts().items() if case.split("/")[1] == task]
    if not found:
        return "not tried"
    for verdict in found:
        if verdict["difference"]:
            return "no: " + str(verdict["difference"]).splitlines()[0]
    return f"yes, {sum(verdict['observations'] for verdict in found)}"
