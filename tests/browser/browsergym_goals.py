"""Prints the goals of BrowserGym's own environment, in an environment of Python that has it.

    python tests/browsergym_goals.py FOLDER_OF_PAGES BROWSER < PROBLEMS > GOALS

Problems are lines of a task and BrowserGym's seed; goals are JSON, one per line, in their order.
"""

import contextlib
import json
import sys
from functools import partialmethod
from pathlib import Path

from browsergym.core.env import BrowserEnv
from browsergym.miniwob import ALL_MINIWOB_TASKS
from playwright.sync_api import BrowserType


def main():
    pages, browser = sys.argv[1:]
    # Also for the chat window, which BrowserGym opens beside its page.
    BrowserType.launch = partialmethod(BrowserType.launch, executable_path=browser)
    tasks = {task.subdomain: task for task in ALL_MINIWOB_TASKS}
    for line in sys.stdin.read().splitlines():
        task, seed = line.split()
        settings = {"base_url": Path(pages).as_uri() + "/"}
        with contextlib.closing(BrowserEnv(tasks[task], settings)) as env:
            observation, _ = env.reset(seed=int(seed))
            print(json.dumps(observation["goal"]), flush=True)


if __name__ == "__main__":
    main()
