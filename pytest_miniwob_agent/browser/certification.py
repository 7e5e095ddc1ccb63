"""Certification of pages as deterministic: equal actions must lead to equal observations.

They must not depend on the browser, on the pages before it, or on pauses between the actions.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import partial
from types import MappingProxyType

from pytest_miniwob_agent.browser.environment import MiniwobEnvironment
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.actions import (
    Action,
    Click,
    ClickAt,
    Copy,
    DoubleClick,
    Drag,
    DragFrom,
    Enter,
    Follow,
    Hover,
    HoverAt,
    Paste,
    Press,
    Scroll,
    Select,
    Wait,
)
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import BrowserError, PageError
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.protocols import Page, Remarking, Visible
from pytest_miniwob_agent.pictures.difference import compare
from pytest_miniwob_agent.pictures.image import decoded, digest_of

STEPS = 12
"""Number of clicks, texts and keys to try on a case."""

FURTHER_STEPS = 10
"""Number of other actions to try on it after those."""

POINT_STEPS = 10
"""Number of actions at points and by the clock to try on a full screen after those."""

KEYS = ("TAB", "ARROWDOWN", "ENTER", "SPACE")
"""Keys to press in turn, one after every third action."""

PAUSE = 0.3
"""The longest pause between two actions in the last pass, in seconds."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for one case; `difference` is empty where all passes agree.

    `remarks` are what the first pass showed that the page's author should know. With pixels,
    `pictures` is their number in a pass, `most` the greatest difference of a colour channel between
    two passes, of 0 to 255, and `pixels` the number of pixels that differ in the picture with that
    difference. `digest` is that of the first pass's pictures.
    """

    case: Case
    observations: int
    difference: str = ""
    remarks: tuple[str, ...] = ()
    pictures: int = 0
    most: int = 0
    pixels: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation, and the action that led to it."""

    action: str
    observation: Observation
    reward: float
    done: bool
    error: str | None
    picture: bytes = field(default=b"", compare=False, repr=False)

    def lines(self) -> list[str]:
        """The observation as lines to compare."""
        head = f"after {self.action}: reward {self.reward:g}, done {self.done}, error {self.error}"
        return [head, f"goal: {self.observation.goal}", *map(str, self.observation.elements)]


def explore(
    env: Page,
    wait: Callable[[], None] = lambda: None,
    full: bool = False,
    pixels: bool = False,
) -> list[Seen]:
    """Try actions on a page; an observation for each.

    First elements are clicked, fields are written to and keys are pressed, an element once. Then,
    in a new trial, the other actions take turns on one element after the other. Where the page ends
    the trial, the next one continues with the remaining actions.

    Args:
        env: the page.
        wait: called before each action.
        full: True for screens of everything that shows, and the actions that go with them.
        pixels: True for a picture of each screen, where the page gives pictures.
    """
    used: set[tuple[str, str, int | None]] = set()
    camera = env if pixels and isinstance(env, Visible) else None
    play = partial(_play, env, wait, full, camera)
    return [
        *play(STEPS, lambda observation, step: _next(observation, step, used)),
        *play(FURTHER_STEPS, _further),
        *(play(POINT_STEPS, _points_and_times) if full else ()),
    ]


def _play(
    env: Page,
    wait: Callable[[], None],
    full: bool,
    camera: Visible | None,
    steps: int,
    choose: Callable[[Observation, int], Action | None],
) -> Iterator[Seen]:
    def picture() -> bytes:
        return camera.look().png if camera is not None else b""

    observation = env.reset(full=full)
    yield Seen("loading", observation, 0.0, False, None, picture())
    for step in range(steps):
        wait()
        action = choose(observation, step)
        if action is None:
            break
        transition = env.step(action)
        observation = transition.observation
        yield Seen(
            str(action),
            observation,
            transition.reward,
            transition.done,
            transition.error,
            b"" if transition.done else picture(),
        )
        if transition.done:
            observation = env.reset(full=full)
            yield Seen("loading again", observation, 0.0, False, None, picture())


def _next(
    observation: Observation, step: int, used: set[tuple[str, str, int | None]]
) -> Action | None:
    """A key after every third action, otherwise a click or a text for the next unused element."""
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


def _points_and_times(observation: Observation, step: int) -> Action | None:
    """The actions at points of the page and those by its clock, in turn, across the task's area."""
    ids = [element.id for element in observation.elements if element.id is not None]
    x, y = 20 + 40 * step % 120, 60 + 30 * step % 120
    turns: tuple[Action, ...] = (
        Wait(0.35),
        HoverAt((x, y)),
        DragFrom(((x, y), (x + 20, y + 10), (x, y + 20))),
        ClickAt((x, y)),
        Follow(ids[step % len(ids)], 0.5) if ids else Wait(0.5),
    )
    return turns[step % len(turns)]


