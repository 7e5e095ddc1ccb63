"""What every agent must keep to, as a class of tests that pytest collects.

Most rules are watched while the agent plays (`play`), so that a broken one fails at the agent's own
line. The tests differ in what is played: pages, replies, limits and errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count, cycle, takewhile, zip_longest
from pathlib import Path

import pytest

from pytest_miniwob_agent.core.errors import (
    BrowserLost,
    BudgetReached,
    MiniwobError,
    ModelError,
    Pending,
)
from pytest_miniwob_agent.core.events import Episode
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.protocols import Agent
from pytest_miniwob_agent.testing.fakes import ScriptedLLM
from pytest_miniwob_agent.testing.hostile import HOSTILE, PAGES, PROGRAMS, generated
from pytest_miniwob_agent.testing.watch import Page, play

Replies = Sequence[str] | Callable[[str, str], str]
"""Replies in turn, over and over, or a function of prompt and purpose."""

GENERATED = range(30)
"""Seeds of the generated replies."""

TURNS = ((0, 1), (0,), (1,))
"""When a hostile reply is given: always, or at every even or odd call."""

ERRORS: Mapping[str, tuple[str, Callable[[], MiniwobError]]] = {
    "a page that does not load": ("reset", lambda: BrowserLost("the browser crashed")),
    "a page that is lost": ("step", lambda: BrowserLost("the browser crashed")),
    "a page that can't be read": ("html", lambda: BrowserLost("the browser crashed")),
    "a model that refuses": ("complete", lambda: ModelError("the server refused the call")),
    "a completion that is not there yet": ("complete", lambda: Pending({})),
    "a budget that is used up": ("complete", lambda: BudgetReached("no more calls")),
}
"""Errors that are none of the agent's, and what raises them."""

