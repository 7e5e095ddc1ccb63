"""Which tasks there are, in which categories, and how selectors and seeds pick cases from them."""

from __future__ import annotations

import csv
import importlib.util
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core import Case, UsageError, nearest

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


def page(task: str) -> Path:
    """The HTML file of a task. The flight tasks have a folder each, by the part after the dot."""
    if task.startswith("flight."):
        return _html() / "flight" / task.removeprefix("flight.") / "wrapper.html"
    return _html() / "miniwob" / f"{task}.html"


def _html() -> Path:
    """The folder of the installed `miniwob` package that holds all pages."""
    spec = importlib.util.find_spec("miniwob")
    if spec is None or spec.origin is None:
        raise UsageError("the miniwob package is not installed: pip install miniwob")
    return Path(spec.origin).parent / "html"


@cache
def tasks() -> dict[str, str]:
    """Every installed task and its category, by name."""
    category = {task: name for name, members in CATEGORIES.items() for task in members}
    names = [path.stem for path in _html().glob("miniwob/*.html")]
    names += [f"flight.{path.parent.name}" for path in _html().glob("flight/*/wrapper.html")]
    return {name: category.get(name, OTHER) for name in sorted(names)}


@cache
def facts() -> dict[str, Mapping[str, str]]:
    """What `data/tasks.csv` says of each task, by name: which actions it takes, which papers used
    it and in which of their groups.
    """
    text = (files("pytest_miniwob_agent") / "data" / "tasks.csv").read_text(encoding="utf-8")
    return {row["task"]: row for row in csv.DictReader(text.splitlines())}


SUITES = ("paper", "rci", "webwise", "all")
"""Selectors of tasks that belong together: the 43 of the reflective agent's paper, those of the
RCI paper, those of the WebWISE paper, and every installed task."""


def suites(task: str) -> tuple[str, ...]:
    """Those of `SUITES` that a task is in."""
    used = [name for name in ("rci", "webwise") if facts().get(task, {}).get(name)]
    ours = ["paper"] if tasks()[task] != OTHER else []
    return (*ours, *used, "all")


def select(selectors: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of category and task for `SUITES`, task names, category names and globs over the latter
    two, each pair once.

    Raises:
        UsageError: a selector matches nothing; the message has the nearest names.
    """
    known = tasks()
    picked: dict[tuple[str, str], None] = {}
    for selector in selectors:
        matches = [
            (category, task)
            for task, category in known.items()
            if fnmatchcase(task, selector)
            or fnmatchcase(category, selector)
            or selector in suites(task)
        ]
        if not matches:
            names = [*known, *CATEGORIES, OTHER, *SUITES]
            raise UsageError(
                f"no MiniWoB++ task, category, suite or glob matches {selector!r}"
                + nearest(selector, names)
                + f"; categories are {', '.join([*CATEGORIES, OTHER])}, suites {', '.join(SUITES)}"
            )
        picked.update(dict.fromkeys(matches))
    return list(picked)


def parse_seeds(text: str) -> list[int]:
    """Seeds from a list of numbers and inclusive ranges: `1000-1024,7`.

    Raises:
        UsageError: the part that is neither.
    """
    seeds: dict[int, None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise UsageError(
                f"seeds {text!r}: {part!r} is no number or range (such as 1000-1024,7)"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"seeds {text!r}: the range {part!r} runs backwards")
        seeds.update(dict.fromkeys(range(first, last + 1)))
    if not seeds:
        raise UsageError(f"seeds {text!r}: none given (such as 1000-1024,7)")
    return list(seeds)


def cases(selectors: Iterable[str], seeds: Sequence[int], repeats: int = 1) -> list[Case]:
    """Every selected task at every seed, as often as samples of it are wanted."""
    return [
        Case(task, category, seed, repeat)
        for category, task in select(selectors)
        for seed in seeds
        for repeat in range(1, repeats + 1)
    ]


def case_of(item: Any) -> Case | None:
    """The case of a pytest item, None where it is none of ours."""
    callspec = getattr(item, "callspec", None)
    found = callspec.params.get("miniwob_case") if callspec else None
    return found[0] if found else None
