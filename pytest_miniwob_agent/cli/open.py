"""`miniwob-agent open`: shows a page to its author, and begins again when it changes."""

from __future__ import annotations

import sys
import threading
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from pytest_miniwob_agent.cli.arguments import Commands, add_browser, add_pages, catalogue_of
from pytest_miniwob_agent.cli.display import check_display
from pytest_miniwob_agent.core.errors import BrowserLost, PageError, UsageError
from pytest_miniwob_agent.core.text import listed, sanitize_line, sanitize_lines

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.environment import MiniwobEnvironment

TICK = 0.1
"""Seconds between two looks at the page, by which its clock goes on."""

FILES_EVERY = 5
"""Ticks between two looks at the files."""


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "open",
        help="show a page in a window, with its goal and reward, while you change it",
        description="Show a task in the browser's window, to be used with mouse and keyboard. The "
        "terminal has its goal, its reward as it changes, and what the page asked for and did not "
        "get. A new trial begins when a file of its folder changes, and with Enter; n goes on to "
        "the next seed, q quits.",
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
    """Show the page until its reader leaves it.

    Raises:
        UsageError: there is no such task, or no display.
    """
    from pytest_miniwob_agent.browser.environment import open_environment
    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.core.case import Case
    from pytest_miniwob_agent.tasks.selectors import select_tasks

    check_display("open", "`miniwob-agent certify` needs none")
    catalogue = catalogue_of(options)
    (category, task), *others = select_tasks([options.task], catalogue)
    if others:
        names = [task, *(name for _, name in others)]
        raise UsageError(f"{options.task} is the name of several tasks: {listed(names)}")
    page = catalogue.pages[task]
    seed: int = options.seed
    keys = _keys()
    with closing(Browser(options.browser, headed=True)) as browser:
        try:
            while True:
                case = Case(task, category, seed)
                print(f"\n{case}", flush=True)
                trial = _Trial(open_environment(browser, case, page), page.root)
                browser.ignore_input(False)
                match trial.watch(keys):
                    case "q":
                        return 0
                    case "n":
                        seed += 1
        except BrowserLost as error:
            print(f"the window is gone: {sanitize_line(error)}", flush=True)
            return 0
        except KeyboardInterrupt:
            print()
            return 130


def _keys() -> SimpleQueue[str]:
    """Return a queue of the lines of standard input, as they come."""
    keys: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            keys.put(line.strip().lower())

    threading.Thread(target=read, name="miniwob-keys", daemon=True).start()
    return keys


class _Trial:
    """A trial of a page, in which its author does what an agent would do."""

    def __init__(self, page: MiniwobEnvironment, root: Path | None) -> None:
        self._page = page
        self._root = root
        self._files = self._times()
        self._reward = 0.0
        self._broken = self._failed(lambda: print(f"goal: {sanitize_line(page.reset().goal)}"))

    def watch(self, keys: SimpleQueue[str]) -> str:
        """Follow the trial; return the key that ends it, empty if a file has changed."""
        ticks = 0
        while True:
            with suppress(Empty):
                return keys.get(timeout=TICK)
            ticks += 1
            if ticks % FILES_EVERY == 0 and (changed := self._changed()):
                print(f"changed: {listed(changed)}", flush=True)
                return ""
            self._broken = self._broken or self._failed(self._look)

    def _look(self) -> None:
        reward, done = self._page.live(TICK)
        if reward != self._reward:
            verdict = "solved" if reward >= 1 else "not solved"
            print(f"reward: {reward:g}" + (f", {verdict}; Enter begins again" if done else ""))
        self._reward = reward

    def _failed(self, do: Callable[[], None]) -> bool:
        """Do something with the page, and print its remarks; return True if it can't be a task."""
        try:
            do()
        except PageError as error:
            print(sanitize_lines(str(error)), flush=True)
            return True
        for text in self._page.remarks():
            print(f"page: {sanitize_line(text)}")
        sys.stdout.flush()
        return False

    def _changed(self) -> list[str]:
        """Return the files of the page's folder that were written, added or removed."""
        before, now = self._files, self._times()
        return [name for name in before | now if before.get(name) != now.get(name)]

    def _times(self) -> dict[str, int]:
        """Return when each file of the page's folder was written; none without a folder."""
        times: dict[str, int] = {}
        if self._root is not None:
            for path in self._root.rglob("*"):
                with suppress(OSError):  # it has just been removed
                    times[str(path.relative_to(self._root))] = path.stat().st_mtime_ns
        return times
