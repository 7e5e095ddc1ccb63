"""A page whose body changes, for tables of cases: a page for each takes ten times as long."""

from support.in_browser import run_script
from support.own_pages import TASK

from pytest_miniwob_agent import Press

REPLACE = """
    onclick = onkeydown = null;
    document.body.replaceChildren(document.createRange().createContextualFragment(arguments[0]));
"""


class Bodies:
    """Bodies of a page that is never solved, one after the other within a trial."""

    def __init__(self, pages, browser, screen="tree"):
        self.env, _ = pages.show(TASK, screen=screen)
        self._browser = browser

    def show(self, body):
        """Replace the body, and run its scripts; returns what is seen."""
        run_script(self._browser, REPLACE, body)
        return self.env.step(Press("HOME")).observation
