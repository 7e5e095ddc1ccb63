"""Protocols: agents, environments, models, and observers of an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.events import Completion, Event, Note, Origin
from pytest_miniwob_agent.core.observations import Observation, Shot, Transition
from pytest_miniwob_agent.core.outcome import Outcome


class Page(Protocol):
    """A page that judges. A new trial is a `reset`."""

    def reset(self, *, full: bool = False) -> Observation:
        """Load the page afresh and generate the case's problem.

        With `full`, the observations of this trial hold everything that shows: elements have
        `details` and text has an id.
        """
        ...

    def step(self, action: Action) -> Transition:
        """Carry out one action; an impossible one is a `Transition` with an `error`."""
        ...

    def html(self) -> str:
        """Return the visible page as HTML; empty once the page has judged.

        It has visible elements only, with the attributes that tell a reader something: `value`,
        `checked` and `selected` as they are now, and as `data-ref` the id that actions take.
        """
        ...


class Environment(Page, Protocol):
    """A `Page` as an agent gets it: it also takes tool calls of a model."""

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Transition:
        """Carry out a tool call: the action of that name (`core.tools.action_of_call`).

        A bad call is a `Transition` with an `error` for the model; it is not an action. After the
        page has judged every call is one.
        """
        ...


@runtime_checkable
class Visible(Protocol):
    """An optional part of a `Page`: pictures of it."""

    def look(self, action: Action | None = None) -> Shot:
        """Take a picture of the page, with the points of the action that is to come.

        Taking a picture must not change the behaviour of the page.
        """
        ...


class LLM(Protocol):
    """A language model behind one chat message."""

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Answer a prompt; `purpose` says what the call is for (`plan`, `reflect`, ...)."""
        ...


@runtime_checkable
class Agent(Protocol):
    """Something that works on a page through a model. `name` is the folder of its cassettes.

    An agent may also have the methods of a `RunObserver` and an `ActionCounter`.
    """

    name: str

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play trials until the page is solved or a limit is reached.

        Begin each trial with `env.reset()`. `note` is for what only the agent knows: how a trial
        ended, what a reflection changed, and what else is worth keeping. `LimitReached` may be
        caught (a `StepLimit`, to reflect on the trial) or left to the caller.
        """
        ...


@runtime_checkable
class RunObserver(Protocol):
    """An optional part of an `Agent`: called once, on the controller, when a run is over."""

    def run_finished(self, outcomes: Sequence[Outcome]) -> str | None:
        """Use the outcomes of all items that ran; return a line for the run's summary.

        Raises:
            MiniwobError: shown in the summary; the run fails.
        """
        ...


@runtime_checkable
class ActionCounter(Protocol):
    """An optional part of an `Agent`: the actions that use up those of a trial, otherwise all."""

    def counts(self, action: Action) -> bool:
        """Return False for a helper of another action, such as clearing a field before typing.

        Each helper must belong to an action that counts, or a trial would never end.
        """
        ...


class Observer:
    """An observer of an episode; override the methods of interest, the others do nothing.

    Set `wants_pictures` to have pictures taken of a page that is `Visible`.
    """

    wants_pictures: bool = False

    def before_episode(self, case: Case) -> None:
        """Called when the episode begins; a second time if it begins again in a new browser."""

    def before_call(self, origin: Origin) -> None:
        """Called before each model call."""

    def on_event(self, event: Event) -> None:
        """Called with each event as it happens."""

    def on_picture(self, shot: Shot, trial: int, step: int, action: Action | None) -> None:
        """Called with a picture before each action, and one of the last screen of a trial.

        `action` is the one to come, None for the last screen. There is no picture of a page after
        its judgement, as it shows nothing then.
        """

    def after_item(self, outcome: Outcome) -> None:
        """Called when the item has come to its end."""
