"""The contract of agents, as a class of tests that pytest collects.

Each test plays many episodes (`rules.play`), which differ in pages, replies and limits; a failure
names its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count, cycle, zip_longest
from pathlib import Path

import pytest

from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.events import Called, Completion, Episode
from pytest_miniwob_agent.core.protocols import Agent
from pytest_miniwob_agent.testing.fakes import ScriptedLLM
from pytest_miniwob_agent.testing.hostile import (
    HOSTILE,
    PAGES,
    PROGRAMS,
    hostile_answers,
)
from pytest_miniwob_agent.testing.rules import EPISODE, ContractPage, play

Reply = str | Completion
"""A text, or a completion with tool calls."""

Replies = Sequence[Reply] | Callable[[str, str], Reply]
"""Replies to give in turn, over and over, or a function of prompt and purpose."""

TURNS: Mapping[str, Collection[int]] = {
    "every call": (0, 1),
    "every second call, from the first": (0,),
    "every second call, from the second": (1,),
}
"""The calls that a hostile reply answers, by number modulo 2; good replies answer the others."""

LIMITS: Mapping[str, Limits] = {
    "one trial": Limits(trials=1),
    "one action per trial": Limits(steps=1),
    "one model call": Limits(calls=1),
    "few of each": Limits(3, 2, 5),
    "some of each": Limits(9, 9, 9),
}
"""Limits that are used up."""

FEW_CALLS = Limits(2, 4, 3)
"""Limits where an answer may have a thousand tool calls, which conversations keep."""


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
        if not self.play("").steps:
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
        for name, limits in LIMITS.items():
            for reward in (None, -1.0):
                self.play(
                    f"limits: {name}, on {_page(reward)}", ContractPage(reward), limits=limits
                )

    def test_equal_replies_give_equal_episodes(self) -> None:
        """It uses neither chance nor clock, or its cassettes could not be replayed."""
        self._play_twice("two new instances of it played differently", self.make)

    def test_it_keeps_nothing_from_one_episode_to_the_next(self) -> None:
        """An episode does not depend on those before it."""
        agent = self.make()
        self._play_twice("it played differently after it had played before", lambda: agent)

    def test_no_page_breaks_it(self) -> None:
        """Texts and elements of any kind may be on it."""
        for name, (goal, elements) in PAGES.items():
            for reward in (None, -1.0):
                self.play(f"a page with {name}", ContractPage(reward, 2, goal, elements))

    def test_no_reply_breaks_it(self) -> None:
        """Each hostile reply at every call, and mixed with good ones."""
        for name, reply in HOSTILE.items():
            for calls, turns in TURNS.items():
                for reward in (None, -1.0):
                    situation = f"the reply {name!r} to {calls}, on {_page(reward)}"
                    if not self.play(
                        situation, ContractPage(reward), self.model(reply, turns)
                    ).steps:
                        break  # a page on which it does not act pays no reward

    def test_no_tool_call_breaks_it(self) -> None:
        """Hostile tool calls at every call, and mixed with good ones; texts have none."""
        calls = (e for e in self.play("").events if isinstance(e, Called))
        good = next((call.completion for call in calls if call.completion.tool_calls), None)
        if good is None:
            return
        for name, answer in hostile_answers(good).items():
            for turns, reward in (
                ("every call", -1.0),
                ("every second call, from the first", None),
            ):
                situation = f"{name} in the answer to {turns}, on {_page(reward)}"
                model = self.model(answer, TURNS[turns])
                self.play(situation, ContractPage(reward), model, FEW_CALLS)

    def test_it_runs_no_code_of_a_reply(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A program in a reply never reaches the machine."""
        monkeypatch.chdir(tmp_path)
        for name, program in PROGRAMS.items():
            for reply in (program, f"```python\n{program}\n```", f"```\n{program}\n```"):
                for calls, turns in TURNS.items():
                    situation = f"a program with {name} as the reply to {calls}"
                    self.play(situation, model=self.model(reply, turns))
            if list(tmp_path.iterdir()):
                pytest.fail(f"a program in a reply was run, and made a file:\n{program}")

    def play(
        self,
        situation: str,
        page: ContractPage | None = None,
        model: ScriptedLLM | None = None,
        limits: Limits = EPISODE,
        agent: Agent | None = None,
    ) -> Episode:
        """Call `rules.play`, by default with a page that never judges and good replies."""
        __tracebackhide__ = True
        return play(
            agent or self.make(), page or ContractPage(), model or self.model(), limits, situation
        )

    def model(self, hostile: Reply = "", turns: Collection[int] = ()) -> ScriptedLLM:
        """Make a model that gives good replies, and a hostile one at the calls of `turns`."""
        good = ScriptedLLM(self.replies if callable(self.replies) else cycle(self.replies))
        calls = count()

        def reply(prompt: str, purpose: str) -> Reply:
            return hostile if next(calls) % 2 in turns else good.complete(prompt, purpose)

        return ScriptedLLM(reply)

    def _play_twice(self, message: str, make: Callable[[], Agent]) -> None:
        """Check that two episodes with equal pages and replies are equal."""
        __tracebackhide__ = True
        found: list[tuple[float | None, str, Collection[int]]]
        found = [(reward, "", ()) for reward in (None, -1.0, 1.0)]
        for name in ("a suggestion", "a refusal", "an impossible id"):
            found += [(-1.0, name, turns) for turns in TURNS.values()]
        for reward, name, turns in found:
            situation = f"{name or 'good replies'}, on {_page(reward)}"
            hostile = HOSTILE.get(name, "")
            first, second = (
                self.play(situation, ContractPage(reward), self.model(hostile, turns), agent=make())
                for _ in range(2)
            )
            _compare(first, second, f"{message} ({situation})")


def _page(reward: float | None) -> str:
    if reward is None:
        return "a page that never judges"
    return f"a page that judges with reward {reward:g}"


def _compare(first: Episode, second: Episode, message: str) -> None:
    """Fail with the first event that differs, from shortly before the difference."""
    __tracebackhide__ = True
    for number, events in enumerate(zip_longest(first.events, second.events), start=1):
        before, after = map(repr, events)
        if before != after:
            pairs = enumerate(zip(before, after, strict=False))
            different = next((at for at, pair in pairs if pair[0] != pair[1]), 0)
            begin = max(0, different - 60)
            shown = slice(begin, begin + 200)
            pytest.fail(
                f"{message}: event {number} was\n  {before[shown]}\nand then\n  {after[shown]}"
            )


def agent_contract(
    make: Callable[[], Agent], replies: Replies = ("click id=1",)
) -> type[AgentContract]:
    """Make a class of tests that an agent must pass; a test module names it `TestMyAgent` or so.

    Args:
        make: the agent's class, or a function that makes a new agent.
        replies: likely answers of a model to the agent, on a page with a button ONE of id 1 and a
            button TWO of id 2, so that it acts: texts, or completions with tool calls, that are
            given in turn, over and over, or a function of prompt and purpose. Hostile replies are
            made of pieces of these too.

    Raises:
        TypeError: `make` is an agent.
    """
    if not callable(make):
        raise TypeError(f"agent_contract() takes an agent's class, not {make!r}")
    return type(
        "Contract",
        (AgentContract,),
        {
            "make": staticmethod(make),
            "replies": staticmethod(replies) if callable(replies) else tuple(replies),
        },
    )
