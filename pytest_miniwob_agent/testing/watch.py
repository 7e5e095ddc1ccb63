"""Episodes that check how an agent uses page and model: a broken rule fails the test."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import pytest

from pytest_miniwob_agent.core.actions import KEYS, MODIFIERS, Action, Hold, Press, Release
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import LimitReached, MiniwobError
from pytest_miniwob_agent.core.events import (
    Called,
    Completion,
    Ending,
    Episode,
    Event,
    Note,
    TrialEnded,
)
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.core.protocols import LLM, Agent, Environment, HTTPModel, Observer
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.testing.fakes import FakeEnvironment

PATIENCE = 10
"""Refusals at a limit after which an agent that asks again counts as endless."""

EPISODE = Limits(trials=3, steps=4, calls=40)
"""The limits of an episode of the contract."""

BUTTONS = (Element(1, "button", "ONE", x=20, y=20), Element(2, "button", "TWO", x=80, y=20))


class Failure(NamedTuple):
    """An error of page or model at one use of a method, numbered from 0.

    Methods are `reset`, `step`, `html`, `complete` (or `chat`), and `reply` of the model itself.
    """

    method: str
    use: int
    error: MiniwobError


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
        """Show the next screen, or judge."""
        transition = super().step(action)
        if transition.error:
            return transition
        taken = int(self._screen) + 1
        if self._reward is not None and taken == self._after:
            self._done = True
            return Transition(Observation(self.goal), self._reward, done=True)
        self._screen = str(taken % self._after)
        return Transition(self._observation())


class _Watch(Observer):
    """An agent between whose calls and page and model the rules are checked.

    Args:
        agent: the agent.
        situation: what the agent is played with, for the message of a failure.
        fails: an error to raise in place of the page or the model.
    """

    def __init__(self, agent: Agent, situation: str, fails: Failure | None) -> None:
        self.name = agent.name
        self._fails = fails
        self._uses = Counter[str]()
        self.broken: str | None = None
        """The rule that was broken, also if the agent caught the failure."""
        self.raised: MiniwobError | None = None
        """The error of page or model, once it was raised."""
        self._situation = situation
        self._agent = agent
        self._answer: Completion | None = None
        self._refused = 0
        self._last: Transition | None = None
        self._ended = False

    def on_event(self, event: Event) -> None:
        if isinstance(event, Called):
            self._answer = event.completion

    @property
    def circumstances(self) -> str:
        """The situation, if it has a name, and the model's last reply."""
        reply = "The model had not been asked yet."
        if (answer := self._answer) is not None:
            said = map(repr, [answer.text, *map(str, answer.tool_calls)])
            reply = f"The model's last reply was {shorten(' '.join(said))}"
        return f"Played with {self._situation}. {reply}" if self._situation else reply

    def solve(
        self, env: Environment, llm: LLM, note: Callable[[Note], None]
    ) -> Awaitable[None] | None:
        self._env, self._llm, self._note = env, llm, note
        return self._agent.solve(self, self, self.note)

    def __getattr__(self, name: str) -> Any:
        # Calls by clients are not checked here, but the run counts and limits them.
        if name not in ("model", "client", "async_client", "base_url"):
            raise AttributeError(name)
        return getattr(self._llm, name)

    def reset(self, *, full: bool = False) -> Observation:
        __tracebackhide__ = True
        solved = self._last is not None and self._last.solved
        self._need(not solved, "began another trial of a page that it had solved: return instead")
        observation: Observation = self._use("reset", self._env.reset, full=full)
        self._last, self._ended = Transition(observation), False
        return observation

    def step(self, action: Action) -> Transition:
        __tracebackhide__ = True
        self._need_page(f"acted ({action})")
        assert self._last is not None
        self._need(
            not self._last.done,
            f"acted ({action}) on a page that had judged: a trial is over where the transition is "
            "`done`, and env.reset() begins another",
        )
        self._need(not self._ended, f"acted ({action}) in a trial that it had noted as ended")
        fault = _fault(action)
        self._need(not fault, f"took the action {action!r}, which {fault}")
        self._last = self._use("step", self._env.step, action)
        return self._last

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Transition:
        __tracebackhide__ = True
        self._need_page(f"called the tool {name!r:.100}")
        self._need(not self._ended, f"called {name!r:.100} in a trial that it had noted as ended")
        self._last = self._use("step", self._env.call, name, arguments)
        return self._last

    def html(self) -> str:
        __tracebackhide__ = True
        self._need_page("read the page")
        html: str = self._use("html", self._env.html)
        return html

    def complete(self, prompt: str, purpose: str) -> Completion:
        __tracebackhide__ = True
        self._need_page(f"asked the model (for {purpose!r})")
        self._need_text("prompt", prompt)
        self._need_text("purpose", purpose)
        completion: Completion = self._use("complete", self._llm.complete, prompt, purpose)
        return completion

    def chat(self, messages: Sequence[Any], purpose: str, **given: Any) -> Completion:
        __tracebackhide__ = True
        self._need_page(f"asked the model (for {purpose!r})")
        self._need_text("purpose", purpose)
        self._need(messages, "asked the model with a conversation that has no messages")
        completion: Completion = self._use("complete", self._llm.chat, messages, purpose, **given)
        return completion

    def note(self, note: Note) -> None:
        __tracebackhide__ = True
        known = isinstance(note, Note)
        self._need(known, f"noted {note!r}, which is not a Note of pytest_miniwob_agent")
        try:
            json.dumps(to_data(note))
        except (TypeError, ValueError) as error:
            self._need(False, f"noted {note!r}, which can't be written as JSON: {error}")
        if isinstance(note, TrialEnded) and self._last is not None and not self._ended:
            self._ended = True
            known = isinstance(note.ending, Ending)
            self._need(known, f"noted {note.ending!r} as the ending of a trial: not an Ending")
            seen = None
            if self._last.done:
                seen = Ending.CORRECT if self._last.solved else Ending.FAILED
            judged = note.ending in (Ending.CORRECT, Ending.FAILED)
            verdict = f"judged that it was {seen}" if seen else "had not judged"
            self._need(
                note.ending == seen or not (judged or seen),
                f"noted that a trial ended {note.ending}, when the page {verdict}",
            )
        self._note(note)

    def _need_page(self, what: str) -> None:
        __tracebackhide__ = True
        there = self._last is not None
        self._need(there, f"{what} before there was a page: env.reset() begins each trial")

    def _need_text(self, what: str, text: object) -> None:
        __tracebackhide__ = True
        given = isinstance(text, str) and bool(text.strip())
        self._need(given, f"made a model call whose {what} is blank or not a text: {text!r}")

    def _use(self, what: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Make a call of the agent, or raise the error that is due."""
        __tracebackhide__ = True
        self._need(
            self.raised is None,
            f"continued ({what}) after {type(self.raised).__name__}: let the errors of page and "
            "model pass, they are for the run",
        )
        self._uses[what] += 1
        try:
            if self._fails is not None and self._fails[:2] == (what, self._uses[what] - 1):
                raise self._fails.error
            return call(*args, **options)
        except MiniwobError as error:
            self.raised = error
            raise
        except LimitReached as limit:
            self._refused += 1
            self._need(
                self._refused <= PATIENCE,
                f"continued after {self._refused} exceptions at a limit ({limit}): let "
                "LimitReached pass, or catch StepLimit and begin another trial",
            )
            raise

    def _need(self, kept: object, broken: str) -> None:
        """Fail the test unless a rule was kept; `broken` says what the agent did."""
        __tracebackhide__ = True
        if not kept:
            self.broken = f"it {broken}\n{self.circumstances}"
            pytest.fail(self.broken)


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


def play(
    agent: Agent,
    page: ContractPage,
    model: HTTPModel,
    limits: Limits = EPISODE,
    situation: str = "",
    fails: Failure | None = None,
) -> Episode:
    """Play an episode; a broken rule, or an exception of the agent, fails the test.

    An error that page or model raise must pass through.

    Args:
        agent: the agent.
        page: the page.
        model: the model.
        limits: the limits of the episode.
        situation: what is played with, for the message of a failure.
        fails: an error to raise in place of the page or the model.
    """
    __tracebackhide__ = True
    watch = _Watch(agent, situation, fails)
    case = Case("contract", "other", 0)
    try:
        episode = run_episode(case, watch, page, model, limits, model="scripted", observers=[watch])
    except Exception as error:
        error.add_note(watch.circumstances)
        raise
    if watch.broken is None and watch.raised is not None:
        caught = type(watch.raised).__name__
        pytest.fail(f"it caught {caught}, which is for the run: let it pass\n{watch.circumstances}")
    if watch.broken is not None:
        pytest.fail(watch.broken)
    if not episode.trials:
        pytest.fail("solve() returned without a trial: env.reset() begins each")
    json.dumps(episode.to_data())
    episode.explain()
    return episode
