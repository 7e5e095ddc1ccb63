"""How replaying our items compares to other environments for the same pages.

    python benchmarks/environments.py [-k EXPRESSION] [--rounds N]

Replays items of the shipped suite, whole, with agent and cassette. Then other environments play the
same tasks at the same seeds, with the same inputs at the same places, and without an agent:

- Our own Gymnasium environment (`pytest_miniwob_agent.gymnasium`), with screenshots and without;
  starting its browsers does not count.
- `miniwob`'s own Gymnasium environment, screenshots off. It keeps its page from one problem to the
  next; `refresh_freq=1` has it load the page anew, as we do. Starting its browsers does not count,
  nor does the first load of each page.
- BrowserGym's environment, where it is installed: as it comes, and with its pauses off (`slow_mo`
  and the sleep before each observation). It starts two browsers for each problem, which count:
  `pip install -e '.[benchmarks]'`. No browser of playwright's is needed, it is given ours.

All alternate for some rounds; figures are medians. Items that hold a key are left out, as the
others have no such action.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import shutil
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import partialmethod
from itertools import groupby
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import gymnasium
from miniwob.action import ActionSpaceConfig, ActionTypes
from miniwob.environment import MiniWoBEnvironment
from replay import Page, Watch
from selenium.common.exceptions import WebDriverException

import pytest_miniwob_agent.gymnasium  # noqa: F401 - registers the environments
from pytest_miniwob_agent.browser.input import NAMED
from pytest_miniwob_agent.browser.local import find_browser
from pytest_miniwob_agent.browser.process import VIEWPORT
from pytest_miniwob_agent.core.actions import Click, Enter, Hold, Press, Release
from pytest_miniwob_agent.tasks.catalogue import page_path

NOWHERE = (80, 105)
"""Where others click for an element that we would scroll to first."""

KEYS = {
    name: name.replace("ARROW", "Arrow_").replace("PAGE", "Page_").title().replace("_", "")
    for name in NAMED
}
"""Our names of keys to those that browsers give them."""


def miniwob(pages: list[Page], refresh: int) -> float:
    """Seconds that `miniwob`'s environment takes; `refresh=1` loads each page anew."""
    os.environ["MINIWOB_CHROME_BINARY"] = find_browser()
    os.environ["MINIWOB_CHROMEDRIVER"] = shutil.which("chromedriver") or "chromedriver"
    config = ActionSpaceConfig(
        action_types=[ActionTypes.CLICK_COORDS, ActionTypes.TYPE_TEXT, ActionTypes.PRESS_KEY],
        allowed_keys=[f"<{key}>" for key in KEYS.values()],
    )
    seconds = 0.0
    for task, loads in groupby(
        sorted(pages, key=lambda page: page.case.task), lambda p: p.case.task
    ):
        with closing(
            MiniWoBEnvironment(task, action_space_config=config, refresh_freq=refresh)
        ) as env:
            begin = time.perf_counter()
            for page in loads:
                env.reset(page.case.seed, {"record_screenshots": False})
                play(env, miniwob_actions(page))
            seconds += time.perf_counter() - begin
            # Debian's headless shell is a script; quitting would end it alone.
            browser: Any = env.unwrapped
            with suppress(WebDriverException):  # the browser is gone before it answers
                browser.instance.driver.execute_cdp_cmd("Browser.close", {})
    return seconds


def ours(pages: list[Page], screenshot: bool) -> float:
    """Seconds that our Gymnasium environment takes."""
    seconds = 0.0
    by_task = sorted(pages, key=lambda page: page.case.task)
    for task, problems in groupby(by_task, lambda page: page.case.task):
        with closing(
            gymnasium.make(f"miniwob-agent/{task}-v0", screenshot=screenshot).unwrapped
        ) as env:
            env.reset(seed=0)
            begin = time.perf_counter()
            for page in problems:
                env.reset(seed=page.case.seed)
                texts = (line for text in browsergym_actions(page) for line in text.splitlines())
                play(env, texts)
            seconds += time.perf_counter() - begin
    return seconds


def play(env: Any, actions: Iterable[Any]) -> None:
    """Take actions in a Gymnasium environment until it is done."""
    for action in actions:
        _, _, done, _, _ = env.step(action)
        if done:
            break


def miniwob_actions(page: Page) -> Iterator[dict[str, Any]]:
    for action, point in page.inputs:
        if isinstance(action, Click | Enter):
            yield {"action_type": 0, "coords": point or NOWHERE}
        match action:
            case Enter(text):
                yield {"action_type": 1, "text": text}
            case Press(key, times):
                for _ in range(times):
                    yield {"action_type": 2, "key": list(KEYS).index(key)}


