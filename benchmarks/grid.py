"""How replays on a Selenium Grid compare to replays in browsers of this machine.

    python benchmarks/grid.py --remote http://127.0.0.1:4444 [--suite FILE] [-k EXPRESSION] [-n N]

First the costs of one browser here and of one session there: the time of a round trip, and of a
fresh start and a click with the number of round trips in them. Then the suite is replayed here and
on the Grid, with as many workers, and all items are compared event by event. `ratio` is the time on
the Grid to the time here. Exits with 1 if an item differs. docs/grid.md says how to start a Grid.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from selenium.webdriver.remote.remote_connection import RemoteConnection

from pytest_miniwob_agent.browser.devtools import DevTools
from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.plugins.grid.address import read_grid
from pytest_miniwob_agent.plugins.grid.launcher import GridLauncher

ROOT = Path(__file__).parent.parent


class Counted:
    """Counts the round trips to a browser: requests of selenium, and commands sent at once."""

    def __init__(self) -> None:
        self.trips = 0
        for owner, name in ((RemoteConnection, "execute"), (DevTools, "send")):
            setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            self.trips += 1
            return function(*args)

        return counted

    def cost(self, function: Callable[[], Any], times: int) -> tuple[float, float]:
        """Milliseconds, as a median, and round trips of a call."""
        before, took = self.trips, []
        for _ in range(times):
            begin = time.perf_counter()
            function()
            took.append(1000 * (time.perf_counter() - begin))
        return statistics.median(took), (self.trips - before) / times


def costs(browser: Browser, counted: Counted) -> dict[str, tuple[float, float]]:
    """The costs of a browser, which is started first."""
    with closing(browser):
        env = MiniwobPage(browser, Case("click-menu-2", "other", 1))
        begin = time.perf_counter()
        before = counted.trips
        _ = browser.driver
        started = 1000 * (time.perf_counter() - begin), float(counted.trips - before)
        env.reset()
        return {
            "a session": started,
            "a round trip": counted.cost(lambda: browser.call("Math.abs", 1), 200),
            "a fresh start": counted.cost(env.reset, 30),
            "a click": counted.cost(lambda: env.step(Click(1)), 30),
        }


def replay(suite: str, expression: str, workers: int, *args: str) -> tuple[float, dict[str, Any]]:
    """Seconds of a replay in a process of its own, and the outcome of each item."""
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder, "events.json")
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider",
            "-p", "support.plugins.events", "--noconftest", "-n", str(workers), "-k", expression,
            "-o", "miniwob_baseline=", suite, *args,
        ]  # fmt: skip
        begin = time.perf_counter()
        result = subprocess.run(
            command,
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "tests"),
                "EVENTS": str(events),
                "SLEPT": os.devnull,
            },
            capture_output=True,
            text=True,
        )
        took = time.perf_counter() - begin
        if not events.exists():
            sys.exit(result.stdout + result.stderr)
        return took, json.loads(events.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--remote", required=True, metavar="URL", help="the Grid's address")
    parser.add_argument("--capabilities", default="{}", metavar="JSON", help="as for pytest")
    parser.add_argument(
        "--suite", default="tests/test_suite.py", metavar="FILE", help="(%(default)s)"
    )
    parser.add_argument("-k", default="", metavar="EXPRESSION", help="items, as pytest's -k")
    parser.add_argument("-n", type=int, default=2, metavar="N", help="workers (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="how often (%(default)s)")
    options = parser.parse_args()
    counted = Counted()
    grid = read_grid(options.remote, json.loads(options.capabilities), None)
    here = costs(Browser(), counted)
    there = costs(Browser(launcher=GridLauncher(grid)), counted)
    print(f"{'':<16}{'here':>10}{'on the Grid':>14}{'round trips':>14}")
    for name, (took, _) in here.items():
        remote, trips = there[name]
        print(f"{name:<16}{took:>7.1f} ms{remote:>11.1f} ms{trips:>14.0f}")
    remote_args = (
        f"--miniwob-remote={options.remote}",
        f"--miniwob-capabilities={options.capabilities}",
    )
    times: dict[str, list[float]] = {"here": [], "there": []}
    different: set[str] = set()
    for _ in range(options.rounds):
        took, expected = replay(options.suite, options.k, options.n)
        times["here"].append(took)
        took, found = replay(options.suite, options.k, options.n, *remote_args)
        times["there"].append(took)
        different |= {item for item in expected if expected[item] != found.get(item)}
    local, remote = (statistics.median(seconds) for seconds in times.values())
    print(
        f"ratio {remote / local:.2f}: {local:.1f} s here, {remote:.1f} s on the Grid, "
        f"{options.n} workers"
    )
    print(f"{len(expected) - len(different)} of {len(expected)} items have the same events")
    for item in sorted(different):
        print(f"  {item} differs")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
