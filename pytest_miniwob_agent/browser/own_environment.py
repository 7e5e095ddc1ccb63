"""A page of your own in Chromium, as a `Page`; it may lead to other pages of its folder."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, WebDriverException

from pytest_miniwob_agent.browser.environment import MiniwobEnvironment
from pytest_miniwob_agent.browser.pages import own_page_url
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserLost, PageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.tasks.pages import TaskPage

_LEFT = re.compile("navigated|context|detached", re.IGNORECASE)
"""Errors of the driver where a page is left while it is read."""

POLL = 0.002
"""Real seconds between two questions whether the next page is there."""


def open_environment(browser: Browser, case: Case, page: TaskPage) -> MiniwobEnvironment:
    """The page of a case: the package's, or one of your own."""
    if page.root is None:
        return MiniwobEnvironment(browser, case)
    return OwnPageEnvironment(browser, case, page)


class OwnPageEnvironment(MiniwobEnvironment):
    """A page of your own, and the pages of its folder that it leads to.

    Trial, goal, clock, random numbers, ids and what the pages store go on from one to the next
    (page/visit.js).
    """

    def __init__(self, browser: Browser, case: Case, page: TaskPage) -> None:
        assert page.root is not None
        super().__init__(browser, case)
        self._root = page.root
        self._url = own_page_url(page)
        self._name = str(display_path(page.file))
        self._said: list[str] = []
        """Remarks of this trial."""
        self._taken = 0
        """The number of them that `remarks` has returned."""

    def remarks(self) -> Sequence[str]:
        """Return what the author of the pages should know since the last call, once per trial.

        Missing files, addresses out of the folder, refused windows and downloads, and errors of
        scripts.
        """
        new = self._said[self._taken :]
        self._taken = len(self._said)
        return new

    def _load(self, driver: webdriver.Remote) -> None:
        assert self._browser.server is not None  # as the browser runs
        self._said, self._taken = [], 0
        self._server = self._browser.server
        self._server.root = self._root
        self._server.missed.clear()
        self._browser.before_next_page = self._leave
        driver.get(self._url)
        # Nobody goes back to other tasks.
        self._browser.devtools.call("Page.resetNavigationHistory")

    def _read(self, function: str, *values: Any) -> dict[str, Any]:
        """Have the page read, once no other one is about to come.

        Raises:
            PageError: it can't be a task.
        """
        while True:
            try:
                read = super()._read(function, *values)
            except WebDriverException as error:
                if not _LEFT.search(str(error)):
                    raise
                read = {"leaving": True}
            self._note(read)
            if "fault" in read:
                raise PageError(self._describe(read["path"], read["fault"]))
            if not read.get("leaving"):
                return read
            if self._await_next_page():
                function, values = "read", (False,)

    def _leave(self) -> None:
        """Leave neither windows nor what is handed over to the next trial or item."""
        driver = self._browser.driver
        first, *others = driver.window_handles
        for window in others:
            driver.switch_to.window(window)
            driver.close()
            driver.switch_to.window(first)
        self._browser.call("(() => window.miniwobAgent?.forget?.())")

    def _await_next_page(self) -> bool:
        """Wait for the page that is about to come; True if the trial has begun on it."""
        end = time.monotonic() + self._browser.timeout
        while time.monotonic() < end:
            with contextlib.suppress(JavascriptException):  # between two pages there is none
                begun = self._browser.call("miniwobAgent.begun")
                if begun is not None:
                    return bool(begun)
            time.sleep(POLL)
        raise BrowserLost(f"the page after {self._name} did not come")

    def _note(self, read: dict[str, Any]) -> None:
        """Keep remarks of the page and of its server."""
        missed = sorted(self._server.missed)
        self._server.missed.clear()
        found = [*read.pop("remarks", ()), *(f"there is no file {path}" for path in missed)]
        self._said += [text for text in dict.fromkeys(found) if text not in self._said]

    def _describe(self, path: str, fault: str) -> str:
        """An error of a page, with its file and what the page remarked."""
        file = self._server.own_file(path)
        where = self._name if file is None else str(display_path(file))
        lines = [f"{where}: {fault}", *(f"  {text}" for text in self._said)]
        return "\n".join(sanitize_line(line) if n == 0 else line for n, line in enumerate(lines))
