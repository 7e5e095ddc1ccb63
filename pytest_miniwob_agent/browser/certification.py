"""Whether pages are deterministic: the same actions must lead to the same observations, whatever
browser they run in, whatever ran before them, and however long is waited in between.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from difflib import unified_diff

from pytest_miniwob_agent.browser.environment import Browser
from pytest_miniwob_agent.core.actions import (
    Action,
    Click,
    Copy,
    DoubleClick,
    Drag,
    Enter,
    Hover,
    Paste,
    Press,
    Scroll,
    Select,
)
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.protocols import Environment

STEPS = 12
"""Clicks, texts and keys that are tried on a case."""

FURTHER_STEPS = 10
"""Other actions that are tried on it after those."""

KEYS = ("TAB", "ARROWDOWN", "ENTER", "SPACE")
"""Keys that are pressed in turn, one after every third action."""

PAUSE = 0.3
"""The longest pause between two actions, in seconds, in the pass that takes its time."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the passes over one case showed; `difference` is empty where they agree."""

    case: Case
    observations: int
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation, and what led to it."""

    action: str
    observation: Observation
    reward: float
    done: bool
    error: str | None

    def lines(self) -> list[str]:
        """The observation as lines to compare."""
        head = f"after {self.action}: reward {self.reward:g}, done {self.done}, error {self.error}"
        return [head, f"goal: {self.observation.goal}", *map(str, self.observation.elements)]


def explore(env: Environment, wait: Callable[[], None] = lambda: None) -> list[Seen]:
    """Act on what is there to be acted upon; what was seen after each action.

    First elements are clicked, fields are written to and keys are pressed, an element once. Then,
    in a new trial, the other actions take turns on one element after the other. Where the page ends
    the trial, the next one goes on with what is left.
    """
    used: set[tuple[str, str, int | None]] = set()
    return [
        *_play(env, wait, STEPS, lambda observation, step: _next(observation, step, used)),
        *_play(env, wait, FURTHER_STEPS, _further),
    ]


def _play(
    env: Environment,
    wait: Callable[[], None],
    steps: int,
    choose: Callable[[Observation, int], Action | None],
) -> Iterator[Seen]:
    observation = env.reset()
    yield Seen("loading", observation, 0.0, False, None)
    for step in range(steps):
        wait()
        action = choose(observation, step)
        if action is None:
            break
        transition = env.step(action)
        observation = transition.observation
        yield Seen(str(action), observation, transition.reward, transition.done, transition.error)
        if transition.done:
            observation = env.reset()
            yield Seen("loading again", observation, 0.0, False, None)


def _next(
    observation: Observation, step: int, used: set[tuple[str, str, int | None]]
) -> Action | None:
    if step % 4 == 3:
        return Press(KEYS[step // 4 % len(KEYS)])
    for element in observation.elements:
        key = element.tag, element.text, element.id
        if element.id is not None and key not in used:
            used.add(key)
            if isinstance(element.value, str) and element.tag != "select":
                return Enter("a1 B", element.id)
            return Click(element.id)
    return None


def _further(observation: Observation, step: int) -> Action | None:
    """The actions besides clicks, text and keys, in turn, each on the next element."""
    ids = [element.id for element in observation.elements if element.id is not None]
    if not ids:
        return None
    id_, next_id = ids[step % len(ids)], ids[(step + 1) % len(ids)]
    turns: tuple[Action, ...] = (
        Hover(id_),
        Drag(id_, next_id),
        Select(id_),
        Copy(),
        Click(id_, (2, 2)),
        Paste(),
        Scroll(id_, 50),
        Drag(id_, end=(20, 15)),
        DoubleClick(id_),
        Hover(id_, (1, 1)),
    )
    return turns[step % len(turns)]


def certify(
    cases: Sequence[Case],
    browser: Callable[[], Browser],
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Verdict]:
    """Explore every case in three passes and compare: in order, in another browser and the
    opposite order, and in a third browser with pauses.

    Verdicts come in the order of the cases, each after the last pass over it. `progress` is told
    what is being done.
    """
    passes: list[dict[Case, list[Seen] | str]] = []
    for order in (cases, list(reversed(cases))):
        with closing(browser()) as one:
            seen = {}
            for number, case in enumerate(order, start=1):
                progress(f"pass {len(passes) + 1} of 3: {number} of {len(cases)}, {case}")
                seen[case] = _explored(one, case)
            passes.append(seen)
    first, second = passes
    chance = random.Random(0)
    with closing(browser()) as slow:
        for number, case in enumerate(cases, start=1):
            progress(f"pass 3 of 3: {number} of {len(cases)}, {case}")
            third = _explored(slow, case, lambda: time.sleep(chance.uniform(0, PAUSE)))
            difference = _compare(first[case], second[case], "another browser and order")
            difference = difference or _compare(first[case], third, "pauses between the actions")
            yield Verdict(case, 0 if isinstance(third, str) else len(third), difference)


def _explored(
    browser: Browser, case: Case, wait: Callable[[], None] = lambda: None
) -> list[Seen] | str:
    """What was seen, or why nothing was."""
    try:
        return explore(browser.environment(case), wait)
    except BrowserError as error:
        return str(error)


def _compare(one: list[Seen] | str, other: list[Seen] | str, how: str) -> str:
    """The first difference, in words; nothing if there is none."""
    if isinstance(one, str) or isinstance(other, str):
        return one if isinstance(one, str) else str(other)
    for left, right in zip(one, other, strict=False):
        if left != right:
            lines = unified_diff(left.lines(), right.lines(), "first pass", how, n=0, lineterm="")
            return "\n".join(lines)
    return "" if len(one) == len(other) else f"the passes differ in length ({how})"
