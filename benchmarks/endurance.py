"""Whether a worker can go on for ever: memory over many episodes in one browser.

    python benchmarks/endurance.py [--episodes N]

Plays short episodes on the paper's tasks, one after the other, in one Chromium, and prints the
resident memory of Python, the driver and all of Chromium, and the open files of Python, as it goes.
Exit status 1 if anything is left open or running at the end, or if memory grew by more than
`BOUNDS` once a fifth of the episodes was over. Linux only: reads /proc.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from selenium import webdriver

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.plugins.certify.certification import explore
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES
from pytest_miniwob_agent.tasks.selectors import select_tasks

PAGE = os.sysconf("SC_PAGE_SIZE")

BOUNDS = {"Python": 10, "chromedriver": 10, "Chromium": 250}
"""MB by which each may grow; Chromium keeps for a while what it could let go of."""


def resident(pid: int) -> float:
    """Resident memory of a process, in MB; what it shares with others counts for each."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6


def group(pid: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def driver_pid(browser: Browser) -> int:
    """The process of the browser's driver, which is started if it does not run."""
    assert isinstance(browser.driver, webdriver.Chrome)
    pid: int = browser.driver.service.process.pid
    return pid


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def play(episodes: int) -> list[str]:
    """Play and print; what was wrong."""
    tasks = select_tasks(list(CATEGORIES))
    wrong = []
    files = open_files()
    warm: dict[str, float] = {}
    browser = Browser()
    print(f"episodes {''.join(f'{name:>14}' for name in BOUNDS)} (MB)  processes  open files")
    try:
        driver = driver_pid(browser)
        for count in range(episodes + 1):
            if count % (episodes // 10 or 1) == 0:
                others = [pid for pid in group(driver) if pid != driver]
                sizes = (resident(os.getpid()), resident(driver), sum(map(resident, others)))
                print(
                    f"{count:8} {''.join(f'{size:14.0f}' for size in sizes)}      "
                    f"{len(others):9} {open_files():11}",
                    flush=True,
                )
                if count >= episodes / 5:
                    for name, size in zip(BOUNDS, sizes, strict=True):
                        if size > warm.setdefault(name, size) + BOUNDS[name]:
                            wrong.append(f"{name} grew from {warm[name]:.0f} to {size:.0f} MB")
            category, task = tasks[count % len(tasks)]
            explore(MiniwobPage(browser, Case(task, category, count)))
            if driver_pid(browser) != driver:
                return [*wrong, f"the browser was lost at episode {count}"]
    finally:
        browser.close()
    if left := group(driver):
        wrong.append(f"processes that are left: {len(left)}")
    if open_files() > files:
        wrong.append(f"open files that are left: {open_files() - files}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=2000, help="how many (default: 2000)")
    wrong = play(parser.parse_args().episodes)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
