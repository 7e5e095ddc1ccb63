"""Items on running apps, whose traffic is recorded and replayed (`AppTask`).

- `start`: the page of an item, and the fixture that starts its app.
- `page`: the pages of an app in the browser.
- `recorded_app`: the app as the page knows it, from its first trial to its last. A trial is a
  `played_trial`, from the tape, or a `live_trial`, which is recorded, but for secrets (`leaks`).
- `live_app`: asks the running app, and `live_sockets` gets what it sends later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miniwob_agent.plugin.options import option, parse_count

if TYPE_CHECKING:
    import pytest

    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.core.case import Limits
    from pytest_miniwob_agent.core.protocols import Agent, Page
    from pytest_miniwob_agent.plugin.collection import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of this plugin."""

    app: str = option(
        "what answers the pages of an AppTask: recorded = its recording; live = the app as it is "
        "now, with the recorded answers of the model: an item passes if the app still judges as it "
        "did, fails if it does not, and drifts if it shows something else (with "
        "--miniwob-record=new_episodes it is then recorded again)",
        default="recorded",
        choices=("recorded", "live"),
        group="Apps",
    )
    max_answer: int = option(
        "record answers of apps that have at most N million bytes each",
        parse=parse_count,
        default="50",
        metavar="N",
    )


def pytest_miniwob_options() -> type:
    return Options


def pytest_miniwob_page(
    request: pytest.FixtureRequest,
    problem: Problem,
    browser: Browser,
    agent: Agent,
    limits: Limits,
) -> Page | None:
    if problem.page.app is None:
        return None
    from pytest_miniwob_agent.plugins.apps.start import open_app

    return open_app(request, problem.page.app, problem, browser, agent, limits)
