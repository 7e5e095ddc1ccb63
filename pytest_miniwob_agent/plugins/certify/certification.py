"""Certification of pages: equal actions lead to equal observations, whatever came before them."""

from __future__ import annotations

import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from difflib import unified_diff

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.own_page import UNANSWERED, OwnPage
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core import actions
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserError, PageError
from pytest_miniwob_agent.core.observations import Observation, Transition
from pytest_miniwob_agent.core.protocols import Page
from pytest_miniwob_agent.pictures import compare

STEPS, FURTHER_STEPS, POINT_STEPS = 12, 10, 10
"""Numbers of actions to try on a case: clicks, typing and keys, then others, and on a full screen
those at points and by the clock."""

KEYS = ("TAB", "ARROWDOWN", "ENTER", "SPACE")
"""Keys to press in turn, one after every third action."""

PAUSED = (1, 5)
"""The steps before which there is a pause in the last pass, as a model makes."""

PAUSE, OWN_PAUSE = 0.3, 1.5
"""Wall-clock seconds of a pause: on the package's pages, which do nothing meanwhile, and others."""

FIRST, SLOWLY = "first pass", "pauses between the actions"
"""The pass with which the others are compared, and the one that goes slowly."""

SLOW_BROWSERS = 3
"""Browsers, at most, that share the slow pass, which mostly waits."""


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What differs between two passes of a case, empty if all agree, and its page's remarks.

    A request of a script that nothing answers counts as a difference: an app is not all there.
    """

    case: Case
    observations: int
    difference: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A transition, the action that led to it, and with pixels a screenshot."""

    action: str
    transition: Transition
    screenshot: bytes = field(default=b"", compare=False, repr=False)

    def lines(self) -> list[str]:
        seen = self.transition
        head = f"after {self.action}: reward {seen.reward:g}, done {seen.done}, error {seen.error}"
        return [head, f"goal: {seen.observation.goal}", *map(str, seen.observation.elements)]


def explore(
    env: Page, *, pause: float = 0, screen: str = "compact", pixels: bool = False
) -> list[Seen]:
    """Try actions on a page, and return an observation for each.

    The first trial clicks elements, writes to fields and presses keys, each element once. Then, in
    a new trial, the other actions take turns on one element after the other. If the page ends
    the trial, the next one continues with the remaining actions.

    If the screen is full, the actions that go with it come last; with `pixels`, there is a
    screenshot of each screen. Before some actions `pause` wall-clock seconds pass; if that is not
    0, `OWN_PAUSE` on a page of your own.
    """
    seen: list[Seen] = []
    if pause and isinstance(env, OwnPage):
        pause = OWN_PAUSE

    def see(action: str, transition: Transition) -> None:
        look = pixels and not (transition.done or transition.observation.dialog)
        screenshot = env.look().png if look else b""  # type: ignore[attr-defined]
        seen.append(Seen(action, transition, screenshot))

    def play(steps: int, choose: Callable[[Observation, int], actions.Action | None]) -> None:
        observation = env.reset(screen=screen)
        see("loading", Transition(observation))
        for step in range(steps):
            if step in PAUSED:
                time.sleep(pause)
            action = actions.Accept() if observation.dialog else choose(observation, step)
            if action is None:
                break
            transition = env.step(action)
            observation = transition.observation
            see(str(action), transition)
            if transition.done:
                observation = env.reset(screen=screen)
                see("loading again", Transition(observation))

    used: set[tuple[str, str, int | None]] = set()
    play(STEPS, lambda observation, step: _next(observation, step, used))
    play(FURTHER_STEPS, _further)
    if screen == "full":
        play(POINT_STEPS, _points_and_times)
    return seen


