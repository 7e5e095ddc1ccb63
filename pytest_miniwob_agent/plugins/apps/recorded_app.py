"""The app of an item: its tape, or the running app, which is recorded or checked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.drift import diff
from pytest_miniwob_agent.cassettes.folder import TRAFFIC
from pytest_miniwob_agent.cassettes.format import write_recorded
from pytest_miniwob_agent.cassettes.traffic import Bodies, Traffic, Trial
from pytest_miniwob_agent.core.app import (
    REFUSED,
    AppTask,
    AppTrial,
    Beginning,
    PageMessage,
    PageRequest,
    PageResponse,
    url_origin,
)
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.code_digest import code_digest
from pytest_miniwob_agent.core.data import MASKS, Mask, masked
from pytest_miniwob_agent.core.errors import NotRecorded, PageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
from pytest_miniwob_agent.plugins.apps.leaks import Leaks, Searched
from pytest_miniwob_agent.plugins.apps.live_app import LiveApp
from pytest_miniwob_agent.plugins.apps.live_trial import LiveTrial
from pytest_miniwob_agent.plugins.apps.played_trial import PlayedTrial, drift_of_traffic
from pytest_miniwob_agent.screen import render

READY = 30.0
"""Seconds after which a trial is not waited for any more that can't begin."""

SCREEN_LINES = 10
"""Lines of the screen in the message about that."""

TOKEN = Mask("token", r"[\w-]{32,}")
"""What an app draws at random for each form."""


