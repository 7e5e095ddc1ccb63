"""Collection: one pytest item for each case that a test's `miniwob` markers select."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.unittest import TestCaseFunction

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.plugin.options.settings import BY_MARKER, SEEDS, Settings
from pytest_miniwob_agent.plugin.options.values import parse_count
from pytest_miniwob_agent.plugin.run.state import STATE, State, settings_of
from pytest_miniwob_agent.tasks.pages import Catalogue, TaskPage
from pytest_miniwob_agent.tasks.selection import parse_seeds, select_cases

MARKER = (
    "miniwob(*selectors, seeds=..., trials=..., steps=..., repeats=..., pages=...): run the test "
    "on every selected MiniWoB++ task (task names, categories, suites or globs) at every seed; "
    "the test asks for the fixture miniwob_episode"
)

MANY = 1000
"""Number of items of a test that are made without garbage collection: all of them are kept, so that
looking for garbage among them took a third of the time."""


FIXTURES = "pytest_miniwob_agent.plugin.fixtures"
"""The module of the fixtures that users may override."""


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


def test_of(item: pytest.Item) -> str:
    """Return the node id of the item's test, without the case."""
    name = getattr(item, "originalname", item.name)
    return f"{item.parent.nodeid}::{name}" if item.parent else name


def case_ids(items: Iterable[pytest.Item]) -> set[str]:
    """Return the ids of the cases of pytest items."""
    return {case.id for case in map(case_of, items) if case is not None}


def cassettes_of(items: Iterable[pytest.Item], settings: Settings) -> tuple[list[str], list[str]]:
    """Return the cassettes that pytest items use, in the terms of `cassettes.folder.Used`.

    Returns:
        The stems, and the cases of items whose agent or model is given by a user's fixture.

    Raises:
        UsageError: the agent can't be made.
    """
    from pytest_miniwob_agent.agents.registry import load_agent
    from pytest_miniwob_agent.cassettes.format.names import stem

    agent = load_agent(settings.agent, settings.prompts, settings.agent_params).name
    stems, cases = [], []
    for item in items:
        case = case_of(item)
        if case is None or not isinstance(item, pytest.Function):
            continue
        definitions = item._fixtureinfo.name2fixturedefs
        if any(
            definitions[name][-1].func.__module__ != FIXTURES
            for name in ("miniwob_agent", "miniwob_llm")
            if name in definitions
        ):
            cases.append(f"{case.task}/{case.sample}")
        elif settings.model is not None:
            stems.append(stem(agent, settings.model, case))
    return stems, cases


def remember_collected(state: State, items: Iterable[pytest.Item]) -> None:
    """Remember the cassettes that items use; none if the agent can't be made, as each item says."""
    try:
        for known, part in zip(state.collected, cassettes_of(items, state.settings), strict=True):
            known.update(part)
    except UsageError:
        return


def limits_of(item: Any) -> Limits:
    """Return the limits of a pytest item that has a case."""
    problem: Problem = item.callspec.params["miniwob_case"]
    return problem.limits


def check_parametrized(items: Iterable[pytest.Item]) -> None:
    """Check that no test of `unittest` is marked: pytest does not parametrize it.

    Raises:
        pytest.UsageError: one is.
    """
    for item in items:
        if isinstance(item, TestCaseFunction) and item.get_closest_marker("miniwob"):
            raise pytest.UsageError(
                f"{item.nodeid} has a miniwob marker, but pytest gives the methods of a "
                "unittest.TestCase no parameters: make it a function, or a method of a class "
                "without that base, with the parameter miniwob_episode"
            )


@contextmanager
def garbage_collection_resumed() -> Generator[None]:
    """Turn garbage collection on again at the end, if `parametrize` turned it off."""
    enabled = gc.isenabled()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Make one item for each case that the test's `miniwob` markers select.

    Raises:
        CollectError: a marker without a miniwob fixture, a fixture without a marker, or an invalid
            argument or option.
    """
    markers = list(metafunc.definition.iter_markers("miniwob"))
    test = metafunc.definition.nodeid
    if "miniwob_case" not in metafunc.fixturenames:
        # One of the module or the class is for those of its tests that ask for a fixture.
        if any(marker.name == "miniwob" for marker in metafunc.definition.own_markers):
            raise pytest.Collector.CollectError(
                f"{test} has a miniwob marker but asks for no miniwob fixture: give it the "
                "parameter miniwob_episode"
            )
        return
    if not markers:
        raise pytest.Collector.CollectError(
            f"{test} asks for a miniwob fixture but selects no tasks: mark it, for instance "
            '@pytest.mark.miniwob("n-screen-n-step")'
        )
    settings = settings_of(metafunc.config)
    try:
        _check_agent(settings)
        _check_not_rerun(metafunc, settings)
        state = metafunc.config.stash[STATE]
        problems = {}
        for marker in reversed(markers):
            catalogue = state.catalogue(page_folders(marker, settings, metafunc.definition.path))
            for case, limits in selected_cases(marker, settings, catalogue):
                page = catalogue.pages[case.task]
                _check_page(page, state)
                problems[case.id] = Problem(case, limits, page)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"{test}: {error}") from None
    state.offered[test] = list(problems)
    if len(problems) >= MANY:
        gc.disable()
    metafunc.parametrize("miniwob_case", list(problems.values()), ids=list(problems), indirect=True)


def page_folders(marker: pytest.Mark, settings: Settings, test: Path) -> list[Path]:
    """Return the folders of one's own pages that a marker of a test file selects from.

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
    """Check that a task has one page in the whole run.

    Raises:
        UsageError: another test has a page of this name.
    """
    if page.root is None:
        return
    known = state.pages.setdefault(page.task, page.file)
    if known != page.file:
        raise UsageError(
            f"{display_path(page.file)} is called {page.task!r}, as {display_path(known)} of "
            "another test is, and they would share their cassettes: rename one of them"
        )


def _check_agent(settings: Settings) -> None:
    """Check that the agent can be made, before a browser is started for it."""
    from pytest_miniwob_agent.agents.registry import BUILT_IN, load_agent

    if settings.agent not in BUILT_IN or settings.agent_params:
        load_agent(settings.agent, settings.prompts, settings.agent_params)


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
