"""`miniwob-agent open`: shows a page to its author, and begins again when it changes."""

from __future__ import annotations

import sys
import threading
from argparse import Namespace
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from pytest_miniwob_agent.cli.arguments import Commands, add_browser, add_pages, catalogue_of
from pytest_miniwob_agent.cli.play import check_display
from pytest_miniwob_agent.core.errors import BrowserLost, PageError, UsageError
from pytest_miniwob_agent.core.text import listed, nearest, sanitize_line, sanitize_lines

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.environment import MiniwobEnvironment
    from pytest_miniwob_agent.browser.process import Browser

TICK = 0.1
"""Seconds between two looks at the page and its files, by which the page's clock goes on."""


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "open",
        help="show a page in a window, with its goal and reward, while you change it",
        description="Show a task in the browser's window, to be used with mouse and keyboard; its "
        "goal, reward and missing files are in the terminal. A new trial begins when a file of its "
        "folder changes, and with Enter; n goes on to the next seed, q quits.",
        epilog="Needs a display. The clock of the page runs here; for an agent it stands still.",
    )
    parser.add_argument("task", metavar="TASK", help="the name of the task")
    parser.add_argument(
        "--seed", type=int, default=1000, metavar="N", help="the first seed (default: %(default)s)"
    )
    add_pages(parser)
    add_browser(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Show the page until its reader leaves it."""
    from pytest_miniwob_agent.browser.environment import open_environment
    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.core.case import Case

    check_display("open", "`miniwob-agent certify` needs none")
    catalogue = catalogue_of(options)
    if (page := catalogue.pages.get(options.task)) is None:
        hint = nearest(options.task, list(catalogue.pages))
        raise UsageError(f"no task is called {options.task!r}{hint}")
    seed: int = options.seed
    keys: SimpleQueue[str] = SimpleQueue()

    def read_keys() -> None:
        for line in sys.stdin:
            keys.put(line.strip().lower())

    threading.Thread(target=read_keys, daemon=True).start()
    with closing(Browser(options.browser, headed=True)) as browser:
        try:
            while True:
                case = Case(page.task, page.category, seed)
                print(f"\n{case}", flush=True)
                key = _show(
                    browser,
                    open_environment(browser, case, page),
                    page.root or page.file.parent,
                    keys,
                )
                if key == "q":
                    return 0
                seed += key == "n"
        except BrowserLost as error:
            print(f"the window is gone: {sanitize_line(error)}", flush=True)
            return 0


def _show(browser: Browser, page: MiniwobEnvironment, root: Path, keys: SimpleQueue[str]) -> str:
    """Show a trial, in which the page's author does what an agent would do.

    Return the key that ends it, empty if a file has changed.
    """
    files, before, broken, tick = _times(root), 0.0, False, 0
    while True:
        if not broken:
            try:
                if tick == 0:
                    print(f"goal: {sanitize_line(page.reset().goal)}")
                    browser.ignore_input(False)
                else:
                    reward, done = page.live(TICK)
                    if reward != before:
                        verdict = "solved" if reward >= 1 else "not solved"
                        verdict += "; Enter begins again" if done else ""
                        print(f"reward: {reward:g}, {verdict}")
                    before = reward
                for text in page.remarks():
                    print(f"page: {sanitize_line(text)}")
            except PageError as error:  # it can't be a task until it is changed
                print(sanitize_lines(str(error)))
                broken = True
            sys.stdout.flush()
        with suppress(Empty):
            return keys.get(timeout=TICK)
        tick += 1
        if (now := _times(root)) != files:
            changed = [name for name in files | now if files.get(name) != now.get(name)]
            print(f"changed: {listed(changed)}", flush=True)
            return ""


def _times(root: Path) -> dict[str, int]:
    """Return when each file of the page's folder was written."""
    times = {}
    for path in root.rglob("*"):
        with suppress(OSError):  # it has just been removed
            times[str(path.relative_to(root))] = path.stat().st_mtime_ns
    return times