GAMES = [
    pytest.param(reward, "nothing", (), id=f"good replies, {reward}")
    for reward in (None, -1.0, 1.0)
] + [
    pytest.param(-1.0, name, turns, id=f"{name}, {at}")
    for name in ("a suggestion", "a refusal", "an impossible id")
    for at, turns in zip(("always", "even", "odd"), TURNS, strict=True)
]
"""Reward, hostile reply and its turns of episodes that are played more than once."""


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
        """Without this, much of what follows would be tested in vain."""
        if not play(self.make(), Page(), self.model()).steps:
            pytest.fail(
                "it took no action in the whole episode: tell agent_contract what a model might "
                "well answer it, as in agent_contract(MyAgent, replies=['click id=1'])"
            )

    @pytest.mark.parametrize("reward", [-1.0, 0.0, 0.5, 1.0])
    @pytest.mark.parametrize("after", [1, 2])
    def test_a_trial_is_over_when_the_page_has_judged(self, reward: float, after: int) -> None:
        """It acts no more then, and tries again only if the page is not solved."""
        play(self.make(), Page(reward, after), self.model())

    @pytest.mark.parametrize(
        "limits",
        [Limits(trials=1), Limits(steps=1), Limits(calls=1), Limits(3, 2, 5), Limits(9, 9, 9)],
        ids=["one trial", "one step", "one call", "few", "some"],
    )
    @pytest.mark.parametrize("reward", [None, -1.0], ids=["unjudged", "failed"])
    def test_it_takes_a_limit_for_an_answer(self, limits: Limits, reward: float | None) -> None:
        """It asks no more for what it was refused."""
        play(self.make(), Page(reward), self.model(), limits)

    @pytest.mark.parametrize("name", ERRORS)
    def test_errors_of_page_and_model_pass(self, name: str) -> None:
        """At whichever use of them they are raised."""
        what, make_error = ERRORS[name]
        for use in count():
            error = make_error()
            try:
                play(self.make(), Page(-1.0), self.model(), fails=(what, use, error))
            except type(error) as passed:
                if passed is not error:
                    raise
            else:
                return  # there is no such use any more

    @pytest.mark.parametrize(("reward", "name", "turns"), GAMES)
    def test_equal_replies_give_equal_episodes(
        self, reward: float | None, name: str, turns: Collection[int]
    ) -> None:
        """It plays by no chance and no clock, or its cassettes could not be replayed."""
        first, second = (
            play(self.make(), Page(reward), self.model(HOSTILE[name], turns)) for _ in range(2)
        )
        _compare(first, second, "two new instances of it played differently")

    @pytest.mark.parametrize(("reward", "name", "turns"), GAMES)
    def test_it_keeps_nothing_from_one_episode_to_the_next(
        self, reward: float | None, name: str, turns: Collection[int]
    ) -> None:
        """An episode does not depend on those before it."""
        agent = self.make()
        first, second = (
            play(agent, Page(reward), self.model(HOSTILE[name], turns)) for _ in range(2)
        )
        _compare(first, second, "it played differently after it had played before")

    @pytest.mark.parametrize("name", PAGES)
    def test_no_page_breaks_it(self, name: str) -> None:
        """Whatever is written on it."""
        goal, elements = PAGES[name]
        for reward in (None, -1.0):
            play(self.make(), Page(reward, 2, goal, elements), self.model())

    @pytest.mark.parametrize("name", HOSTILE)
    def test_no_reply_breaks_it(self, name: str) -> None:
        """Each as the only one, and in place of every second good one."""
        for reward in (None, -1.0):
            for turns in TURNS:
                play(self.make(), Page(reward), self.model(HOSTILE[name], turns))

    @pytest.mark.parametrize("seed", GENERATED)
    def test_no_generated_reply_breaks_it(self, seed: int) -> None:
        """Pieces of replies in any order, the same ones in every run."""
        good = () if callable(self.replies) else self.replies
        for reward in (None, -1.0):
            play(self.make(), Page(reward), ScriptedLLM(generated(seed, good)))

    @pytest.mark.parametrize("name", PROGRAMS)
    def test_it_runs_no_code_of_a_reply(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At least none that reaches the machine."""
        monkeypatch.chdir(tmp_path)
        program = PROGRAMS[name]
        for reply in (program, f"```python\n{program}\n```", f"```\n{program}\n```"):
            for turns in TURNS:
                play(self.make(), Page(), self.model(reply, turns))
        if list(tmp_path.iterdir()):
            pytest.fail(f"a program in a reply was run, and made a file:\n{program}")

    def model(self, hostile: str = "", turns: Collection[int] = ()) -> ScriptedLLM:
        """A model that gives good replies, and the hostile one at some `TURNS`."""
        good = ScriptedLLM(self.replies if callable(self.replies) else cycle(self.replies))
        calls = count()

        def reply(prompt: str, purpose: str) -> str:
            return hostile if next(calls) % 2 in turns else good.complete(prompt, purpose).text

        return ScriptedLLM(reply)


def _compare(first: Episode, second: Episode, message: str) -> None:
    """Fail with the first event that differs, from shortly before the difference."""
    __tracebackhide__ = True
    for number, events in enumerate(zip_longest(first.events, second.events), start=1):
        one, two = map(repr, events)
        if one != two:
            same = sum(
                1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False))
            )
            start = max(0, same - 60)
            pytest.fail(
                f"{message}: event {number} was\n  {one[start : start + 200]}\nand then\n"
                f"  {two[start : start + 200]}"
            )


def agent_contract(
    make: Callable[[], Agent], replies: Replies = ("click id=1",)
) -> type[AgentContract]:
    """A class of tests that the agent must pass; a test module names it `TestMyAgent` or the like.

    Args:
        make: the agent's class, or a function that makes a new one.
        replies: what a model might well answer the agent on a page with a button ONE of id 1 and a
            button TWO of id 2, so that it acts: texts that are given in turn, over and over, or a
            function of prompt and purpose. Hostile replies are made of pieces of the texts too.
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
