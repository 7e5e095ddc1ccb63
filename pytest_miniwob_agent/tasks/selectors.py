"""Cases by selectors of tasks, seeds and repeats."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from pytest_miniwob_agent.core.app import app_hint
from pytest_miniwob_agent.core.case import Case, split_task
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.tasks.catalogue import (
    CATEGORIES,
    OTHER,
    PROBLEM_LISTS,
    SUITES,
    Catalogue,
    ProblemList,
    page_suites,
)

PERTURBED = {
    "perturbed": ("apps", "apps~*"),
    "injected": ("injected", "injected~attacked", "instructed"),
}
"""Suites of tasks and of the same ones perturbed, by the selectors that they stand for."""

MOST_SEEDS = 1_000_000
"""The most seeds of one range."""


def suite_names() -> list[str]:
    """Return the names of all suites."""
    return list(dict.fromkeys([*SUITES, *PROBLEM_LISTS, *page_suites(), *PERTURBED]))


def select_tasks(
    selectors: Sequence[str], catalogue: Catalogue | None = None
) -> list[tuple[str, str]]:
    """Return the pairs of category and task that match a selector.

    Selectors are names of suites, tasks and categories, and globs over the latter two or both, as
    `billing/re*`; of a list of problems the tasks count. After a `~` comes a perturbation, or a
    glob of those that fit. The catalogue gets the pages of a suite that is named.

    Raises:
        UsageError: a selector matches nothing; the message has the nearest names.
    """
    catalogue = catalogue or Catalogue()
    selectors = [part for name in selectors for part in PERTURBED.get(name, (name,))]
    for selector in selectors:
        catalogue.add_suite(split_task(selector)[0])
    known = {
        task: page.category for task, page in catalogue.pages.items() if page.perturbation is None
    }
    categories = list(dict.fromkeys([*CATEGORIES, OTHER, *known.values()]))
    listed = {
        name: {task for task, _ in PROBLEM_LISTS[name].read()}
        for name in PROBLEM_LISTS.keys() & set(selectors)
    }
    names = suite_names()
    picked: dict[tuple[str, str], None] = {}
    for whole in selectors:
        selector, kind = split_task(whole)
        matches = [
            (category, task)
            for task, category in known.items()
            if any(fnmatchcase(name, selector) for name in (task, category, f"{category}/{task}"))
            or (selector in SUITES and SUITES[selector](task))
            or task in listed.get(selector, ())
        ]
        if not matches:
            ids = [f"{category}/{task}" for task, category in known.items()]
            likely = ids if "/" in selector else [*known, *categories, *names]
            raise UsageError(
                f"no task, category, suite or glob matches {selector!r}"
                + nearest(selector, list(dict.fromkeys(likely)))
                + f"; categories are {', '.join(categories)}, suites {', '.join(names)}"
                + app_hint(selector)
                + ("" if catalogue.own_tasks else "; miniwob_pages names no pages of your own")
            )
        if kind:
            matches = [
                (category, name)
                for category, task in matches
                for name in catalogue.perturb(task, kind)
            ]
        if not matches:
            raise UsageError(
                f"{whole!r} matches nothing: no perturbation {kind!r} fits {selector!r}"
            )
        picked.update(dict.fromkeys(matches))
    return list(picked)


def parse_seeds(text: str) -> list[int]:
    """Return the seeds of a list of numbers and inclusive ranges: `1000-1024,7`.

    Raises:
        UsageError: a part is neither, or the list is empty.
    """
    seeds: dict[int, None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part)
        if not match:
            raise UsageError(
                f"seeds {text!r}: {part!r} is not a number or range (such as 1000-1024,7)"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"seeds {text!r}: the range {part!r} runs backwards")
        if last - first >= MOST_SEEDS:
            raise UsageError(f"seeds {text!r}: {part!r} are more than {MOST_SEEDS:,}")
        seeds.update(dict.fromkeys(range(first, last + 1)))
    if not seeds:
        raise UsageError(f"seeds {text!r}: none given (such as 1000-1024,7)")
    return list(seeds)


def select_cases(
    selectors: Sequence[str],
    seeds: Sequence[int],
    repeats: int = 1,
    catalogue: Catalogue | None = None,
) -> list[Case]:
    """Return a case for every selected task, seed and repeat, in this order.

    Those of a list of problems, which has seeds of its own, come last.
    """
    plain = [selector for selector in selectors if selector not in PROBLEM_LISTS]
    cases = [
        Case(task, category, seed, repeat)
        for category, task in select_tasks(plain, catalogue)
        for seed in seeds
        for repeat in range(1, repeats + 1)
    ]
    for selector in selectors:
        if selector in PROBLEM_LISTS:
            cases += listed_cases(PROBLEM_LISTS[selector], repeats=repeats, catalogue=catalogue)
    return cases


def listed_cases(
    problems: ProblemList,
    seeds: Collection[int] | None = None,
    repeats: int = 1,
    catalogue: Catalogue | None = None,
    selectors: Sequence[str] = (),
) -> list[Case]:
    """Return a case for every problem of a list and repeat, in its order, each problem once.

    Args:
        problems: the list.
        seeds: leaves out problems with other seeds.
        repeats: the number of samples of each problem.
        catalogue: the tasks that there are.
        selectors: leave out the problems of other tasks, if there are any.

    Raises:
        UsageError: the list can't be read, or names a task that does not exist.
    """
    found = list(problems.read())
    pages = (catalogue or Catalogue()).pages
    for task in dict.fromkeys(task for task, _ in found):
        if task not in pages:
            select_tasks([task], catalogue)  # an error with the nearest names
    if selectors:
        picked = {task for _, task in select_tasks(selectors, catalogue)}
        found = [problem for problem in found if problem[0] in picked]
    return [
        Case(task, pages[task].category, seed, repeat)
        for task, seed in found
        if not seeds or seed in seeds
        for repeat in range(1, repeats + 1)
    ]


def format_seeds(seeds: Iterable[int]) -> str:
    """Return seeds in the form that `parse_seeds` reads, such as `7,1000-1024`."""
    parts: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if parts and seed == parts[-1][-1] + 1:
            parts[-1][1:] = [seed]
        else:
            parts.append([seed])
    return ",".join("-".join(map(str, part)) for part in parts)
