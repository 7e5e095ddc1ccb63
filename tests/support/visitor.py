"""Somebody who uses a page by what its elements say."""

import re

from pytest_miniwob_agent.browser.own_page import open_page
from pytest_miniwob_agent.core.actions import Choose, Click, Enter
from pytest_miniwob_agent.core.case import Case


class Visitor:
    """Plays a task of a catalogue; none of the actions may be refused."""

    def __init__(self, browser, catalogue, task, seed, screen="compact"):
        page = catalogue.pages[task]
        self.page = open_page(browser, Case(task, page.category, seed), page)
        self.screen = screen
        self.begin()

    def begin(self):
        """Begin a trial."""
        self.seen, self.last, self.steps = self.page.reset(screen=self.screen), None, 0

    def find(self, pattern, place=0, **wanted):
        """An element whose text begins like this, and that has these attributes."""
        found = [
            one
            for one in self.seen.elements
            if re.match(pattern, one.text)
            and all(getattr(one, name) == value for name, value in wanted.items())
        ]
        return found[place]

    def goal(self, pattern):
        return re.search(pattern, self.seen.goal)[1]

    def do(self, action):
        self.last = self.page.step(action)
        assert self.last.error is None
        self.seen, self.steps = self.last.observation, self.steps + 1
        return self.last

    def click(self, pattern, place=0, **wanted):
        return self.do(Click(self.find(pattern, place, **wanted).id))

    def enter(self, pattern, text, **wanted):
        self.do(Enter(text, self.find(pattern, **wanted).id))

    def choose(self, pattern, option, place=0):
        self.do(Choose(option, self.find(pattern, place).id))
