"""The page of an item on an app, whose fixture starts the app if it is live."""

from __future__ import annotations

import errno
import sys
from typing import Any

import pytest

from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.cassettes.folder import model_folder, stem
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.recording import bypass_vcr
from pytest_miniwob_agent.cassettes.traffic import LARGEST
from pytest_miniwob_agent.core.app import AppTask
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.protocols import Agent, Page
from pytest_miniwob_agent.plugin.collection import Problem
from pytest_miniwob_agent.plugin.state import STATE, options_of
from pytest_miniwob_agent.plugins.apps import Options
from pytest_miniwob_agent.plugins.apps.leaks import Searched
from pytest_miniwob_agent.plugins.apps.live_app import LiveApp, parse_address
from pytest_miniwob_agent.plugins.apps.page import AppPage
from pytest_miniwob_agent.plugins.apps.recorded_app import RecordedApp

# What was found in the bodies of answers, in the stash of pytest's configuration.
_SEARCHED = pytest.StashKey[Searched]()


def open_app(
    request: pytest.FixtureRequest,
    task: AppTask,
    problem: Problem,
    browser: Browser,
    agent: Agent,
    limits: Limits,
) -> Page:
    """Open the page of a task on an app, which is started if the item is recorded."""
    config, case = request.config, problem.case
    settings, options = config.stash[STATE].settings, options_of(config, Options)

    def start() -> tuple[Any, LiveApp]:
        values = {name: _get_app(request, task, name) for name in (task.app, *task.origins)}
        addresses = [parse_address(task, *named) for named in values.items()]
        live = LiveApp(task, addresses, bypass_vcr, min(options.max_answer * 1_000_000, LARGEST))
        request.addfinalizer(live.close)
        return values[task.app], live

    mode = Record(settings.record)
    name = stem(model_folder(agent.name, problem.setup.model or ""), case)
    tape = RecordedApp(
        task,
        case.seed,
        limits,
        settings.cassettes,
        name,
        start if mode.writes or options.app == "live" else None,
        anew=mode is Record.ALL,
        checks=options.app == "live",
        records=mode.writes,
        searched=config.stash.setdefault(_SEARCHED, {}),
    )
    kind = problem.page.perturbation
    page = AppPage(browser, case, problem.page, tape)
    return page.perturb(kind, kind and task.perturb.get(kind.name))


def _get_app(request: pytest.FixtureRequest, task: AppTask, name: str) -> Any:
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

    pytest-django does so only if a test names that fixture from the start, and then in replays too.
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
