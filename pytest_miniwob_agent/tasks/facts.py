"""The facts about each task: papers, suites, actions, certification."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import task_fact
from pytest_miniwob_agent.tasks.pages import Catalogue
from pytest_miniwob_agent.tasks.selectors import select_tasks
from pytest_miniwob_agent.tasks.suites import suites_of


@dataclass(frozen=True)
class Task:
    """A task and the facts about it.

    `rci` and `webwise` are its groups in these papers, empty if they do not report it; `actions`
    are those of a solution; `certified` says in a few words whether it is deterministic.
    """

    name: str
    category: str
    suites: tuple[str, ...]
    rci: str
    webwise: str
    actions: tuple[str, ...]
    certified: str
    remark: str


def list_tasks(selectors: list[str], catalogue: Catalogue | None = None) -> list[Task]:
    """Return the selected tasks; a selector that matches nothing is a `UsageError`."""
    return [
        Task(
            name=name,
            category=category,
            suites=suites_of(name),
            rci=task_fact(name, "rci"),
            webwise=task_fact(name, "webwise"),
            actions=tuple(task_fact(name, "actions").split()),
            certified=_certified(name),
            remark=task_fact(name, "remark"),
        )
        for category, name in select_tasks(selectors, catalogue)
    ]


@cache
def _verdicts() -> dict[str, list[dict[str, Any]]]:
    """Return the output of `miniwob-agent certify --output` for the installed tasks, by task."""
    text = (Path(__file__).with_name("data") / "certified.json").read_text(encoding="utf-8")
    verdicts: dict[str, list[dict[str, Any]]] = {}
    for case, verdict in json.loads(text).items():
        verdicts.setdefault(Case.from_id(case).task, []).append(verdict)
    return verdicts


def _certified(task: str) -> str:
    """Return `yes`, `no` and a reason, or `not tried`."""
    found = _verdicts().get(task, [])
    for verdict in found:
        if verdict["difference"]:
            return "no: " + str(verdict["difference"]).splitlines()[0]
    return "yes" if found else "not tried"
