"""The contract of agents, as a class of tests that pytest collects.

Each test plays many episodes (`play`), which differ in pages, replies and limits; a failure names
its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count, cycle, zip_longest
from pathlib import Path

import pytest

from pytest_miniwob_agent.core.actions import KEYS, MODIFIERS, Action, Press, element_ids
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Ending,
    Episode,
    Event,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.core.protocols import Agent, Observer
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.testing.fakes import (
    HOSTILE,
    PAGES,
    PROGRAMS,
    ScriptedLLM,
    VisibleFakePage,
    hostile_answers,
)

Reply = str | Completion
"""A string, or a completion with tool calls."""

Replies = Sequence[Reply] | Callable[[str, str], Reply]
"""Replies to give in turn, over and over, or a function of prompt and purpose."""

TURNS: Mapping[str, Collection[int]] = {
    "every call": (0, 1),
    "every second call": (1,),
}
"""The calls that a hostile reply answers, by number modulo 2; good replies answer the others."""

EPISODE = Limits(trials=2, steps=3, calls=12)
"""The limits of an episode of the contract."""

FEW_CALLS = Limits(trials=2, steps=3, calls=4)
"""Limits for answers of up to a hundred tool calls, which conversations keep."""

LIMITS = (Limits(trials=1), Limits(steps=1), Limits(calls=1), Limits(3, 2, 5))
"""Limits that are used up."""

BUTTONS = (Element(1, "button", "ONE", x=20, y=20), Element(2, "button", "TWO", x=80, y=20))


class ContractPage(VisibleFakePage):
    """A page that shows another screen after each action, and judges `after` some.

    Any action will do, as agents differ in theirs, except one that names a missing element. Without
    a `reward` the page never judges.
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
        """Show the next screen, or judge; a `TypeError` if no page can carry out the action."""
        if not isinstance(action, Action):
            raise TypeError(f"{action!r} is not an action of pytest_miniwob_agent")
        if not all(type(id_) is int for id_ in element_ids(action)):
            raise TypeError(f"the action {action!r} has a wrong element")
        keys = KEYS if isinstance(action, Press) else MODIFIERS
        if getattr(action, "key", keys[0]) not in keys:
            raise TypeError(f"the action {action!r} presses none of {', '.join(keys)}")
        transition = super().step(action)
        if transition.error:
            return transition
        taken = int(self._screen) + 1
        if self._reward is not None and taken == self._after:
            self._done = True
            return Transition(Observation(self.goal), self._reward, done=True)
        self._screen = str(taken % self._after)
        return Transition(self._observation())


class _LastAnswer(Observer):
    """The model's last answer; as a string, in words."""

    answer: Completion | None = None

    def on_event(self, event: Event) -> None:
        if isinstance(event, Called):
            self.answer = event.completion

    def __str__(self) -> str:
        if self.answer is None:
            return "The model had not been asked yet."
        parts = map(repr, [self.answer.text, *map(str, self.answer.tool_calls)])
        return f"The model's last reply was {shorten(' '.join(parts))}"


def play(
    agent: Agent,
    page: ContractPage,
    model: ScriptedLLM,
    limits: Limits = EPISODE,
    situation: str = "good replies",
) -> Episode:
    """Play an episode; a broken rule, or an exception of the agent, fails the test.

    The run itself refuses actions before the first trial and after the page has judged. `situation`
    is what the message of a failure says it was played with.
    """
    __tracebackhide__ = True
    last, case = _LastAnswer(), Case("contract", "other", 0)
    try:
        episode = run_episode(
            case, agent, page, model, limits, model="scripted", observers=[last], raising=True
        )
        json.dumps(episode.to_data())
    except Exception as error:
        error.add_note(f"Played with {situation}. {last}")
        raise
    if broken := next(_broken_rules(episode), None):
        pytest.fail(f"{broken}\nPlayed with {situation}. {last}")
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
                if not messages and not prompt.strip():
                    yield f"it made a model call without a prompt: {prompt!r}"
            case Acted(action=action, transition=transition):
                if ended:
                    yield f"it acted ({action}) in a trial that it had noted as ended"
                last = transition
            case TrialEnded(ending=ending) if last is not None:
                ended = True
                judged = ending in (Ending.CORRECT, Ending.FAILED)
                seen = Ending.CORRECT if last.solved else Ending.FAILED if last.done else None
                if ending != seen and (judged or seen):
                    verdict = f"judged that it was {seen}" if seen else "had not judged"
                    yield f"it noted that a trial ended {ending}, when the page {verdict}"
    if not episode.trials:
        yield "solve() returned without a trial: env.reset() begins each"


