"""Collection: one pytest item for each case that a test's `miniwob` markers select."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.plugin.options.option import parse_count
from pytest_miniwob_agent.plugin.options.settings import BY_MARKER, SEEDS, Settings
from pytest_miniwob_agent.plugin.run.state import STATE
from pytest_miniwob_agent.tasks.pages import Catalogue, TaskPage
from pytest_miniwob_agent.tasks.selectors import parse_seeds, select_cases

MARKER = (
    "miniwob(*selectors, seeds=..., trials=..., steps=..., repeats=..., pages=...): run the test "
    "on every selected MiniWoB++ task (task names, categories, suites or globs) at every seed; "
    "the test asks for the fixture miniwob_episode"
)


class Problem(NamedTuple):
    """The parameter of an item: its case, its limits, and the page of its task."""

    case: Case
    limits: Limits
    page: TaskPage


def problem_of(item: Any) -> Problem | None:
    """Return the problem of a pytest item, None if the item is not one of this plugin."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("miniwob_case") if callspec else None


def cases_of(items: Iterable[pytest.Item]) -> set[Case]:
    """Return the cases of pytest items."""
    return {problem.case for problem in map(problem_of, items) if problem is not None}


def check_marked(items: Iterable[pytest.Item]) -> None:
    """Check that each marked test was parametrized.

    A marker of a module or class is for those of its tests that ask for a fixture.
    """
    for item in items:
        marked = any(marker.name == "miniwob" for marker in item.own_markers)
        if marked and problem_of(item) is None:
            raise pytest.UsageError(
                f"{item.nodeid} has a miniwob marker but no miniwob fixture: give it the parameter "
                "miniwob_episode (a method of a unittest.TestCase can't have one)"
            )


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Make one item for each case that the test's `miniwob` markers select."""
    from pytest_miniwob_agent.agents.registry import BUILT_IN

    if "miniwob_case" not in metafunc.fixturenames:
        return
    test = metafunc.definition.nodeid
    markers = list(metafunc.definition.iter_markers("miniwob"))
    if not markers:
        raise pytest.Collector.CollectError(
            f"{test} asks for a miniwob fixture but selects no tasks: mark it, for instance "
            '@pytest.mark.miniwob("n-screen-n-step")'
        )
    state = metafunc.config.stash[STATE]
    settings = state.settings
    problems = {}
    try:
        if settings.agent not in BUILT_IN or settings.agent_params:
            assert state.agent  # an error before a browser is started for it
        for marker in reversed(markers):
            catalogue = Catalogue(_page_folders(marker, settings, metafunc.definition.path))
            for case, limits in selected_cases(marker, settings, catalogue):
                page = catalogue.pages[case.task]
                known = state.pages.setdefault(page.task, page.file)
                if known != page.file:
                    raise UsageError(
                        f"{display_path(page.file)} is called {page.task!r}, as "
                        f"{display_path(known)} of another test is, and they would share their "
                        "cassettes: rename one of them"
                    )
                problems[case.id] = Problem(case, limits, page)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"{test}: {error}") from None
    state.selection.offered[test] = [problem.case for problem in problems.values()]
    metafunc.parametrize("miniwob_case", list(problems.values()), ids=list(problems), indirect=True)


def _page_folders(marker: pytest.Mark, settings: Settings, test: Path) -> list[Path]:
    """Return the folders of custom pages that a marker of a test file selects from."""
    given = marker.kwargs.get("pages")
    if settings.pages or given is None:
        return settings.pages or settings.ini["pages"] or []
    folders = list(given) if isinstance(given, list | tuple) else [given]
    for folder in folders:
        if not isinstance(folder, str | Path) or not str(folder):
            raise UsageError(
                f"the miniwob marker's pages must be a folder or a list of them: {folder!r}"
            )
    return [test.parent / folder for folder in folders]


def selected_cases(
    marker: pytest.Mark, settings: Settings, catalogue: Catalogue | None = None
) -> Iterator[tuple[Case, Limits]]:
    """Yield the cases of a marker, of the tasks of a catalogue or of the package.

    The marker's arguments override the ini file, options override both.

    Raises:
        UsageError: an argument is not valid.
    """
    for name in marker.kwargs:
        if name not in BY_MARKER:
            raise UsageError(
                f"the miniwob marker knows no {name}{nearest(name, BY_MARKER)}; it takes "
                f"selectors and {', '.join(BY_MARKER)}"
            )
    if not marker.args:
        raise UsageError(
            "the miniwob marker selects nothing: name tasks, categories, suites or globs"
        )
    for selector in marker.args:
        if not isinstance(selector, str):
            raise UsageError(f"the miniwob marker's selector {selector!r} is not a string")
    seeds = marker.kwargs.get("seeds")
    if isinstance(seeds, str):
        seeds = parse_seeds(seeds) if seeds else None
    elif seeds is not None:
        seeds = list(seeds) if isinstance(seeds, Iterable) else [seeds]
        if not seeds or not all(isinstance(seed, int) and seed >= 0 for seed in seeds):
            raise UsageError(f"the miniwob marker's seeds must be integers from 0 up: {seeds!r}")
    seeds = settings.seeds or seeds or settings.ini["seeds"] or parse_seeds(SEEDS)
    counts = {}
    for name in ("trials", "steps", "repeats"):
        value = getattr(settings, name) or marker.kwargs.get(name, settings.ini[name])
        if value is not None:
            try:
                counts[name] = parse_count(value)
            except UsageError as error:
                raise UsageError(f"the miniwob marker's {name}: {error}") from None
    repeats = counts.pop("repeats", 1)
    for case in select_cases(marker.args, seeds, repeats, catalogue):
        yield case, Limits(**counts)
