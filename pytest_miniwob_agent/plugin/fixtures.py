"""Fixtures: the item's case, limits, page, agent and model, and the episode that they make."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from pytest_miniwob_agent.agents.registry import checked
from pytest_miniwob_agent.builtin import why_blocked
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.events import Episode
from pytest_miniwob_agent.core.protocols import Agent, Model, Page
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_lines
from pytest_miniwob_agent.plugin.collection import REFUSED, why_no_problem
from pytest_miniwob_agent.plugin.item import RUN, ItemRun
from pytest_miniwob_agent.plugin.reading import get_settings
from pytest_miniwob_agent.plugin.state import STATE

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.process import Browser


@contextmanager
def _as_error() -> Iterator[None]:
    # In a fixture, an error without a traceback.
    try:
        yield
    except MiniwobError as error:
        message = sanitize_lines(mask(str(error)))
        raise pytest.fail.Exception(message, pytrace=False) from None


def _get_run(request: pytest.FixtureRequest) -> ItemRun:
    run: ItemRun | None = request.node.stash.get(RUN, None)
    reason = request.node.stash.get(REFUSED, "") if run else why_no_problem(request.node)
    if run is None or reason:
        raise pytest.fail.Exception(reason, pytrace=False)
    return run


@pytest.fixture(scope="session")
def miniwob_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The worker's Chromium, here or where a plugin launches it; the first item starts it."""
    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.cassettes.recording import bypass_vcr

    settings = get_settings(request.config)
    with _as_error():
        launcher = request.config.hook.pytest_miniwob_launcher(config=request.config)
    browser = Browser(
        None if settings.browser is None else str(settings.browser),
        headed=settings.headed,
        slowmo=request.config.stash[STATE].slowmo,
        bypass_vcr=bypass_vcr,
        launcher=launcher,
    )
    yield browser
    browser.close()


@pytest.fixture
def miniwob_case(request: pytest.FixtureRequest) -> Case:
    """The item's task, category and seed."""
    return _get_run(request).problem.case


@pytest.fixture
def miniwob_limits(request: pytest.FixtureRequest, miniwob_case: Case) -> Limits:
    """The trials, actions and model calls that the item may have."""
    return _get_run(request).problem.limits


@pytest.fixture
def miniwob_page(
    request: pytest.FixtureRequest,
    miniwob_browser: Browser,
    miniwob_case: Case,
    miniwob_agent: Agent,
    miniwob_limits: Limits,
) -> Page:
    """The item's page. Override it to run agents on something else, for instance
    `testing.FakePage`.
    """
    from pytest_miniwob_agent.browser.own_page import open_page

    problem = _get_run(request).problem
    with _as_error():
        opened: Page | None = request.config.hook.pytest_miniwob_page(
            request=request,
            problem=problem,
            browser=miniwob_browser,
            agent=miniwob_agent,
            limits=miniwob_limits,
        )
        if opened is None and problem.page.app is not None:
            raise UsageError(f"AppTask {problem.page.task!r}: {why_blocked('miniwob-apps')}")
    return opened or open_page(miniwob_browser, miniwob_case, problem.page)


@pytest.fixture
def miniwob_agent(request: pytest.FixtureRequest, miniwob_case: Case) -> Agent:
    """A new agent: the marker's, or the one that `--miniwob-agent` names.

    Override it for one with arguments.
    """
    setup = _get_run(request).problem.setup
    with _as_error():
        return setup.make_agent(
            request.config.stash[STATE],
            task=miniwob_case.base,
            seed=miniwob_case.seed,
            folder=request.path.parent,
        )


@pytest.fixture
def miniwob_llm(
    request: pytest.FixtureRequest, miniwob_agent: Agent, miniwob_case: Case, miniwob_limits: Limits
) -> Iterator[Model]:
    """The model, behind the item's cassette. Override it for a model of your own.

    The item ends with this fixture: the cassette then holds what the episode and the test asked.
    """
    with _as_error():
        checked(miniwob_agent, "the fixture miniwob_agent")
        with _get_run(request).open_model(miniwob_agent, miniwob_limits) as llm:
            yield llm


@pytest.fixture
def miniwob_episode(
    request: pytest.FixtureRequest,
    miniwob_case: Case,
    miniwob_limits: Limits,
    miniwob_agent: Agent,
    miniwob_llm: Model,
    miniwob_page: Page,
) -> Episode:
    """The agent's episode on the item's page: an `Episode` with `solved` and `explain()`.

    If the browser is lost, the episode begins again in a new one, once, and the calls that were
    recorded until then are replayed.
    """
    __tracebackhide__ = True
    return _get_run(request).play(miniwob_agent, miniwob_llm, miniwob_page, miniwob_limits)
