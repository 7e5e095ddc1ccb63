"""The page as an agent gets it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pytest_miniwob_agent.core.actions import Action, Dismiss
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.errors import StepLimit, TrialLimit, UsageError
from pytest_miniwob_agent.core.observations import SCREENS, Observation, Shot, Transition
from pytest_miniwob_agent.core.parsing import BadCall, action_of_call, carry_out_call
from pytest_miniwob_agent.core.protocols import (
    ActionCounter,
    Agent,
    Drivable,
    HandedOver,
    Page,
    Visible,
)
from pytest_miniwob_agent.episode.program import Program
from pytest_miniwob_agent.episode.trace import Trace

_TURN = 2.0
"""Real seconds that an action of another thread waits for those that the model named before it: one
that the agent's framework has refused never comes."""


class AgentEnv:
    """The page as the agent gets it; threads use it one after the other."""

    def __init__(self, page: Page, limits: Limits, agent: Agent, trace: Trace) -> None:
        self._page, self._limits, self._trace = page, limits, trace
        self._counter = agent if isinstance(agent, ActionCounter) else None
        self._counted = 0
        self._answers = getattr(agent, "answers_dialogs", True)
        self._turn = threading.Condition()
        self._thread = threading.get_ident()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Use the page while no other thread and no program does."""
        with self._turn:
            if self._trace.handed is not None:
                raise RuntimeError("the page is handed over to a program until its block has ended")
            try:
                yield
            finally:
                self._turn.notify_all()

    def reset(self, *, screen: str = "compact") -> Observation:
        """Begin the next trial."""
        if screen not in SCREENS:
            raise UsageError(f"there is no screen {screen!r}: it is one of {', '.join(SCREENS)}")
        trace = self._trace
        with self._alone():
            trace.end_trial(trace.limit)
            if trace.trial == self._limits.trials:
                trace.refuse(TrialLimit(f"{self._limits.trials} trials are used up"))
            with trace.keeping_errors():
                observation = self._page.reset(screen=screen)
            self._counted = 0
            trace.start_trial(observation)
            return observation

    def step(self, action: Action) -> Transition:
        """Carry out one action."""
        with self._alone():
            self._await_turn(action)
            return self._act(action)

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Transition:
        """Carry out a model's tool call."""
        with self._alone():
            with suppress(BadCall):
                self._await_turn(action_of_call(name, arguments))
            return carry_out_call(name, arguments, self._trace.last, self._act)

    def _await_turn(self, action: Action) -> None:
        """Wait in a thread of a framework for the actions that the model named before this one."""
        named = self._trace.named
        if threading.get_ident() != self._thread:
            self._turn.wait_for(lambda: action not in named or named[0] == action, _TURN)
        if action in named:
            named.remove(action)

    def _act(self, action: Action) -> Transition:
        trace = self._trace
        if trace.last is None:
            raise RuntimeError("the agent must reset() the environment before its first step()")
        if trace.last.done:
            raise RuntimeError("the page has judged this trial: reset() begins another")
        helps = isinstance(action, Dismiss) and not self._answers
        if not helps and (self._counter is None or self._counter.counts(action)):
            if self._counted == self._limits.steps:
                trace.refuse(StepLimit(f"{self._limits.steps} actions are used up"))
            self._counted += 1
        with trace.keeping_errors():
            trace.take_picture(action)
            transition = self._page.step(action)
        transition = trace.act(action, transition)
        if transition.observation.dialog and not self._answers:
            return self._act(Dismiss())
        return transition

    def html(self) -> str:
        """Return the visible page as HTML."""
        if self._trace.last is None:
            raise RuntimeError("the agent must reset() the environment before it reads its html()")
        with self._alone(), self._trace.keeping_errors():
            html = self._page.html()
            self._trace.read(html)
            return html

    def look(self, action: Action | None = None, **options: Any) -> Shot:
        """Take a picture of the page."""
        last = self._trace.last
        if last is None or last.done or last.observation.dialog:
            raise RuntimeError(
                "there is a page to look() at from reset() until it has judged, but for its dialogs"
            )
        with self._alone(), self._trace.keeping_errors():
            if not isinstance(self._page, Visible):
                raise UsageError(f"{type(self._page).__name__} gives no pictures: it has no look()")
            return self._page.look(action, **options)

    @contextmanager
    def hand_over(self) -> Iterator[HandedOver]:
        """Hand the page over to a program."""
        trace, steps = self._trace, self._limits.steps
        if trace.last is None or trace.last.done:
            raise RuntimeError("there is a page to hand over from reset() until it has judged")
        if trace.last.observation.dialog:
            raise RuntimeError("answer the page's dialog before the page is handed over")
        with self._alone(), trace.keeping_errors():
            if not isinstance(self._page, Drivable):
                page = type(self._page).__name__
                raise UsageError(f"{page} can't be handed over to a program: it has no hand_over()")
            left = steps - self._counted
            program = Program(trace, left, StepLimit(f"{steps} actions are used up"))
            try:
                with self._page.hand_over(program) as handed:
                    trace.handed = handed
                    yield handed
            finally:
                trace.handed = None
                self._counted = steps - program.left
                if reason := trace.error or trace.limit:
                    raise reason