def _next(
    observation: Observation, step: int, used: set[tuple[str, str, int | None]]
) -> actions.Action | None:
    """A key after every third action, else a click or typing on the next unused element."""
    if step % 4 == 3:
        return actions.Press(KEYS[step // 4 % len(KEYS)])
    for element in observation.elements:
        key = element.tag, element.text, element.id
        if element.id is not None and key not in used:
            used.add(key)
            if isinstance(element.value, str) and element.tag != "select":
                return actions.Enter("a1 B", element.id)
            return actions.Click(element.id)
    return None


def _further(observation: Observation, step: int) -> actions.Action | None:
    ids = [element.id for element in observation.elements if element.id is not None]
    if not ids:
        return None
    id_, next_id = ids[step % len(ids)], ids[(step + 1) % len(ids)]
    turns: tuple[actions.Action, ...] = (
        actions.Hover(id_),
        actions.Drag(id_, next_id),
        actions.Select(id_),
        actions.Copy(),
        actions.Click(id_, (2, 2)),
        actions.Paste(),
        actions.Scroll(id_, 50),
        actions.Drag(id_, end=(20, 15)),
        actions.DoubleClick(id_),
        actions.Hover(id_, (1, 1)),
    )
    return turns[step % len(turns)]


def _points_and_times(observation: Observation, step: int) -> actions.Action | None:
    ids = [element.id for element in observation.elements if element.id is not None]
    x, y = 20 + 40 * step % 120, 60 + 30 * step % 120
    turns: tuple[actions.Action, ...] = (
        actions.Wait(0.35),
        actions.HoverAt((x, y)),
        actions.DragFrom(((x, y), (x + 20, y + 10), (x, y + 20))),
        actions.ClickAt((x, y)),
        actions.Follow(ids[step % len(ids)], 0.5) if ids else actions.Wait(0.5),
    )
    return turns[step % len(turns)]


def certify(
    cases: Sequence[Case],
    open_page: Callable[[Browser, Case], MiniwobPage],
    start_browser: Callable[[], Browser],
    others: Mapping[str, Callable[[], Browser]],
    progress: Callable[[str], None] = lambda text: None,
    *,
    pause: float = PAUSE,
    screen: str = "compact",
    pixels: bool = False,
    start_elsewhere: Callable[[], Browser] | None = None,
) -> list[CaseVerdict]:
    """Explore every case in several passes and compare their observations with those of the first.

    The second goes in the opposite order, one in each other browser, and the last makes pauses.

    Args:
        cases: the cases to certify.
        open_page: makes the page of a case in a browser.
        start_browser: makes the browser of a pass, which is closed after it.
        others: makes other browsers to compare with, by the names that differences give them.
        progress: called with a line of text after each case of each pass, in any thread.
        pause: wall-clock seconds of a pause in the last pass, on pages of the package.
        screen: the screens to compare, as `Page.reset` takes them.
        pixels: compare screenshots, too.
        start_elsewhere: makes the browser of the second pass, as on another machine.
    """
    parts = [cases[number::SLOW_BROWSERS] for number in range(SLOW_BROWSERS)]
    passes = [
        (FIRST, start_browser, cases),
        ("another browser and order", start_elsewhere or start_browser, cases[::-1]),
        *((name, start, cases) for name, start in others.items()),
        *((SLOWLY, start_browser, part) for part in parts if part),
    ]
    seen: dict[str, dict[Case, list[Seen]]] = {name: {} for name, *_ in passes}
    errors: dict[Case, str] = {}
    remarks: dict[Case, dict[str, None]] = defaultdict(dict)
    count, total = itertools.count(1), sum(len(order) for *_, order in passes)

    def play(name: str, browser: Browser, case: Case) -> None:
        page = open_page(browser, case)
        paused = pause if name == SLOWLY else 0
        try:
            seen[name][case] = explore(page, pause=paused, screen=screen, pixels=pixels)
        except (BrowserError, PageError) as error:
            errors.setdefault(case, str(error))
        remarks[case].update(dict.fromkeys(page.remarks()))
        progress(f"{next(count)} of {total}: {case}, {name}")

    _play_together(passes, play)

    def verdict(case: Case) -> CaseVerdict:
        known = tuple(remarks[case])
        if case in errors:
            return CaseVerdict(case, 0, errors[case], known)
        played = {name: found[case] for name, found in seen.items()}
        unanswered = "\n".join(text for text in known if text.startswith(UNANSWERED))
        return CaseVerdict(case, len(played[FIRST]), _difference(played) or unanswered, known)

    return [verdict(case) for case in cases]


def _play_together(
    passes: Sequence[tuple[str, Callable[[], Browser], Sequence[Case]]],
    play: Callable[[str, Browser, Case], None],
) -> None:
    """Play all cases of all passes, each pass in a thread; an error ends all."""
    over = threading.Event()

    def play_all(name: str, start: Callable[[], Browser], order: Sequence[Case]) -> None:
        with closing(start()) as browser:
            for case in order:
                if over.is_set():
                    break
                play(name, browser, case)

    with ThreadPoolExecutor(len(passes)) as pool:
        try:
            for future in as_completed([pool.submit(play_all, *one) for one in passes]):
                future.result()
        finally:
            over.set()


def _difference(passes: Mapping[str, list[Seen]]) -> str:
    """The first difference of later passes from the first one; empty if all agree."""
    (_, first), *others = passes.items()
    for name, seen in others:
        for before, after in zip(first, seen, strict=False):
            if before != after:
                diff = unified_diff(before.lines(), after.lines(), FIRST, name, n=0, lineterm="")
                return "\n".join([f"after {before.action}:", *diff])
            if before.screenshot != after.screenshot:
                compared = compare(before.screenshot, after.screenshot)
                if compared is None or not compared.tolerated:
                    what = compared or "its size differs"
                    return f"the screenshot after {before.action} ({name}): {what}"
        if len(seen) != len(first):
            return f"the passes differ in length ({name})"
    return ""
