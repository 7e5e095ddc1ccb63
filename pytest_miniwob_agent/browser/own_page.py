"""Pages of your own, and those of a running app or its tape, as the page of an item."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, WebDriverException

from pytest_miniwob_agent.browser.gate import Gate
from pytest_miniwob_agent.browser.miniwob_page import LEFT, MiniwobPage
from pytest_miniwob_agent.browser.page import EPOCH_MS
from pytest_miniwob_agent.browser.process import STORAGE, Browser
from pytest_miniwob_agent.browser.program import APP
from pytest_miniwob_agent.browser.server import own_page_url
from pytest_miniwob_agent.core.actions import Accept, Action, Answer, DialogAction
from pytest_miniwob_agent.core.app import App, AppTask, AppTrial, domain_of
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserLost, PageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.observations import Dialog, Observation, Transition
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.tasks.catalogue import TaskPage

POLL = 0.002
"""Real seconds between two questions whether the next page is there."""


def open_page(browser: Browser, case: Case, page: TaskPage) -> MiniwobPage:
    """The page of a case: the package's, or one of your own."""
    made = MiniwobPage(browser, case) if page.root is None else OwnPage(browser, case, page)
    return made.perturb(page.perturbation)


class OwnPage(MiniwobPage):
    """A page of your own, and the pages of its folder that it leads to.

    Trial, goal, clock, random numbers, ids and storage go on from one to the next (page/trial.js).
    """

    def __init__(self, browser: Browser, case: Case, page: TaskPage) -> None:
        assert page.root is not None
        super().__init__(browser, case)
        self._root = page.root
        self._url = own_page_url(page)
        self._name = str(display_path(page.file))

    def _load(self, driver: webdriver.Remote) -> None:
        assert self._browser.server is not None  # as the browser runs
        self._server = self._browser.server
        self._server.root = self._root
        self._server.missed.clear()
        self._browser.before_next_page = self._leave
        self._run_scripts()
        driver.get(self._url)
        # Nobody goes back to other tasks.
        self._browser.devtools.call("Page.resetNavigationHistory")

    def _missed(self) -> Sequence[str]:
        """Remarks on requests that nothing has answered, since the last call."""
        missed = sorted(self._server.missed)
        self._server.missed.clear()
        return missed

    def _read(self, function: str, *values: Any) -> Any:
        """Have the page read, once no other one is about to come."""
        while True:
            try:
                read = super()._read(function, *values)
            except WebDriverException as error:
                if not LEFT.search(str(error)):
                    raise
                read = {"leaving": True}
            found = [*read.pop("remarks", ()), *self._missed()]
            self._said += [text for text in dict.fromkeys(found) if text not in self._said]
            if "fault" in read:
                where = self._named(read["path"])
                fault = sanitize_line(f"{where}: {read['fault']}")
                raise PageError("\n".join([fault, *(f"  {text}" for text in self._said)]))
            if not read.get("leaving"):
                self._check_files(read.get("files", ()))
                return read
            if self._await_next_page():
                function, values = "read", (False,)

    def _named(self, path: str) -> str:
        """The page's file in messages."""
        file = self._server.own_file(path)
        return self._name if file is None else str(display_path(file))

    def _check_files(self, paths: Sequence[str]) -> None:
        for path in paths:
            if self._server.own_file(path) is None:
                raise PageError(
                    f"{self._name}: task.files names {path!r}, which is not a file of its folder"
                )

    def _drags_slowly(self) -> bool:
        """True: scripts may follow the mouse by frames or timers."""
        return True

    def _leave(self) -> None:
        """Leave neither windows nor what is handed over to the next trial or item.

        A page may store something when it is left, so that happens before all is cleared.
        """
        self._browser.close_other_windows()
        self._browser.call("(() => window.miniwobAgent?.forget?.())")
        self._browser.driver.get("about:blank")

    def _await_next_page(self) -> bool:
        """Wait for the page that is about to come; True if the trial has begun on it."""
        end = time.monotonic() + self._browser.timeout
        while time.monotonic() < end:
            with contextlib.suppress(JavascriptException):  # between two pages there is none
                begun = self._browser.call("miniwobAgent.begun")
                if begun is not None:
                    return bool(begun)
            if self._browser.devtools.excused():
                end = time.monotonic() + self._browser.timeout
            time.sleep(POLL)
        raise BrowserLost(f"the page after {self._name} did not come")


