"""How a replay compares to a bare selenium loop, and where its time goes.

    python benchmarks/replay.py [-k EXPRESSION] [--rounds N]

Replays the shipped suite in this process and takes the time that is spent in the browser, in the
model's client with its cassette, in the agent and in pytest. Then a bare loop loads the same pages,
sends the same inputs at the same places and reads the page as often, with no waiting: once in
Chromium as selenium starts it, with pages from disk, as a user would write it; and once in our
browser, with its switches and its server of pages. The three alternate for some rounds; starting a
browser counts for none. Figures are medians over the rounds; compare ratios, not milliseconds,
between machines. `ratio` is that to the first loop.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys

from pytest_miniwob_agent import episode
from pytest_miniwob_agent.browser.local import find_browser, find_driver
from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.browser.server import page_url
from pytest_miniwob_agent.browser.watchdog import Watchdog
from pytest_miniwob_agent.cassettes.recording import RecordedModel
from pytest_miniwob_agent.core.actions import KEYS, Action, Click, Enter, Hold, Press, Release
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.tasks.catalogue import page_path

ROOT = Path(__file__).parent.parent

KEY_CODES = {name: getattr(Keys, re.sub("^(PAGE|ARROW)", r"\1_", name)) for name in KEYS}
KEY_CODES |= {"CTRL": Keys.CONTROL, "SHIFT": Keys.SHIFT, "ALT": Keys.ALT}
"""WebDriver's characters for keys, by their names."""


@dataclass
class Page:
    """One load of a page and the inputs that it got: actions with the point that was clicked."""

    case: Case
    inputs: list[tuple[Action, list[int] | None]] = field(default_factory=list)


@dataclass
class Times:
    """Seconds by part, and by item, of one round."""

    parts: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    items: dict[str, float] = field(default_factory=dict)
    pages: list[Page] = field(default_factory=list)


class Watch:
    """Takes the time of methods while the suite is replayed."""

    def __init__(self) -> None:
        self.times = Times()
        self._running: list[str] = []
        for owner, name, part in (
            (Browser, "_start", "start of Chromium"),
            (MiniwobPage, "reset", "browser"),
            (MiniwobPage, "step", "browser"),
            (RecordedModel, "__init__", "model and cassette"),
            (RecordedModel, "post", "model and cassette"),
        ):
            setattr(owner, name, self._timed(getattr(owner, name), part))
        episode.run_episode = self._timed(episode.run_episode, "agent")
        self._watch_inputs()

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            self._running.append(part)
            try:
                return function(*args, **kwargs)
            finally:
                self._running.pop()
                took = time.perf_counter() - begin
                self.times.parts[part] += took
                if self._running:  # what is inside another part counts for itself only
                    self.times.parts[self._running[-1]] -= took

        return timed

    def _watch_inputs(self) -> None:
        reset, step = MiniwobPage.reset, MiniwobPage.step

        def watched_reset(env: Any, **settings: Any) -> Any:
            self.times.pages.append(Page(env._case))
            return reset(env, **settings)

        def watched_step(env: Any, action: Action) -> Any:
            point = env._points.get(getattr(action, "element", None))
            self.times.pages[-1].inputs.append((action, point))
            return step(env, action)

        MiniwobPage.reset = watched_reset  # type: ignore[assignment]
        MiniwobPage.step = watched_step  # type: ignore[assignment]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        before = dict(self.times.parts)
        begin = time.perf_counter()
        result = yield
        took = time.perf_counter() - begin
        inside = sum(self.times.parts.values()) - sum(before.values())
        start = self.times.parts["start of Chromium"] - before.get("start of Chromium", 0)
        self.times.items[item.name.partition("[")[2][:-1]] = took - start
        self.times.parts["pytest"] += took - inside
        return result

    def replay(self, expression: str) -> Times:
        self.times = Times()
        output = io.StringIO()
        rewriting = "-Wignore::pytest.PytestAssertRewriteWarning"  # imported above already
        arguments = [
            "-q",
            rewriting,
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            "-k",
            expression,
        ]
        with contextlib.redirect_stdout(output):
            status = pytest.main([str(ROOT / "tests/test_suite.py"), *arguments], plugins=[self])
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            sys.exit(output.getvalue())
        return self.times