def browsergym(pages: list[Page], **settings: Any) -> float:
    """Seconds that BrowserGym's environment takes."""
    from browsergym.core.action.highlevel import HighLevelActionSet
    from browsergym.core.env import BrowserEnv
    from browsergym.miniwob import ALL_MINIWOB_TASKS

    use_our_browser()
    logging.getLogger("browsergym").setLevel(logging.ERROR)  # it warns of every other viewport
    actions = HighLevelActionSet(subsets=["coord"], multiaction=True)
    tasks = {task.subdomain: task for task in ALL_MINIWOB_TASKS}
    seconds = 0.0
    for page in pages:

        def task(seed: int, page: Page = page, **kwargs: Any) -> Any:
            made = tasks[page.case.task](seed, **kwargs)
            made.random = SimpleNamespace(randint=lambda low, high: seed)  # our seed, not one drawn
            return made

        with closing(
            BrowserEnv(
                task,
                {"base_url": page_path("").parent.as_uri() + "/"},
                viewport=dict(zip(("width", "height"), VIEWPORT, strict=True)),
                action_mapping=actions.to_python_code,
                **settings,
            )
        ) as env:
            begin = time.perf_counter()
            env.reset(seed=page.case.seed)
            play(env, browsergym_actions(page))
            seconds += time.perf_counter() - begin
    return seconds


def without_pauses(pages: list[Page]) -> float:
    with patch("time.sleep"):  # half a second before each observation
        return browsergym(pages, slow_mo=0)


def use_our_browser() -> None:
    """Have playwright start our browser, also for the chat window that BrowserGym opens beside its
    page; the environment's `pw_chromium_kwargs={"executable_path": ...}` is for the page alone.
    """
    from playwright.sync_api import BrowserType

    if not isinstance(vars(BrowserType)["launch"], partialmethod):
        launch = partialmethod(BrowserType.launch, executable_path=find_browser())
        BrowserType.launch = launch  # type: ignore[method-assign, assignment]


def browsergym_actions(page: Page) -> Iterator[str]:
    for action, point in page.inputs:
        x, y = point or NOWHERE
        match action:
            case Click():
                yield f"mouse_click({x}, {y})"
            case Enter(text):
                yield f"mouse_click({x}, {y})\nkeyboard_type({text!r})"
            case Press(key, times):
                yield "\n".join([f"keyboard_press({KEYS[key]!r})"] * times)


def others() -> dict[str, Callable[[list[Page]], float]]:
    found: dict[str, Callable[[list[Page]], float]] = {
        "our environment": lambda pages: ours(pages, True),
        "the same, no screenshots": lambda pages: ours(pages, False),
        "miniwob, page kept": lambda pages: miniwob(pages, 0),
        "miniwob, page loaded anew": lambda pages: miniwob(pages, 1),
    }
    if importlib.util.find_spec("browsergym") is None:
        print("BrowserGym is not installed and left out: pip install -e '.[benchmarks]'")
    else:
        found["BrowserGym, as it comes"] = browsergym
        found["BrowserGym, no pauses"] = without_pauses
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "-k",
        default="n-screen and 1000",
        metavar="EXPRESSION",
        help="items, as pytest's -k (default: '%(default)s')",
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often (default: 3)")
    options = parser.parse_args()
    watch, environments = Watch(), others()
    watch.replay(options.k)  # imports and file caches
    seconds = defaultdict(list)
    for number in range(1, options.rounds + 1):
        times = watch.replay(options.k)
        held = {
            page.case.id
            for page in times.pages
            for action, _ in page.inputs
            if isinstance(action, Hold | Release)
        }
        pages = [page for page in times.pages if page.case.id not in held]
        items = [took for case, took in times.items.items() if case not in held]
        seconds["ours"].append(sum(items))
        for name, play in environments.items():
            print(f"round {number} of {options.rounds}: {name}", end="\r", flush=True)
            seconds[name].append(play(pages))
        print(" " * 60, end="\r")
    actions = sum(len(page.inputs) for page in pages)
    print(f"{len(items)} items, {len(pages)} problems, {actions} actions; {options.rounds} rounds")
    for name, each in seconds.items():
        took = statistics.median(each)
        ratio = took / statistics.median(seconds["ours"])
        print(f"  {name:<26}{took:8.2f} s {1000 * took / len(items):7.0f} ms an item {ratio:7.2f}")


if __name__ == "__main__":
    main()
