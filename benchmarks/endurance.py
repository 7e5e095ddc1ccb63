"""Whether a worker can go on for ever: memory over many episodes in one browser.

    python benchmarks/endurance.py [--episodes N]

Plays short episodes on the paper's tasks, one after the other, in one Chromium, and prints the
resident memory of Python, the driver and all of Chromium, and the open files of Python, as it goes.
Linux only: reads /proc.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pytest_miniwob_agent import catalogue
from pytest_miniwob_agent.browser import Browser
from pytest_miniwob_agent.certify import explore
from pytest_miniwob_agent.core import Case

PAGE = os.sysconf("SC_PAGE_SIZE")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=2000, help="how many (default: 2000)")
    options = parser.parse_args()
    tasks = catalogue.select(catalogue.CATEGORIES)
    browser = Browser()
    print("episodes   Python  chromedriver  Chromium  (MB)   processes  open files")
    try:
        driver = browser.driver.service.process.pid
        for count in range(options.episodes + 1):
            if count % (options.episodes // 10 or 1) == 0:
                others = [pid for pid in group(driver) if pid != driver]
                print(
                    f"{count:8} {resident(os.getpid()):8.0f} {resident(driver):13.0f} "
                    f"{sum(map(resident, others)):9.0f} {'':7} {len(others):9} "
                    f"{len(os.listdir('/proc/self/fd')):11}",
                    flush=True,
                )
            category, task = tasks[count % len(tasks)]
            explore(browser.environment(Case(task, category, count)))
            if browser.driver.service.process.pid != driver:
                raise SystemExit(f"the browser was lost at episode {count}")
    finally:
        browser.close()
    left = group(driver)
    print(f"processes left: {len(left)}")


if __name__ == "__main__":
    main()