def plain_options() -> webdriver.ChromeOptions:
    """Options of your own script: a whole Chromium, and what it needs to start here."""
    options = webdriver.ChromeOptions()
    options.binary_location = find_browser(headed=True)
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=800,720"):
        options.add_argument(switch)
    return options


def file_url(task: str) -> str:
    """The address of a task's page on disk, for a browser without a server of pages."""
    return page_path(task).as_uri()


def bare(
    options: webdriver.ChromeOptions, find_url: Callable[[str], str], pages: list[Page]
) -> float:
    """Seconds that the pages and inputs take by selenium alone, in a browser of its own."""
    watchdog = Watchdog()  # Debian's headless shell is a script; quitting would end it alone
    service = webdriver.ChromeService(
        find_driver(options.binary_location), popen_kw={"process_group": watchdog.group}
    )
    driver = webdriver.Chrome(options, service)
    try:
        return loop(driver, find_url, pages)
    finally:
        driver.quit()
        watchdog.end()


def loop(driver: webdriver.Chrome, find_url: Callable[[str], str], pages: list[Page]) -> float:
    begin = time.perf_counter()
    for page in pages:
        driver.get(find_url(page.case.task))
        driver.execute_script(
            "Math.seedrandom(arguments[0]); core.startEpisodeReal()", page.case.seed
        )
        read(driver)
        for action, point in page.inputs:
            chain = ActionChains(driver, duration=0)
            if isinstance(action, Click | Enter):
                x, y = point or (80, 105)
                chain.w3c_actions.pointer_action.move_to_location(x, y)
                chain.w3c_actions.key_action.pause()
                chain.click()
            match action:
                case Enter(text):
                    chain.send_keys(text)
                case Press(key, times):
                    chain.send_keys(KEY_CODES[key] * times)
                case Hold(key):
                    chain.key_down(KEY_CODES[key])
                case Release(key):
                    chain.key_up(KEY_CODES[key])
            chain.perform()
            read(driver)
        ActionChains(driver, duration=0).key_up(Keys.CONTROL).perform()
    return time.perf_counter() - begin


def read(driver: webdriver.Chrome) -> Any:
    return driver.execute_script(
        "return [core.getUtterance(), WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL, core.getDOMInfo()]"
    )


def report(rounds: list[Times], bares: list[float], equals: list[float]) -> None:
    first = rounds[0]
    items, pages = len(first.items), len(first.pages)
    actions = sum(len(page.inputs) for page in first.pages)
    ours = statistics.median(sum(round_.items.values()) for round_ in rounds)
    plain, equal = statistics.median(bares), statistics.median(equals)
    print(f"ratio {ours / plain:.2f}    {ours / equal:.2f} to the same loop in our browser")
    print(f"{items} items, {pages} page loads, {actions} actions; {len(rounds)} rounds")
    print(f"  replay           {ours:7.2f} s  {1000 * ours / items:6.0f} ms an item")
    for part in ("browser", "model and cassette", "agent", "pytest"):
        seconds = statistics.median(round_.parts[part] for round_ in rounds)
        print(f"    {part:<26}{seconds:7.2f} s  {100 * seconds / ours:5.1f} %")
    for name, seconds in (("bare selenium", plain), ("in our browser", equal)):
        print(f"  {name:<16} {seconds:7.2f} s  {1000 * seconds / items:6.0f} ms an item")
    loads = defaultdict(list)
    for page in first.pages:
        loads[page.case.id].append(len(page.inputs))
    single = {case: counts[0] for case, counts in loads.items() if len(counts) == 1}
    if len(set(single.values())) > 1:
        costs = [statistics.median(round_.items[case] for round_ in rounds) for case in single]
        per_action, fixed = statistics.linear_regression(list(single.values()), costs)
        print(
            f"  an item of one trial: {1000 * fixed:.0f} ms + {1000 * per_action:.0f} ms an action"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", metavar="EXPRESSION", help="items, as pytest's -k")
    parser.add_argument("--rounds", type=int, default=5, help="how often (default: 5)")
    options = parser.parse_args()
    watch = Watch()
    watch.replay(options.k)  # imports and file caches
    rounds, bares, equals = [], [], []
    with closing(Browser()) as browser:
        for _ in range(options.rounds):
            rounds.append(watch.replay(options.k))
            bares.append(bare(plain_options(), file_url, rounds[-1].pages))
            equals.append(bare(browser.options(), page_url, rounds[-1].pages))
    report(rounds, bares, equals)


if __name__ == "__main__":
    main()
