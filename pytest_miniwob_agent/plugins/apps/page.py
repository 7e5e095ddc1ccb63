"""The pages of a running app, or of its tape, as the page of an item."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from hashlib import sha256
from struct import unpack
from typing import Any

from pytest_miniwob_agent.browser.gate import Gate
from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.own_page import Folder, OwnPage
from pytest_miniwob_agent.browser.page import EPOCH_MS
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.actions import Accept, Action, Answer, DialogAction, Follow, Wait
from pytest_miniwob_agent.core.app import App, AppTrial, shared_domain
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import PageError
from pytest_miniwob_agent.core.observations import Dialog, Observation, Transition
from pytest_miniwob_agent.tasks.catalogue import TaskPage

READY_STEP = 0.25
"""Seconds of the page's clock between two questions whether a trial can begin."""


def _shown_link(url: str) -> str:
    """Where a link leads: its address, or just the scheme if a browser opens no page there."""
    return url if url.startswith("http") else url.partition(":")[0] + ":"


def _random_states(case: Case, trial: int) -> tuple[int, int]:
    """Where a trial's random numbers begin: as its page is loaded, and as it begins itself."""
    digest = sha256(f"{case.task}/{case.sample}/{trial}".encode()).digest()
    loading, beginning = unpack("<ii", digest[:8])
    return loading, beginning


class AppPage(OwnPage):
    """The pages of an app: `app` answers every request of theirs, and judges every trial."""

    on_app = True

    def __init__(self, browser: Browser, case: Case, page: TaskPage, app: App) -> None:
        assert page.app is not None
        MiniwobPage.__init__(self, browser, case)
        self._task, self._app = page.app, app
        self.tape = app
        self._folder = Folder(page.file.parent)
        self._name = self._task.name
        self._gate: Gate | None = None
        self.requests, self._downloads = [], {}
        self._step = 0
        self._epoch, self._random = EPOCH_MS, case.seed
        self._url = ""
        self._over = 0.0
        self._given: str | None = None

    def reset(self, *, screen: str = "compact") -> Observation:
        """Begin a trial at the start of the app; the compact screen of an app is the tree."""
        self._given = None
        observation = super().reset(screen="tree" if screen == "compact" else screen)
        if self._over:
            raise PageError(
                f"AppTask {self._name!r} is over before the first action, with the reward "
                f"{self._over:g}: is what `setup` prepares, or the judge, what it should be?"
            )
        return observation

    def rewind(self) -> None:
        self._app.rewind()

    def _load(self) -> None:
        browser, task = self._browser, self._task
        self._over = 0.0
        self._check_files(task.files)
        goal, origins, start, number, noted = self._app.begin_trial()
        self._goal = goal
        self._epoch = round(1000 * task.initial_clock(noted))
        random = None
        if noted is not None:
            random, self._random = _random_states(self._case, number)
        self._run_scripts(app=True, domain=shared_domain(origins))
        browser.resize(task.viewport)
        api = bool(self._perturbation)
        self._enter(origins, origins[0] + start, self._app, random, api=api)
        if self._gate is None or not self._gate.entered:
            said = "; ".join(self._missed()) or "the app has sent no page"
            raise PageError(f"AppTask {self._name!r} does not begin at {start}: {said}")

    def step(self, action: Action) -> Transition:
        if isinstance(action, Answer) and not self._browser.devtools.dialog:
            self._given = action.text
            with self._browser.guard(f"doing {action}"):
                return self._transition(self._read("read"))
        self._step += 1
        waits = isinstance(action, Wait | Follow)
        with self._app.in_real_time() if waits else contextlib.nullcontext():
            return super().step(action)

    def has_more_scripts(self) -> bool:
        # These pages don't judge, and apps load scripts at any time.
        return False

    def answer_to(self, dialog: Dialog) -> DialogAction | None:
        said = self._task.dialogs.get(dialog.type, False)
        return None if said is False else Accept(said if isinstance(said, str) else None)

    def _read(self, function: str, *values: Any) -> Any:
        if function == "start":
            values = (*values, self._goal, self._random)
        read = super()._read(function, *values)
        devtools = self._browser.devtools
        assert self._gate is not None  # since the page was loaded
        window = devtools.window
        while window != devtools.opened[-1][1]:
            devtools.show_last()
            if self._await_next_page():
                read, window = super()._read("read"), devtools.window
            else:
                link = _shown_link(self._gate.opens)
                self._say([f"a window was closed, as it shows no page of the app: {link}"])
                devtools.close_shown()
        self._url = read.get("url", self._url)
        if function == "start" and self._task.ready is not None:
            read |= self._read_once_ready()
        return {**read, "files": self._task.files}

    def _read_once_ready(self) -> Any:
        with self._app.in_real_time():
            for count in itertools.count():
                ms = round(1000 * READY_STEP) if count else 0
                seen = super()._transition(self._read("readAfter", ms, False)).observation
                if self._app.is_ready(self._trial(seen), count * READY_STEP):
                    break
        return self._read("read")

    def _named(self, path: str) -> str:
        return f"{self._name}, at {path}"

    def _transition(self, read: Any, error: str | None = None) -> Transition:
        seen = super()._transition(read, error)
        seen = replace(seen, observation=replace(seen.observation, answers=True))
        if not self._over:
            trial = self._trial(seen.observation)
            self._over = self._app.judge(trial, driven=self._browser.devtools.handed)
        if not self._over and self._given is None:
            return seen
        self._note_effect(read, done=True)
        self._browser.call("miniwobAgent.decide", self._over)
        return Transition(Observation(self._goal), self._over, done=True, error=error)

    def _trial(self, seen: Observation) -> AppTrial:
        downloads = dict(self._gate.downloads) if self._gate else {}
        return AppTrial(self._case.seed, self._url, seen, self._given, downloads)

    def _leave(self) -> None:
        devtools = self._browser.devtools
        del devtools.opened[1:]
        devtools.show_last()
        super()._leave()
        self._browser.resize()