class AppPage(OwnPage):
    """The pages of an app: `app` answers every request of theirs, and judges every trial."""

    allowed = APP

    def __init__(self, browser: Browser, case: Case, task: AppTask, app: App) -> None:
        MiniwobPage.__init__(self, browser, case)
        self._task, self._app = task, app
        self._name = task.name
        self._gate: Gate | None = None
        self._url = ""
        self._step, self._over = 0, 0.0
        self._given: str | None = None

    def reset(self, *, screen: str = "compact") -> Observation:
        """Begin a trial at the start of the app; the compact screen of an app is the tree."""
        self._step, self._given = 0, None
        observation = super().reset(screen="tree" if screen == "compact" else screen)
        if self._over:
            raise PageError(
                f"AppTask {self._name!r} is over before the first action, with the reward "
                f"{self._over:g}: is what `setup` prepares, or the judge, what it should be?"
            )
        return observation

    def _load(self, driver: webdriver.Remote) -> None:
        browser, task = self._browser, self._task
        self._over = 0.0
        goal, origins, start = self._app.begin_trial()
        self._goal = goal
        epoch = EPOCH_MS if task.clock is None else round(task.clock * 1000)
        self._run_scripts(app=True, epoch=epoch, domain=domain_of(origins))
        browser.resize(task.viewport)
        browser.before_next_page = self._leave
        browser.devtools.call("Network.clearBrowserCookies")
        for origin in origins:
            clear = {"origin": origin, "storageTypes": STORAGE}
            browser.devtools.call("Storage.clearDataForOrigin", **clear)
        self._gate = Gate(
            browser.devtools,
            browser.prepare(),
            self._app,
            lambda: self._step,
            epoch,
        )
        browser.devtools.excused = lambda: self._gate is not None and self._gate.busy
        driver.get(origins[0] + start)
        self._check()
        if not self._gate.entered:
            said = "; ".join(self._gate.remarks) or "the app has sent no page"
            raise PageError(f"AppTask {self._name!r} does not begin at {start}: {said}")
        browser.devtools.call("Page.resetNavigationHistory")

    def _check(self) -> None:
        """Raise what went wrong where a request was answered."""
        if self._gate is not None and self._gate.error is not None:
            raise self._gate.error

    def step(self, action: Action) -> Transition:
        """Carry out an action; `Answer` ends the trial."""
        if isinstance(action, Answer):
            self._given = action.text
            with self._browser.guard(f"doing {action}"):
                return self._transition(self._read("read", False))
        self._step += 1
        return super().step(action)

    def live(self, seconds: float) -> tuple[float, bool]:
        """Let time pass for a person who uses the page; its reward, and True if it has judged."""
        with self._browser.guard(f"showing {self._name}"):
            self._browser.ignore_input(False)
            seen = self._transition(self._read("readAfter", round(seconds * 1000)))
        return seen.reward, seen.done

    def answer_to(self, dialog: Dialog) -> DialogAction | None:
        """Return the task's answer to a dialog."""
        said = self._task.dialogs.get(dialog.type, False)
        return Accept(said if isinstance(said, str) else None) if said else None

    def _read(self, function: str, *values: Any) -> Any:
        if function == "start":
            values = (*values, self._goal)
        read = super()._read(function, *values)
        devtools = self._browser.devtools
        assert self._gate is not None  # since the page was loaded
        while devtools.window != devtools.opened[-1][1]:
            devtools.show_last()
            if self._await_next_page():
                read = super()._read("read", False)
            else:
                self._gate.remark("a window was closed, as it shows no page of the app")
                devtools.call("Page.close")
        self._url = read.get("url", self._url)
        return read

    def _missed(self) -> Sequence[str]:
        self._check()
        return self._gate.remarks if self._gate else ()

    def _named(self, path: str) -> str:
        return f"{self._name}, at {path}"

    def _transition(self, read: Any, error: str | None = None) -> Transition:
        """The page as it was read, and what its judge says of it."""
        seen = super()._transition(read, error)
        seen = replace(seen, observation=replace(seen.observation, answers=True))
        if not self._over:
            downloads = dict(self._gate.downloads) if self._gate else {}
            trial = AppTrial(self._case.seed, self._url, seen.observation, self._given, downloads)
            self._over = self._app.judge(trial, driven=self._browser.devtools.handed)
        if not self._over and self._given is None:
            return seen
        self._note_effect(read, done=True)
        self._browser.call("miniwobAgent.decide", self._over)
        return Transition(Observation(self._goal), self._over, done=True, error=error)

    def _leave(self) -> None:
        devtools = self._browser.devtools
        del devtools.opened[1:]
        devtools.show_last()
        super()._leave()
        if self._gate is not None:
            self._gate.close()
            self._gate = None
        self._browser.devtools.excused = lambda: False
        self._browser.resize()
