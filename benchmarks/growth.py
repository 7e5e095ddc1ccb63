"""How the cost of a replay grows: with items, with actions, with workers.

    python benchmarks/growth.py [--rounds N]

Items and workers: pytest replays the shipped suite, or its first items, from start to end, with the
collection and the start of every Chromium. Actions: trials of ever more clicks on one page. All
alternate for some rounds; figures are medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case

ROOT = Path(__file__).parent.parent
WORKERS = (0, 1, 2, 3, 4)
ITEMS = (1, 17, 35, 69)
ACTIONS = (0, 10, 20, 40, 80)


def pytest(*args: str) -> str:
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            *args,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        sys.exit(result.stdout + result.stderr)
    return result.stdout


def replay(ids: list[str], workers: int) -> float:
    """Seconds from start to end."""
    begin = time.perf_counter()
    pytest("-n", str(workers), *ids)
    return time.perf_counter() - begin


def trial(browser: Browser, actions: int) -> float:
    """Seconds that a trial with that many clicks takes, from the load of its page on."""
    begin = time.perf_counter()
    env = MiniwobPage(browser, Case("click-checkboxes-large", "1-screen-n-step", 1000))
    boxes = [box.id for box in env.reset().elements if box.tag == "input_checkbox"]
    for number in range(actions):
        box = boxes[number % len(boxes)]
        assert box is not None
        env.step(Click(box))
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often (default: 3)")
    options = parser.parse_args()
    listed = pytest("--collect-only", "tests/test_suite.py")
    ids = [line for line in listed.splitlines() if "::" in line]
    runs = [(count, 0) for count in ITEMS] + [(len(ids), workers) for workers in WORKERS[1:]]
    replays, trials = defaultdict(list), defaultdict(list)
    browser = Browser()
    try:
        trial(browser, 1)  # starts it
        for number in range(1, options.rounds + 1):
            for count, workers in runs:
                print(f"round {number}: {count} items, -n {workers}  ", end="\r", flush=True)
                replays[count, workers].append(replay(ids[:count], workers))
            for count in ACTIONS:
                trials[count].append(trial(browser, count))
    finally:
        browser.close()
    print(f"{os.cpu_count()} cores; {options.rounds} rounds{'':20}")
    print("  items  workers  seconds  ms an item")
    for (count, workers), times in replays.items():
        took = statistics.median(times)
        print(f"{count:7}{workers:9}{took:9.1f}{1000 * took / count:12.0f}")
    print("  actions  ms a trial  ms an action")
    for count, times in trials.items():
        took = statistics.median(times)
        more = (took - statistics.median(trials[0])) / count if count else 0
        print(f"{count:9}{1000 * took:12.0f}{1000 * more:14.1f}")


if __name__ == "__main__":
    main()
