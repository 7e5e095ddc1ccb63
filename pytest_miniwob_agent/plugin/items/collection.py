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
from pytest_miniwob_agent.plugin.options.settings import BY_MARKER, SEEDS, Settings
from pytest_miniwob_agent.plugin.options.values import parse_count
from pytest_miniwob_agent.plugin.run.state import STATE, State
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


def case_of(item: Any) -> Case | None:
    """Return the case of a pytest item, None if the item is not one of this plugin."""
    problem = problem_of(item)
    return problem.case if problem else None


def cases_of(items: Iterable[pytest.Item]) -> set[Case]:
    """Return the cases of pytest items."""
    return {case for case in map(case_of, items) if case is not None}


def limits_of(item: Any) -> Limits:
    """Return the limits of a pytest item that has a case."""
    problem = problem_of(item)
    assert problem is not None
    return problem.limits


def test_of(item: pytest.Item) -> str:
    """Return the node id of the item's test, without the case."""
    name = getattr(item, "originalname", item.name)
    return f"{item.parent.nodeid}::{name}" if item.parent else name


def check_marked(items: Iterable[pytest.Item]) -> None:
    """Check that each marked test was parametrized.

    A marker of a module or class is for those of its tests that ask for a fixture.

    Raises:
        pytest.UsageError: a test has a marker and no fixture.
    """
    for item in items:
        marked = any(marker.name == "miniwob" for marker in item.own_markers)
        if marked and case_of(item) is None:
            raise pytest.UsageError(
                f"{item.nodeid} has a miniwob marker but no miniwob fixture: give it the parameter "
                "miniwob_episode (a method of a unittest.TestCase can't have one)"
            )


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Make one item for each case that the test's `miniwob` markers select.

    Raises:
        CollectError: a fixture without a marker, or an invalid argument or option.
    """
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
    problems = {}
    try:
        _check_agent(state)
        _check_not_rerun(metafunc, state.settings)
        for marker in reversed(markers):
            folders = page_folders(marker, state.settings, metafunc.definition.path)
            catalogue = state.catalogue(folders)
            for case, limits in selected_cases(marker, state.settings, catalogue):
                page = catalogue.pages[case.task]
                _check_page(page, state)
                problems[case.id] = Problem(case, limits, page)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"{test}: {error}") from None
    state.selection.offered[test] = [problem.case for problem in problems.values()]
    metafunc.parametrize("miniwob_case", list(problems.values()), ids=list(problems), indirect=True)


def page_folders(marker: pytest.Mark, settings: Settings, test: Path) -> list[Path]:
    """Return the folders of custom pages that a marker of a test file selects from.

    Raises:
        UsageError: the marker's folders are not paths.
    """
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


def _check_page(page: TaskPage, state: State) -> None:
    """Check that no other test has another page of this name.

    Raises:
        UsageError: one has.
    """
    known = state.pages.setdefault(page.task, page.file)
    if known != page.file:
        raise UsageError(
            f"{display_path(page.file)} is called {page.task!r}, as {display_path(known)} of "
            "another test is, and they would share their cassettes: rename one of them"
        )


def _check_agent(state: State) -> None:
    """Check that the agent can be made, before a browser is started for it.

    Raises:
        UsageError: it can't be made.
    """
    from pytest_miniwob_agent.agents.registry import BUILT_IN

    if state.settings.agent not in BUILT_IN or state.settings.agent_params:
        assert state.agent


def _check_not_rerun(metafunc: pytest.Metafunc, settings: Settings) -> None:
    """Check that an item that is recorded anew is not run until it passes.

    Raises:
        UsageError: the test is marked so, for pytest-rerunfailures.
    """
    if settings.record != "all" or not metafunc.config.pluginmanager.hasplugin("rerunfailures"):
        return
    if metafunc.definition.get_closest_marker("flaky") is not None:
        raise UsageError(
            "--miniwob-record=all and the mark flaky don't go together: an item that failed would "
            "be recorded until it passes, and later replays would show its best sample only; "
            "record with -p no:rerunfailures"
        )


def selected_cases(
    marker: pytest.Mark, settings: Settings, catalogue: Catalogue | None = None
) -> Iterator[tuple[Case, Limits]]:
    """Yield the cases of a marker; its arguments override the ini file, options override both.

    They are of the tasks of a catalogue; None for those of the package.

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
    seeds = settings.seeds or _marker_seeds(marker.kwargs.get("seeds"))
    seeds = seeds or settings.ini["seeds"] or parse_seeds(SEEDS)
    counts = {}
    for name in ("trials", "steps", "repeats"):
        value = getattr(settings, name) or marker.kwargs.get(name, settings.ini[name])
        if value is not None:
            counts[name] = parse_count(f"the miniwob marker's {name}", value)
    repeats = counts.pop("repeats", 1)
    limits = Limits(**counts)
    for case in select_cases(marker.args, seeds, repeats, catalogue):
        yield case, limits


def _marker_seeds(seeds: Any) -> list[int] | None:
    if seeds is None or isinstance(seeds, str):
        return parse_seeds(seeds) if seeds else None
    try:
        found = list(seeds)
    except TypeError:
        found = [seeds]
    if not found or not all(isinstance(seed, int) and seed >= 0 for seed in found):
        raise UsageError(f"the miniwob marker's seeds must be integers from 0 up: {seeds!r}")
    return found
