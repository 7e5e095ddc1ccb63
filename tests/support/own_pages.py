"""A folder of your own pages in a real Chromium, for the tests of several modules."""

from textwrap import dedent

import pytest

from pytest_miniwob_agent.browser.own_page import open_page
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import Catalogue

TASK = '<script>window.task = { goal: "g", reward: () => 0 };</script>'
"""A task that is never solved."""

SCREENS = ("compact", "full", "tree")


def on_screens(values, screens=SCREENS, few=None):
    """Each value with each screen, in turn with one that is no sweep; if there are a few of the
    values, the others with one screen each, in sweeps."""
    kept = values if few is None else few
    return [
        pytest.param(
            value,
            screen,
            marks=[pytest.mark.sweep] * (turn % len(screens) != place or value not in kept),
        )
        for turn, value in enumerate(values)
        for place, screen in enumerate(screens)
        if value in kept or turn % len(screens) == place
    ]


class Pages:
    """A folder of pages, and the browser that shows them."""

    def __init__(self, folder, browser):
        self.folder = folder
        self.browser = browser

    def write(self, **files):
        """Write files, `__` for `/` and `_` for `.` in their names."""
        for name, text in files.items():
            path = self.folder / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")

    def open(self, task, seed=1):
        page = Catalogue([self.folder]).pages[task]
        return open_page(self.browser, Case(task, page.category, seed), page)

    def make(self, body, seed=1, **files):
        """Write a page with this body, and other files; returns its environment."""
        self.write(page_html=f"<!DOCTYPE html><body>{dedent(body)}</body>", **files)
        return self.open("page", seed)

    def show(self, body, seed=1, screen="compact"):
        """Open and reset a page with this body; returns the environment and what is seen."""
        env = self.make(body, seed)
        return env, env.reset(screen=screen)


def click(env, observation, text):
    [found] = [one.id for one in observation.elements if text in (one.text, one.value)]
    return env.step(Click(found))


def texts(observation):
    return [element.text for element in observation.elements]
