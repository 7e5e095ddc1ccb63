"""Fixtures: the item's case, limits, page, agent and model, and the episode that they make."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.agents.registry import checked
from pytest_miniwob_agent.cassettes.folder import model_folder, stem
from pytest_miniwob_agent.core.app import AppTask
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.events import Episode
from pytest_miniwob_agent.core.protocols import Agent, Model, Page
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_lines
from pytest_miniwob_agent.plugin.collection import REFUSED, why_no_problem
from pytest_miniwob_agent.plugin.item import RUN, ItemRun
from pytest_miniwob_agent.plugin.reading import settings_of
from pytest_miniwob_agent.plugin.state import STATE

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.live_app import LiveApp
    from pytest_miniwob_agent.browser.process import Browser


@contextmanager
def _as_error() -> Iterator[None]:
    """Show a `MiniwobError` without a traceback; in a fixture it makes the item an error."""
    try:
        yield
    except MiniwobError as error:
        message = sanitize_lines(mask(str(error)))
        raise pytest.fail.Exception(message, pytrace=False) from None


def _run_of(request: pytest.FixtureRequest) -> ItemRun:
    """Return the run of the item that asks for a fixture; a test without a case is refused."""
    run: ItemRun | None = request.node.stash.get(RUN, None)
    reason = request.node.stash.get(REFUSED, "") if run else why_no_problem(request.node)
    if run is None or reason:
        raise pytest.fail.Exception(reason, pytrace=False)
    return run


@pytest.fixture(scope="session")
def miniwob_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The worker's Chromium, here or on a Grid; started by the first item that needs it."""
    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.cassettes.recording import bypass_vcr

    settings = settings_of(request.config)
    launcher = None
    if settings.grid is not None:
        from pytest_miniwob_agent.browser.grid import GridLauncher

        worker: str = getattr(request.config, "workerinput", {}).get("workerid", "")
        with _as_error():
            launcher = GridLauncher(settings.grid.for_worker(worker), headed=settings.headed)
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
    return _run_of(request).problem.case


@pytest.fixture
def miniwob_limits(request: pytest.FixtureRequest, miniwob_case: Case) -> Limits:
    """The trials, actions and model calls that the item may have."""
    return _run_of(request).problem.limits


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

    page = _run_of(request).problem.page
    if page.app is not None:
        with _as_error():
            return _open_app(request, page.app, miniwob_browser, miniwob_agent, miniwob_limits)
    return open_page(miniwob_browser, miniwob_case, page)


def _open_app(
    request: pytest.FixtureRequest, task: AppTask, browser: Browser, agent: Agent, limits: Limits
) -> Page:
    """Open the page of a task on an app, which is started where the item is recorded."""
    from pytest_miniwob_agent.browser.live_app import LiveApp, address_of
    from pytest_miniwob_agent.browser.own_page import AppPage
    from pytest_miniwob_agent.cassettes.files import Record
    from pytest_miniwob_agent.cassettes.recorded_app import RecordedApp
    from pytest_miniwob_agent.cassettes.recording import bypass_vcr
    from pytest_miniwob_agent.cassettes.traffic import LARGEST

    run, settings = _run_of(request), settings_of(request.config)
    case = run.problem.case

    def start() -> tuple[Any, LiveApp]:
        values = {name: _app_of(request, task, name) for name in (task.app, *task.origins)}
        addresses = [address_of(task, *named) for named in values.items()]
        live = LiveApp(task, addresses, bypass_vcr, min(settings.max_answer * 1_000_000, LARGEST))
        request.addfinalizer(live.close)
        return values[task.app], live

    mode = Record(settings.record)
    name = stem(model_folder(agent.name, run.problem.setup.model or ""), case)
    run.app = RecordedApp(
        task,
        case.seed,
        limits,
        settings.cassettes,
        name,
        start if mode.writes or settings.app == "live" else None,
        anew=mode is Record.ALL,
        checks=settings.app == "live",
        records=mode.writes,
        searched=request.config.stash[STATE].searched,
    )
    kind = run.problem.page.perturbation
    page = AppPage(browser, case, run.problem.page, run.app)
    return page.perturb(kind, kind and task.perturb.get(kind.name))


def _app_of(request: pytest.FixtureRequest, task: AppTask, name: str) -> Any:
    """Return the value of an app's fixture, or its address."""
    if "://" in name:
        return name
    item = request.node
    late = "live_server" not in item.fixturenames
    if name not in item.fixturenames:  # other fixtures ask whether a test has it
        item.fixturenames = [*item.fixturenames, name]  # the list is one of all items of a test
    try:
        if late and _has_django(request.config):
            return _with_django(request, name)
        return request.getfixturevalue(name)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            error.add_note(
                f"The fixture {name!r} starts the app of AppTask {task.name!r} at a port that is "
                "taken. Let the system choose a free one: bind port 0, and return the address."
            )
        raise
    except pytest.FixtureLookupError as error:
        if error.argname != name:
            raise
        raise UsageError(
            f"AppTask {task.name!r} names the app {name!r}, but there is no such fixture: write "
            "one in conftest.py that starts the app and returns its address, or name an address "
            "such as http://127.0.0.1:8000"
        ) from None


def _has_django(config: pytest.Config) -> bool:
    django = sys.modules.get("django.conf")
    configured = django is not None and django.settings.configured
    return configured and config.pluginmanager.hasplugin("django")


def _with_django(request: pytest.FixtureRequest, name: str) -> Any:
    """Return the value of a fixture, and do what pytest-django does for `live_server`.

    It does so only where a test names that fixture from the start, and then for replays as well.
    """
    request.getfixturevalue("transactional_db")
    value = request.getfixturevalue(name)
    if "live_server" in request.fixturenames:
        from django.test import modify_settings

        host = request.getfixturevalue("live_server").thread.host
        hosts = modify_settings(ALLOWED_HOSTS={"append": host})
        hosts.enable()
        request.addfinalizer(hosts.disable)
    return value


@pytest.fixture
def miniwob_agent(request: pytest.FixtureRequest, miniwob_case: Case) -> Agent:
    """A new agent: the marker's, or the one that `--miniwob-agent` names.

    Override it for one with arguments.
    """
    setup = _run_of(request).problem.setup
    with _as_error():
        return setup.make_agent(request.config.stash[STATE], task=miniwob_case.base)


@pytest.fixture
def miniwob_llm(
    request: pytest.FixtureRequest, miniwob_agent: Agent, miniwob_case: Case, miniwob_limits: Limits
) -> Iterator[Model]:
    """The model, behind the item's cassette. Override it for a model of your own.

    The item ends with this fixture: the cassette then holds what the episode and the test asked.
    """
    with _as_error():
        checked(miniwob_agent, "the fixture miniwob_agent")
        with _run_of(request).open_model(miniwob_agent, miniwob_limits) as llm:
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
    return _run_of(request).play(miniwob_agent, miniwob_llm, miniwob_page, miniwob_limits)
