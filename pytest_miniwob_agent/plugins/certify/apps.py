"""Whether items on apps show the same from start to start, and along their recorded actions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from difflib import unified_diff
from itertools import zip_longest
from typing import NamedTuple

import pytest

from pytest_miniwob_agent.cassettes.folder import TRAFFIC
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.events import Acted, Event, TrialStarted
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import Observer, Page, PageTape
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.plugin.collection import get_problem
from pytest_miniwob_agent.plugin.inner import Looking, Replay, run
from pytest_miniwob_agent.plugin.state import STATE
from pytest_miniwob_agent.screen import render

LOOKS, PAUSE = 3, 1.1
"""How often `certify_apps` looks at the start of an app, and wall-clock seconds before the last
look, in which a clock of whole seconds goes on."""


class _Walking(Replay, Observer):
    """Plugin of a run that takes the recorded actions of items on the live app.

    `screens` has what they show by the item's node id: the start, and what comes of each action.
    """

    app = "live"

    def __init__(self) -> None:
        self.screens: dict[str, list[str]] = {}
        self._shown: list[str] = []

    def pytest_miniwob_observer(self) -> Observer:
        return self

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        # An item on an app without a recording would ask a model.
        state = config.stash[STATE]
        folder = state.settings.cassettes

        def is_recorded(item: pytest.Item) -> bool:
            problem = get_problem(item)
            stems = state.find_cassettes([problem.case]) if problem and problem.page.app else ()
            return any((folder / f"{stem}{TRAFFIC}").exists() for stem in stems)

        items[:] = filter(is_recorded, items)

    def before_episode(self, case: Case) -> None:
        self._shown = []

    def on_event(self, event: Event) -> None:
        if isinstance(event, TrialStarted):
            self._shown.append(render(event.observation.elements))
        elif isinstance(event, Acted):
            self._shown.append(render(event.transition.observation.elements))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome: Outcome | None = getattr(report, "miniwob", None)
        if outcome is not None and not outcome.not_recorded:
            self.screens[report.nodeid] = self._shown


class Certified(NamedTuple):
    """What `certify_apps` has seen of an item: `screens` with its actions, 0 without a recording.

    `difference` says what differs or is wrong, and is empty if nothing is.
    """

    difference: str
    screens: int


def certify_apps(args: Sequence[str]) -> dict[str, Certified]:
    """Begin each item of `pytest ARGS` that is on an app several times, with the app.

    Those that are recorded take their recorded actions on it, twice. Nothing is recorded, and no
    model is called. Return the verdicts by the items' node ids. Raises as `Looking.run`.
    """
    plugin = Looking(_difference)
    plugin.run(args)
    walks = (_Walking(), _Walking())
    for walk in walks:
        run(walk, args)
    found = {}
    for item, difference in plugin.found.items():
        first, second = (walk.screens.get(item, []) for walk in walks)
        pairs = enumerate(zip_longest(first, second, fillvalue="the end"))
        other = next(((step, *pair) for step, pair in pairs if pair[0] != pair[1]), None)
        if other and not difference:
            step, once, again = other
            names = f"after {step} actions", "the same again"
            lines = unified_diff(once.splitlines(), again.splitlines(), *names, n=0, lineterm="")
            difference = "\n".join(lines)
        found[item] = Certified(difference, len(first))
    return found


def _difference(case: Case, page: Page) -> str:
    tape: PageTape | None = getattr(page, "tape", None)
    assert tape is not None
    screens = []
    for number in range(LOOKS):
        time.sleep(PAUSE if number == LOOKS - 1 else 0)
        tape.rewind()
        elements = mask(page.reset(screen="tree")).elements
        screens.append(render(elements).splitlines())
    other = next((one for one in screens if one != screens[0]), screens[0])
    return "\n".join(unified_diff(screens[0], other, "a trial", "another", n=0, lineterm=""))
