"""The page as an agent gets it, and what a program does on one that is handed over."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from pytest_miniwob_agent.core.actions import Action, Answer, DialogAction, Dismiss
from pytest_miniwob_agent.core.chat import ToolCall
from pytest_miniwob_agent.core.errors import StepLimit, TrialLimit, UsageError
from pytest_miniwob_agent.core.events import Called, Event, Remark
from pytest_miniwob_agent.core.observations import SCREENS, Observation, Shot, Transition
from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.core.parsing import InvalidToolCall, action_of_call, carry_out_call
from pytest_miniwob_agent.core.protocols import (
    ActionCounter,
    Agent,
    Answering,
    Drivable,
    Driven,
    HandedOver,
    Observer,
    Page,
    Visible,
)
from pytest_miniwob_agent.episode.trace import Trace

# Wall-clock seconds that an action of another thread waits for those that the model named first:
# one that the agent's framework has refused never comes.
_TURN = 2.0


class Turns(Observer):
    """Threads use the page one after the other, in the order in which the model named actions."""

    def __init__(self) -> None:
        # The actions of the tool calls of the last answer that were not taken yet, in order.
        self._named: list[Action] = []
        self._turn = threading.Condition()
        self._thread = threading.get_ident()

    def on_event(self, event: Event) -> None:
        if isinstance(event, Called):
            self._named[:] = _parse_actions(event.completion.tool_calls)

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._turn:
            try:
                yield
            finally:
                self._turn.notify_all()

    def wait(self, action: Action) -> None:
        """Wait in a thread of a framework for the actions that the model named before this one."""
        named = self._named
        if threading.get_ident() != self._thread:
            self._turn.wait_for(lambda: action not in named or named[0] == action, _TURN)
        if action in named:
            named.remove(action)


def _parse_actions(calls: Iterable[ToolCall]) -> Iterator[Action]:
    for call in calls:
        with suppress(InvalidToolCall):
            yield action_of_call(call.name, call.arguments)


class AgentEnv:
    """The page as the agent gets it; threads use it one after the other."""

    def __init__(self, page: Page, agent: Agent, trace: Trace, turns: Turns, pace: Pace) -> None:
        self._page, self._trace, self._turns, self._pace = page, trace, turns, pace
        self._counter = agent if isinstance(agent, ActionCounter) else None
        self._counted = 0
        self._answers = getattr(agent, "answers_dialogs", True)
        self._handed: HandedOver | None = None
        self._shot: Shot | None = None  # before the next action of the program
        self._said: set[str] = set()  # remarks on the program

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._turns.alone():
            if self._handed is not None:
                raise RuntimeError("the page is handed over to a program until its block has ended")
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let no time pass on the page while its program, if it has one, waits for the model."""
        if self._handed is None:
            yield
            return
        with self._handed.paused():
            if reason := self._trace.halt.reason:
                self._trace.halt.refuse(reason)
            yield

    @property
    def default_screen(self) -> str:
        return getattr(self._page, "default_screen", "compact")

    def reset(self, *, screen: str = "compact") -> Observation:
        if screen not in SCREENS:
            raise UsageError(f"there is no screen {screen!r}: it is one of {', '.join(SCREENS)}")
        trace = self._trace
        with self._alone():
            trace.end_trial(trace.halt.limit)
            if trace.trial == trace.limits.trials:
                trace.halt.refuse(TrialLimit(f"{trace.limits.trials} trials are used up"))
            with trace.halt.keeping_errors():
                observation = self._page.reset(screen=screen)
            self._counted = 0
            self._pace.begin_trial()
            trace.start_trial(observation)
            return observation

    def step(self, action: Action) -> Transition:
        if not isinstance(action, Action):
            raise UsageError(f"step() takes an action, such as Click(4), and not {action!r}")
        with self._alone():
            self._turns.wait(action)
            return self._act(action)

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Transition:
        with self._alone():
            with suppress(InvalidToolCall):
                self._turns.wait(action_of_call(name, arguments))
            steps, before = self._trace.step, self._trace.last
            after = carry_out_call(name, arguments, before, self._act)
            # A refused call is no action, so that only this remark tells of it.
            if after.error and self._trace.step == steps and before and not before.done:
                self._trace.note(Remark("refused call", f"{name}: {after.error}"))
            return after

    def _act(self, action: Action) -> Transition:
        trace = self._trace
        if trace.last is None:
            raise RuntimeError("the agent must reset() the environment before its first step()")
        if trace.last.done:
            raise RuntimeError("the page has judged this trial: reset() begins another")
        # Dialogs that are answered for the agent do not count.
        helps = isinstance(action, DialogAction) and not self._answers
        if not helps and (self._counter is None or self._counter.counts(action)):
            if self._counted == trace.limits.steps:
                trace.halt.refuse(self._step_limit())
            self._counted += 1
        with trace.halt.keeping_errors():
            trace.take_picture(action)
            transition = self._page.step(action)
        transition = trace.act(action, transition)
        if (dialog := transition.observation.dialog) and not self._answers:
            given = self._page.answer_to(dialog) if isinstance(self._page, Answering) else None
            return self._act(given or Dismiss())
        return transition

    def answer(self, text: str) -> Transition:
        return self.step(Answer(text))

    def html(self, *, whole: bool = False) -> str:
        if self._trace.last is None:
            raise RuntimeError("the agent must reset() the environment before it reads its html()")
        with self._alone(), self._trace.halt.keeping_errors():
            html = self._page.html(whole=True) if whole else self._page.html()
            self._trace.read(html)
            return html

    def look(self, action: Action | None = None, **options: Any) -> Shot:
        last = self._trace.last
        if last is None or last.done or last.observation.dialog:
            raise RuntimeError(
                "look() needs a page: after reset(), until the page has judged, with no dialog open"
            )
        with self._alone(), self._trace.halt.keeping_errors():
            if not isinstance(self._page, Visible):
                raise UsageError(f"{type(self._page).__name__} gives no pictures: it has no look()")
            return self._page.look(action, **options)

    def end(self) -> None:
        """Refuse what a thread goes on with, once what it is doing with the page has ended."""
        self._trace.halt.ended = UsageError("the episode is over, as the agent's solve() is")
        if self._handed is None:
            with self._turns.alone():
                pass

    def _step_limit(self) -> StepLimit:
        return StepLimit(f"{self._trace.limits.steps} actions are used up")

    @contextmanager
    def hand_over(self, *, open_port: bool = False) -> Iterator[HandedOver]:
        trace = self._trace
        if trace.last is None or trace.last.done:
            raise RuntimeError("hand_over() needs a page: after reset(), until the page has judged")
        if trace.last.observation.dialog:
            raise RuntimeError("answer the page's dialog before the page is handed over")
        with self._alone(), trace.halt.keeping_errors():
            if not isinstance(self._page, Drivable):
                page = type(self._page).__name__
                raise UsageError(f"{page} can't be handed over to a program: it has no hand_over()")
            self._shot, self._said = trace.look(), set()
            try:
                left = trace.limits.steps - self._counted
                with self._page.hand_over(left, self._tell, self._pace, open_port) as handed:
                    self._handed = handed
                    yield handed
            finally:
                self._handed = None
                # The program was refused further commands, and may have hidden that.
                if reason := trace.halt.reason:
                    raise reason

    def _tell(self, driven: Driven) -> str | None:
        trace, after = self._trace, driven.after
        for number, (action, points) in enumerate(driven.acts, start=1):
            if self._shot is not None:
                trace.show(replace(self._shot, points=points), action)
            last = after if number == len(driven.acts) else trace.last
            assert last is not None  # the page was reset before it was handed over
            trace.act(action, last)
            self._counted += 1
        if driven.acts:
            self._shot = trace.look()
        if driven.over:
            trace.halt.limit = self._step_limit()
        if driven.remark and driven.remark not in self._said:  # once for each program
            self._said.add(driven.remark)
            trace.note(Remark("program", driven.remark))
        return str(trace.halt.reason) if trace.halt.reason else None
