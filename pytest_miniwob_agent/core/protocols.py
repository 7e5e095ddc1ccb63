"""What agents, environments and models must offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from pytest_miniwob_agent.core.actions import (
    Action,
)
from pytest_miniwob_agent.core.events import (
    Completion,
    Note,
)
from pytest_miniwob_agent.core.observations import Observation, Shot, Transition


class Environment(Protocol):
    """A page that judges. A new trial is a `reset`."""

    def reset(self) -> Observation:
        """Load the page afresh and generate the case's problem."""
        ...

    def step(self, action: Action) -> Transition:
        """Carry out one action; an impossible one is a `Transition` with an `error`."""
        ...

    def html(self) -> str:
        """The visible page as HTML, for agents that read that; empty once the page has judged.

        Only what shows, and of attributes what tells something; `value`, `checked` and `selected`
        are those of now. The `data-ref` of an element is the id that actions take.
        """
        ...


@runtime_checkable
class Visible(Protocol):
    """What an `Environment` has beside its own methods if pictures can be taken of it."""

    def look(self, action: Action | None = None) -> Shot:
        """A picture of the page as it is, and where the action points that is to come.

        What the page does must not depend on whether anybody looks.
        """
        ...


class LLM(Protocol):
    """A language model behind one chat message."""

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Answer a prompt; `purpose` says what the call is for (`plan`, `reflect`, ...)."""
        ...


@runtime_checkable
class Agent(Protocol):
    """Something that works on a page through a model. `name` is the folder of its cassettes."""

    name: str

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play trials until the page is solved or a limit is reached.

        Begin each trial with `env.reset()`. `note` is for what only the agent knows: how a trial
        ended, what a reflection changed, and what else is worth keeping. `LimitReached` may be
        caught (a `StepLimit`, to reflect on the trial) or left to the caller.
        """
        ...
