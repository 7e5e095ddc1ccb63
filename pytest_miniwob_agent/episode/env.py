"""The page as an agent gets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.errors import StepLimit, TrialLimit, UsageError
from pytest_miniwob_agent.core.observations import Observation, Shot, Transition
from pytest_miniwob_agent.core.protocols import ActionCounter, Agent, Page, Visible
from pytest_miniwob_agent.core.tools import carry_out_call
from pytest_miniwob_agent.episode.trace import Trace


class AgentEnv:
    """The page as the agent gets it."""

    def __init__(self, page: Page, limits: Limits, agent: Agent, trace: Trace) -> None:
        self._page, self._limits, self._trace = page, limits, trace
        self._counter = agent if isinstance(agent, ActionCounter) else None
        self._counted = 0

    def reset(self, *, full: bool = False) -> Observation:
        """Begin the next trial."""
        trace = self._trace
        trace.end_trial(trace.limit)
        if trace.trial == self._limits.trials:
            trace.refuse(TrialLimit(f"{self._limits.trials} trials are used up"))
        with trace.keeping_errors():
            observation = self._page.reset(full=full)
        self._counted = 0
        trace.start_trial(observation)
        return observation

    def step(self, action: Action) -> Transition:
        """Carry out one action."""
        trace = self._trace
        if trace.last is None:
            raise RuntimeError("the agent must reset() the environment before its first step()")
        if trace.last.done:
            raise RuntimeError("the page has judged this trial: reset() begins another")
        if self._counter is None or self._counter.counts(action):
            if self._counted == self._limits.steps:
                trace.refuse(StepLimit(f"{self._limits.steps} actions are used up"))
            self._counted += 1
        with trace.keeping_errors():
            trace.take_picture(action)
            transition = self._page.step(action)
        trace.act(action, transition)
        return transition

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Transition:
        """Carry out a model's tool call."""
        return carry_out_call(name, arguments, self._trace.last, self.step)

    def html(self) -> str:
        """Return the visible page as HTML."""
        if self._trace.last is None:
            raise RuntimeError("the agent must reset() the environment before it reads its html()")
        with self._trace.keeping_errors():
            html = self._page.html()
        self._trace.read(html)
        return html

    def look(self, action: Action | None = None, **options: Any) -> Shot:
        """Take a picture of the page."""
        if self._trace.last is None or self._trace.last.done:
            raise RuntimeError("there is a page to look() at from reset() until it has judged")
        with self._trace.keeping_errors():
            if not isinstance(self._page, Visible):
                raise UsageError(f"{type(self._page).__name__} gives no pictures: it has no look()")
            return self._page.look(action, **options)