class RecordedApp:
    """The app of an item: its tape as long as that goes, or the running app, which is recorded.

    An item is replayed whole, or live whole: `go_live` begins it again with the app. If it is
    checked, the app runs and its tape stays as it is, until `go_live` records it again.

    Args:
        task: the task.
        seed: the case's seed.
        limits: the item's; what the tape has beyond them need not be played.
        folder: the cassette folder.
        stem: the item's cassette in it.
        start: starts the app; its value for `setup` and `reward`, and what answers. None for a
            replay alone.
        anew: True to record whatever is on the tape.
        checks: True to check the app as it is now, if there is a tape; else the app is recorded.
        records: True if the tape may be written.
        searched: what was found in bodies that other items have stored.

    Attributes:
        screen_version: that of the tape (`observations.SCREEN_VERSION`); None if no tape is to be
            played, until it is set.
        clock: the page's clock at the beginning of a trial that is recorded now.
        remark: what the user must know of an episode that has ended; empty for nothing.
    """

    def __init__(
        self,
        task: AppTask,
        seed: int,
        limits: Limits,
        folder: Path,
        stem: str,
        start: Callable[[], tuple[Any, LiveApp]] | None,
        *,
        anew: bool = False,
        checks: bool = False,
        records: bool = True,
        searched: Searched | None = None,
    ) -> None:
        self.path = folder / f"{stem}{TRAFFIC}"
        self._searched = {} if searched is None else searched
        self._task, self._seed, self._limits, self._start = task, seed, limits, start
        self._bodies = Bodies(folder)
        self._app: tuple[Any, LiveApp] | None = None
        self._tape: Traffic | None = None  # that is played, or that the app is checked with
        self._records = records
        self._code = {
            name: digest
            for name in ("setup", "reward")
            if (function := getattr(task, name)) and (digest := code_digest(function))
        }
        self._questions = self._made = 0  # made: strict requests
        self._requests: list[PageRequest] = []
        self._now, self._asked = 0.0, 0  # the page's clock, and how often the page has asked since
        self.screen_version: int | None = None
        self.clock: float | None = int(time.time()) if task.clock is None else task.clock
        self.remark = ""
        live = self.can_go_live and (anew or not self.path.exists())
        if not live and self.path.exists():
            self._tape = Traffic.load(self.path)
            self.screen_version, self.clock = self._tape.screens, self._tape.clock
            live = checks
        if live and start is not None:
            self._app = start()
        self._traffic: Traffic | None
        self.rewind()

    @property
    def goal(self) -> str:
        return self._task.goal_text(self._seed)

    @property
    def can_go_live(self) -> bool:
        """True if the episode may begin again with the running app, which is recorded."""
        return self._records and self._start is not None and (self.checked or not self._app)

    @property
    def replayed(self) -> bool:
        """True if the tape alone has answered."""
        return self._app is None and self._tape is not None

    @property
    def checked(self) -> bool:
        """True if the app runs and its tape stays as it is."""
        return self._app is not None and self._tape is not None

    def go_live(self) -> None:
        """Start the app, unless it runs; the episode begins again, and is recorded."""
        assert self._start is not None
        self._tape = None
        self._app = self._app or self._start()
        self.rewind()

    @contextmanager
    def as_recorded(self) -> Iterator[None]:
        """In a block, have the tape of a checked app answer in its place."""
        app, self._app = self._app, None
        self.rewind()
        try:
            yield
        finally:
            self._app = app

    def rewind(self) -> None:
        self._traffic = self._tape
        if self._app is not None:
            self._traffic = Traffic(self._app[1].origins, allow=list(self._task.allow))
        self._trial: PlayedTrial | LiveTrial = PlayedTrial(Trial("", ""), self.path, self._bodies)
        self._number, self._failures = 0, list[str]()  # what is said of errors of the network
        self._leaks = Leaks(self._task, self.path, self._searched)

    def begin_trial(self) -> Beginning:
        self._end_trial()
        task, number = self._task, self._number
        goal, start = task.goal_text(self._seed), task.start_path(self._seed)
        if self._traffic is None and not self.path.exists():
            raise NotRecorded(f"there is no traffic {display_path(self.path)}")
        self._traffic = traffic = self._traffic or Traffic.load(self.path)
        tape = traffic if self._app is None else self._tape
        then = tape.trials[number] if tape and number < len(tape.trials) else None
        if then is not None:  # a checked app must still get the task that was recorded
            self._check_task(then, goal, start)
        self._number += 1
        self._questions = self._made = self._asked = 0
        self._requests = []
        if self._app is not None:
            traffic.clock = self.clock
            traffic.trials.append(Trial(goal, start))
            leaks = None if self.checked else self._leaks
            expected = then.messages if then else ()
            self._trial = LiveTrial(
                task, self._app, traffic, self._bodies, leaks, expected, self._failures.append
            )
            self._trial.begin(self._seed, task.initial_clock(self.clock))
        elif then is not None:
            self._trial = PlayedTrial(then, self.path, self._bodies)
            self._check_code(traffic.code)
        else:
            raise drift_of_traffic(self.path, f"trial {self._number} was not recorded")
        return Beginning(goal, traffic.origins, start, self._number, traffic.clock)

    def _check_code(self, then: dict[str, str]) -> None:
        for name, digest in then.items():
            function = getattr(self._task, name, None)
            if function is None or self._code.get(name, digest) != digest:
                what = f"{name} of AppTask {self._task.name!r} is not what it was"
                hint = "--miniwob-app=live runs it as it is now, with the recorded answers"
                raise drift_of_traffic(self.path, what, [hint], "judge")

    def _check_task(self, then: Trial, goal: str, start: str) -> None:
        if then.goal != goal:
            raise drift_of_traffic(self.path, "another goal", diff(then.goal, goal), "goal")
        if then.start != start:
            what = f"the start is {start!r} now, and was {then.start!r}"
            raise drift_of_traffic(self.path, what)

    def answer(
        self, request: PageRequest, step: int, crowded: Callable[[], bool]
    ) -> PageResponse | None:
        """Answer a request; raises a `Drift` if it is not on the tape, and as the live app does."""
        if request.method == "LEAVE":  # a socket that the page leaves behind: not on the tape
            return None if self._app is None else self._app[1].answer(request, crowded)
        assert self._traffic is not None
        if url_origin(re.sub("^ws", "http", request.url)) not in self._traffic.origins:
            what = request.kind if request.socket else request.method
            return PageResponse(
                REFUSED,
                remark=f"a request was refused, as it leads out of the app: {what} {request.url}; "
                "AppTask(origins=[...]) allows further ones",
            )
        self._requests.append(request)
        self._made += request.strict and request.kind != "Ping"  # which nobody waits for
        return self._trial.answer(request, step, crowded)

    def messages(self, now: float) -> list[PageMessage] | None:
        """Return what has come for the page, which is idle; None while more may come."""
        if now != self._now:
            self._now, self._asked = now, 0
        came = self._trial.messages(self._made, now, self._asked)
        self._asked += came is not None
        return came

    def in_real_time(self) -> AbstractContextManager[None]:
        return self._trial.in_real_time()

    def is_ready(self, trial: AppTrial, waited: float) -> bool:
        """Return True if the trial can begin.

        Raises:
            PageError: it can't, `READY` seconds after its page has been loaded.
            Drift: the same, but it could when it was recorded.
        """
        task = self._task
        if task.is_ready(replace(trial, requests=self._requests)):
            return True
        if waited < READY:
            return False
        why = f"{task.ready!r} is missing" if isinstance(task.ready, str) else "`ready` is not True"
        what = f"trial {self._number} can't begin {READY:g} s after its page was loaded, as {why}"
        if self._app is None:
            raise drift_of_traffic(self.path, what)
        shown = render(trial.observation.elements).splitlines()[:SCREEN_LINES]
        raise PageError("\n  ".join([f"AppTask {task.name!r}: {what}. The page shows", *shown]))

    def judge(self, trial: AppTrial, *, driven: bool = False) -> float:
        """Return the reward of the live app's judge, of its tape, or of what the page shows.

        A page that is `driven` by a program is judged at any time: its requests decide.
        """
        self._leaks.check()
        self._questions += 1
        trial = replace(trial, requests=self._requests)
        if self._limits.graded:
            return float(trial.answer is not None)
        if self._task.solved_when is not None:
            solved = self._task.call("solved_when", trial)
            return 0.0 if solved is None else 1.0 if solved else -1.0
        return self._trial.judge(trial, self._questions, driven=driven)

    def _end_trial(self) -> None:
        self._leaks.check()
        if isinstance(self._trial, PlayedTrial):
            # The item may be allowed fewer steps than were recorded.
            left = [one for one in self._trial.left if one.step <= self._limits.steps]
            if missing := self._trial.missing(left):
                named = "; ".join(map(str, missing))
                what = f"of trial {self._number}, not made: {named}"
                raise drift_of_traffic(self.path, what)

    def finish(self, calls: int, *, solved: bool) -> None:
        """End an episode of so many model calls: check it, or write what was recorded.

        The tape of a checked app takes over a changed `setup` and `reward` if they lead to the same
        verdict; that of `solved_when` is on no tape, so the task is to be solved.

        From then on the tape answers.
        """
        traffic = self._traffic
        if traffic is None:
            return
        self.remark = self._remark(traffic)
        if self.checked:
            assert self._tape is not None
            rewards = [[one.reward for one in each.trials] for each in (self._tape, traffic)]
            alike = solved if self._task.reward is None else rewards[0] == rewards[1]
            if self._records and alike:
                self._tape.code = self._code
                self._write(self._tape)
        elif self._app is not None:
            self._end_trial()
            traffic.screens = self.screen_version or SCREEN_VERSION
            traffic.code = self._code
            self._app = None
            self.rewind()
            self._write(traffic)
        elif calls < self._limits.calls:  # else it has ended within a trial
            self._end_trial()
            if self._number < min(len(traffic.trials), self._limits.trials):
                what = f"trial {self._number + 1} was not played"
                raise drift_of_traffic(self.path, what)

    def _remark(self, traffic: Traffic) -> str:
        if self._failures:
            return f"{display_path(self.path)}: {'; '.join(dict.fromkeys(self._failures))}"
        if self._app is not None or self._task.reward is None or "reward" in traffic.code:
            return ""
        return (
            "there are recordings on apps that don't know their judge, so a change of it is not "
            "noticed: pytest --miniwob-app=live --miniwob-record=new_episodes notes it, for nothing"
        )

    def _write(self, traffic: Traffic) -> None:
        text = traffic.dump()
        if not self.path.exists() or self.path.read_text("utf-8") != text:
            write_recorded(self.path, text)

    def changed_requests(self) -> list[str]:
        """Return how the requests of a checked app differ from its tape's, as lines of `diff`."""
        assert self._tape is not None
        assert self._traffic is not None
        changed: list[str] = []
        for then, now in zip(self._tape.trials, self._traffic.trials, strict=False):
            last = max((one.step for one in now.exchanges), default=0)
            lines = [
                "\n".join(
                    masked(f"{one} {one.shown}".rstrip(), *MASKS, TOKEN)
                    for one in sorted(trial.exchanges, key=lambda one: (one.step, str(one)))
                    if one.request.strict and one.step <= last
                )
                for trial in (then, now)
            ]
            changed += [line for line in diff(*lines) if line[:2] in ("- ", "+ ")]
        return changed

    @property
    def last_request(self) -> str:
        """The last request that a replay must make, such as `POST /login`, or empty."""
        return next((str(one) for one in reversed(self._requests) if one.strict), "")
