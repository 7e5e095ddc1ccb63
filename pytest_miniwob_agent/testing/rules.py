"""Episodes of the contract: a page for them, and the rules that an agent must keep."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from pytest_miniwob_agent.core.actions import KEYS, MODIFIERS, Action, Hold, Press, Release
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Ending,
    Episode,
    Event,
    Note,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.core.protocols import LLM, Agent, Environment, HTTPModel, Observer
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.testing.fakes import FakeEnvironment

EPISODE = Limits(trials=3, steps=4, calls=40)
"""The limits of an episode of the contract."""

BUTTONS = (Element(1, "button", "ONE", x=20, y=20), Element(2, "button", "TWO", x=80, y=20))


class ContractPage(FakeEnvironment):
    """A page that shows another screen after each action, and judges after some.

    Any action will do, as agents differ in theirs, except one that names a missing element.

    Args:
        reward: the reward; None for a page that never judges.
        after: the number of actions after which it judges.
        goal: the goal.
        elements: the elements of every screen.
    """

    def __init__(
        self,
        reward: float | None = None,
        after: int = 2,
        goal: str = "Click ONE, then TWO.",
        elements: Sequence[Element] = BUTTONS,
    ) -> None:
        screens = {str(at): [*elements, Element(None, "t", f"screen {at}")] for at in range(after)}
        super().__init__(goal, screens if elements else dict.fromkeys(screens, ()))
        self._reward = reward
        self._after = after

    def step(self, action: Action) -> Transition:
        """Show the next screen, or judge.

        Raises:
            TypeError: this is not an action, or one that no page can carry out.
        """
        if fault := _fault(action):
            raise TypeError(f"the action {action!r} {fault}")
        transition = super().step(action)
        if transition.error:
            return transition
        taken = int(self._screen) + 1
        if self._reward is not None and taken == self._after:
            self._done = True
            return Transition(Observation(self.goal), self._reward, done=True)
        self._screen = str(taken % self._after)
        return Transition(self._observation())


def _fault(action: object) -> str | None:
    """Say what is wrong with an action that is none, or not even valid for a page to refuse."""
    if not isinstance(action, Action):
        return "is not an action of pytest_miniwob_agent"
    for name, hint in get_type_hints(type(action)).items():
        if not _fits(getattr(action, name), hint):
            return f"has a wrong {name}"
    if isinstance(action, Press) and action.key not in KEYS:
        return f"presses none of {', '.join(KEYS)}"
    if isinstance(action, Hold | Release) and action.key not in MODIFIERS:
        return f"is for none of {', '.join(MODIFIERS)}"
    return None


def _fits(value: object, hint: Any) -> bool:
    """True if a value has the type that a field is declared with."""
    if isinstance(hint, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    kind = get_origin(hint) or hint
    return isinstance(value, int | float if kind is float else kind)


class _Watch(Observer):
    """An agent whose notes are checked, and an observer that keeps the model's last answer."""

    def __init__(self, agent: Agent, situation: str) -> None:
        self.name = agent.name
        self._agent = agent
        self._situation = situation
        self._answer: Completion | None = None

    @property
    def circumstances(self) -> str:
        """The situation, if it has a name, and the model's last reply."""
        reply = "The model had not been asked yet."
        if (answer := self._answer) is not None:
            said = map(repr, [answer.text, *map(str, answer.tool_calls)])
            reply = f"The model's last reply was {shorten(' '.join(said))}"
        return f"Played with {self._situation}. {reply}" if self._situation else reply

    def on_event(self, event: Event) -> None:
        if isinstance(event, Called):
            self._answer = event.completion

    def solve(
        self, env: Environment, llm: LLM, note: Callable[[Note], None]
    ) -> Awaitable[None] | None:
        def checked(given: Note) -> None:
            if not isinstance(given, Note):
                raise TypeError(f"{given!r} is not a Note of pytest_miniwob_agent")
            note(given)

        return self._agent.solve(env, llm, checked)


def play(
    agent: Agent,
    page: ContractPage,
    model: HTTPModel,
    limits: Limits = EPISODE,
    situation: str = "",
) -> Episode:
    """Play an episode; a broken rule, or an exception of the agent, fails the test.

    The run itself refuses actions before the first trial and after the page has judged.

    Args:
        agent: the agent.
        page: the page.
        model: the model.
        limits: the limits of the episode.
        situation: what is played with, for the message of a failure.
    """
    __tracebackhide__ = True
    watch = _Watch(agent, situation)
    case = Case("contract", "other", 0)
    try:
        episode = run_episode(case, watch, page, model, limits, model="scripted", observers=[watch])
        if broken := next(_broken_rules(episode), None):
            pytest.fail(f"{broken}\n{watch.circumstances}")
        json.dumps(episode.to_data())
    except Exception as error:
        error.add_note(watch.circumstances)
        raise
    episode.explain()
    return episode


def _broken_rules(episode: Episode) -> Iterator[str]:
    """Yield the rules that an episode breaks, in words about its agent."""
    last: Transition | None = None
    ended = False
    for event in episode.events:
        match event:
            case TrialStarted(observation=observation):
                if last is not None and last.solved:
                    yield "it began another trial of a page that it had solved: return instead"
                last, ended = Transition(observation), False
            case Called(purpose=purpose, prompt=prompt, messages=messages):
                if last is None:
                    yield f"it asked the model (for {purpose!r}) before env.reset()"
                if not isinstance(purpose, str) or not purpose.strip():
                    yield f"it made a model call whose purpose is blank or not a text: {purpose!r}"
                if not messages and not prompt.strip():
                    yield f"it made a model call without a prompt: {prompt!r}"
            case Acted(action=action, transition=transition):
                if ended:
                    yield f"it acted ({action}) in a trial that it had noted as ended"
                last = transition
            case TrialEnded(ending=ending) if last is not None:
                ended = True
                if not isinstance(ending, Ending):
                    yield f"it noted {ending!r} as the ending of a trial, which is not an Ending"
                judged = ending in (Ending.CORRECT, Ending.FAILED)
                seen = Ending.CORRECT if last.solved else Ending.FAILED if last.done else None
                if ending != seen and (judged or seen):
                    verdict = f"judged that it was {seen}" if seen else "had not judged"
                    yield f"it noted that a trial ended {ending}, when the page {verdict}"
    if not episode.trials:
        yield "solve() returned without a trial: env.reset() begins each"