class AgentContract:
    """Tests that every agent must pass; `agent_contract` makes a class of them for one agent."""

    make: Callable[[], Agent]
    replies: Replies

    def test_it_is_an_agent(self) -> None:
        """It has a name and a method `solve`."""
        agent = self.make()
        if not isinstance(agent, Agent):
            pytest.fail(f"{agent!r} lacks a `name` or a method solve(env, llm, note)")

    def test_its_name_can_be_a_folder(self) -> None:
        """Its cassettes go into a folder of that name, so it is always the same."""
        name = self.make().name
        if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
            pytest.fail(f"its name is {name!r}: use letters, digits, - . and _ only")
        if (again := self.make().name) != name:
            pytest.fail(f"it is called {name!r} and then {again!r}")

    def test_its_good_replies_make_it_act(self) -> None:
        """Other tests need an agent that acts, or they would test little."""
        if not self.play().steps:
            pytest.fail(
                "it took no action in the whole episode: give agent_contract replies that the "
                "agent can act on, as in agent_contract(MyAgent, replies=['click id=1'])"
            )

    def test_a_trial_is_over_when_the_page_has_judged(self) -> None:
        """It acts no more then, and tries again only if the page is not solved."""
        for reward in (-1.0, 0.0, 0.5, 1.0):
            for after in (1, 2):
                situation = f"a page that judges after {after} actions with reward {reward:g}"
                self.play(situation, ContractPage(reward, after))

    def test_it_accepts_that_a_limit_is_reached(self) -> None:
        """A limit may be reached at any action or call."""
        for limits in LIMITS:
            for reward in (None, -1.0):
                self.play(f"the limits {limits}", ContractPage(reward), limits=limits)

    def test_equal_replies_give_equal_episodes(self) -> None:
        """It uses neither chance nor clock, or its cassettes could not be replayed."""
        self._play_twice("two new instances of it played differently", self.make)

    def test_it_keeps_nothing_from_one_episode_to_the_next(self) -> None:
        """An episode does not depend on those before it."""
        agent = self.make()
        self._play_twice("it played differently after it had played before", lambda: agent)

    def test_no_page_breaks_it(self) -> None:
        """Text and elements of any kind may be on it."""
        for name, (goal, elements) in PAGES.items():
            for reward in (None, -1.0):
                self.play(f"a page with {name}", ContractPage(reward, 2, goal, elements))

    def test_no_reply_breaks_it(self) -> None:
        """Each hostile reply at every call, and mixed with good ones."""
        for name, reply in HOSTILE.items():
            for (calls, turns), reward in zip(TURNS.items(), (None, -1.0), strict=True):
                situation = f"the reply {name!r} to {calls}, on {_page(reward)}"
                self.play(situation, ContractPage(reward), self.model(reply, turns))

    def test_no_tool_call_breaks_it(self) -> None:
        """Hostile tool calls at every call, and mixed with good ones; strings have no calls."""
        called = (event for event in self.play().events if isinstance(event, Called))
        good = next((call.completion for call in called if call.completion.tool_calls), None)
        for name, answer in hostile_answers(good).items() if good else ():
            for (calls, turns), reward in zip(TURNS.items(), (-1.0, None), strict=True):
                situation = f"{name} in the answer to {calls}, on {_page(reward)}"
                model = self.model(answer, turns)
                self.play(situation, ContractPage(reward), model, FEW_CALLS)

    def test_it_runs_no_code_of_a_reply(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A program in a reply never reaches the machine."""
        monkeypatch.chdir(tmp_path)
        for name, program in PROGRAMS.items():
            for reply in (program, f"```python\n{program}\n```"):
                self.play(f"a program with {name}", model=self.model(reply, (0, 1)))
            if list(tmp_path.iterdir()):
                pytest.fail(f"a program in a reply was run, and made a file:\n{program}")

    def play(
        self,
        situation: str = "good replies",
        page: ContractPage | None = None,
        model: ScriptedLLM | None = None,
        limits: Limits = EPISODE,
    ) -> Episode:
        """Call `play`, by default with a page that never judges and good replies."""
        __tracebackhide__ = True
        return play(self.make(), page or ContractPage(), model or self.model(), limits, situation)

    def model(self, hostile: Reply = "", turns: Collection[int] = ()) -> ScriptedLLM:
        """Make a model that gives good replies, and a hostile one at the calls of `turns`."""
        good = ScriptedLLM(self.replies if callable(self.replies) else cycle(self.replies))
        calls = count()

        def reply(prompt: str, purpose: str) -> Reply:
            return hostile if next(calls) % 2 in turns else good.complete(prompt, purpose)

        return ScriptedLLM(reply)

    def _play_twice(self, message: str, make: Callable[[], Agent]) -> None:
        __tracebackhide__ = True
        for reward, name in ((None, ""), (-1.0, ""), (1.0, ""), (-1.0, "a suggestion")):
            situation = f"{name or 'good replies'}, on {_page(reward)}"
            models = [self.model(HOSTILE.get(name, ""), (1,) if name else ()) for _ in range(2)]
            played = [
                play(make(), ContractPage(reward), model, situation=situation).events
                for model in models
            ]
            for number, events in enumerate(zip_longest(*played), start=1):
                before, after = map(repr, events)
                if before != after:  # shown from shortly before the difference
                    pairs = zip(before, after, strict=False)
                    begin = max(0, next((i for i, (a, b) in enumerate(pairs) if a != b), 0) - 60)
                    shown = slice(begin, begin + 200)
                    pytest.fail(
                        f"{message} ({situation}): event {number} was\n  {before[shown]}\n"
                        f"and then\n  {after[shown]}"
                    )


def _page(reward: float | None) -> str:
    if reward is None:
        return "a page that never judges"
    return f"a page that judges with reward {reward:g}"


def agent_contract(
    make: Callable[[], Agent], replies: Replies = ("click id=1",)
) -> type[AgentContract]:
    """Make a class of tests that an agent must pass; a test module names it `TestMyAgent` or so.

    Args:
        make: the agent's class, or a function that makes a new agent.
        replies: likely answers of a model to the agent, on a page with a button ONE of id 1 and a
            button TWO of id 2, so that it acts: strings, or completions with tool calls, that are
            given in turn, over and over, or a function of prompt and purpose. Hostile replies are
            made of pieces of these too.
    """
    good = staticmethod(replies) if callable(replies) else tuple(replies)
    return type("Contract", (AgentContract,), {"make": staticmethod(make), "replies": good})