def certify(
    cases: Sequence[Case],
    start_browser: Callable[[], Browser],
    progress: Callable[[str], None] = lambda text: None,
    *,
    others: Mapping[str, Callable[[], Browser]] = MappingProxyType({}),
    open_page: Callable[[Browser, Case], Page] = MiniwobEnvironment,
    pause: float = PAUSE,
    full: bool = False,
    pixels: bool = False,
) -> Iterator[Verdict]:
    """Explore every case in several passes and compare their observations with those of the first.

    The first pass goes in order, the second in another process of the browser and the opposite
    order, then one in each of the other browsers, the last in the first browser again with pauses.
    Verdicts come in the order of the cases, each after the last pass over its case.

    Args:
        cases: the cases to certify.
        start_browser: makes the browser of a pass, which is closed after it.
        progress: called with a line of text before each case of each pass.
        others: makes other browsers to compare with, each for one pass, by the names that
            differences give them.
        open_page: makes the page of a case in a browser.
        pause: the longest pause between two actions in the last pass, in seconds.
        full: True for screens of everything that shows.
        pixels: True to compare pictures of the screens, too.
    """
    passes = [
        ("first pass", start_browser, list(cases)),
        ("another browser and order", start_browser, list(reversed(cases))),
        *((name, start, list(cases)) for name, start in others.items()),
    ]
    total = len(passes) + 1
    seen: dict[str, dict[Case, list[Seen] | str]] = {}
    remarks: dict[Case, dict[str, None]] = {case: {} for case in cases}
    for number, (name, start, order) in enumerate(passes, start=1):
        with closing(start()) as browser:
            seen[name] = {}
            for done, case in enumerate(order, start=1):
                progress(f"pass {number} of {total}: {done} of {len(cases)}, {case}")
                page = open_page(browser, case)
                seen[name][case] = _explored(page, full, pixels)
                if isinstance(page, Remarking):
                    remarks[case].update(dict.fromkeys(page.remarks()))
    first = seen.pop("first pass")
    chance = random.Random(0)
    with closing(start_browser()) as browser:
        for done, case in enumerate(cases, start=1):
            progress(f"pass {total} of {total}: {done} of {len(cases)}, {case}")
            page = open_page(browser, case)
            last = _explored(page, full, pixels, lambda: time.sleep(chance.uniform(0, pause)))
            compared = {name: found[case] for name, found in seen.items()}
            compared["pauses between the actions"] = last
            differences = (_compare(first[case], found, name) for name, found in compared.items())
            difference = next(filter(None, differences), "")
            observations = 0 if isinstance(last, str) else len(last)
            verdict = Verdict(case, observations, difference, tuple(remarks[case]))
            yield _with_pixels(verdict, first[case], compared) if pixels else verdict


def _explored(
    page: Page, full: bool, pixels: bool, wait: Callable[[], None] = lambda: None
) -> list[Seen] | str:
    """The observations, or the error that prevented them."""
    try:
        return explore(page, wait, full, pixels)
    except (BrowserError, PageError) as error:
        return str(error)


def _compare(left: list[Seen] | str, right: list[Seen] | str, name: str) -> str:
    """The first difference between two passes as a diff, an error, or an empty text.

    `name` describes the second pass.
    """
    if isinstance(left, str) or isinstance(right, str):
        return left if isinstance(left, str) else str(right)
    for before, after in zip(left, right, strict=False):
        if before != after:
            diff = unified_diff(before.lines(), after.lines(), "first pass", name, n=0, lineterm="")
            return "\n".join(diff)
    return "" if len(left) == len(right) else f"the passes differ in length ({name})"


def _with_pixels(
    verdict: Verdict, first: list[Seen] | str, others: Mapping[str, list[Seen] | str]
) -> Verdict:
    """Add the comparison of pictures to a verdict; where it has none, its first difference."""
    if isinstance(first, str):
        return verdict
    pictures = [seen.picture for seen in first if seen.picture]
    digests = " ".join(digest_of(decoded(picture)) for picture in pictures)
    verdict = replace(verdict, pictures=len(pictures), digest=digest(digests))
    for name, found in others.items():
        pairs = zip(first, found, strict=False) if not isinstance(found, str) else ()
        for before, after in pairs:
            if before.picture == after.picture or not before.picture or not after.picture:
                continue
            compared = compare(before.picture, after.picture)
            what = "its size differs" if compared is None else str(compared)
            if compared is not None and compared.most > verdict.most:
                verdict = replace(verdict, most=compared.most, pixels=compared.pixels)
            if not verdict.difference and (compared is None or not compared.tolerated):
                text = f"the picture after {before.action} ({name}): {what}"
                verdict = replace(verdict, difference=text)
    return verdict
