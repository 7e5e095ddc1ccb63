"""The tasks, your own pages, and whether pages are deterministic.

`miniwob-agent tasks` lists them with facts about each, `new-task` makes a page of your own, `open`
shows one in a window, and `certify` compares what pages show from run to run.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.cli.arguments import (
    OF_APPS,
    add_browser,
    add_format,
    add_pages,
    add_pytest_args,
    add_selectors,
    make_catalogue,
    on_apps,
    read_selectors,
)
from pytest_miniwob_agent.cli.episodes import check_display
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserLost, PageError, UsageError
from pytest_miniwob_agent.core.files import (
    display_path,
    shown_from_here,
    write_atomically,
)
from pytest_miniwob_agent.core.text import (
    fitting_table,
    listed,
    sanitize_line,
    sanitize_lines,
)
from pytest_miniwob_agent.tasks.catalogue import (
    DATA,
    SUITES,
    Catalogue,
    TaskPage,
    pages_in,
    task_fact,
    task_facts,
)
from pytest_miniwob_agent.tasks.selectors import select_tasks

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage


COLUMNS = ("task", "category", "RCI", "WebWISE", "actions", "certified")


def add_tasks(parser: ArgumentParser) -> None:
    parser.description = (
        "List tasks with their categories, the papers that used them, the actions that "
        "they need, and whether they are certified to be deterministic."
    )
    add_selectors(parser)
    add_format(parser, ["text", "markdown", "json"])
    parser.set_defaults(run=list_tasks)


def list_tasks(options: Namespace) -> int:
    catalogue = make_catalogue(options)
    selected = select_tasks(read_selectors(options, catalogue), catalogue)
    tasks = [_describe_task(task, category) for category, task in selected]
    if options.format == "json":
        print(json.dumps(tasks, indent=1))
        return 0
    if options.format == "markdown":
        _print_markdown(tasks)
        return 0
    rows = [COLUMNS]
    for task in tasks:
        shown = task | {"task": task["name"], "actions": ", ".join(task["actions"])}
        rows.append(tuple(shown[column.lower()] for column in COLUMNS))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**6
    print("\n".join(fitting_table(rows, width, numbers=False)))
    return 0


def _print_markdown(tasks: Sequence[dict[str, Any]]) -> None:
    groups: dict[tuple[str, ...], list[str]] = {}
    for task in tasks:
        remark = task["remark"]
        if task["certified"] != "yes":
            remark += f" (certified: {task['certified']})"
        key = (task["category"], ", ".join(task["actions"]), remark)
        groups.setdefault(key, []).append(f"`{task['name']}`")
    print("| category | actions | tasks | remark |\n| :-- | :-- | :-- | :-- |")
    for (category, actions, remark), names in sorted(groups.items()):
        print(f"| {category} | {actions} | {', '.join(names)} | {remark} |")


def _describe_task(task: str, category: str) -> dict[str, Any]:
    return {
        "name": task,
        "category": category,
        "suites": [name for name, includes in SUITES.items() if includes(task)],
        "rci": task_fact(task, "rci"),
        "webwise": task_fact(task, "webwise"),
        "actions": task_fact(task, "actions").split(),
        "certified": "yes" if task in task_facts() else "not tried",
        "remark": task_fact(task, "remark"),
    }


PAGES = "tests/pages"
"""The folder for a first page, unless the ini file names one."""

NEXT = """\
look at it:    miniwob-agent open {name} --pages {folder} --seed 3
check it:      miniwob-agent certify {name} --pages {folder}
use it:        @pytest.mark.miniwob("{name}")
               with miniwob_pages = {folder} in pytest.ini,
               or miniwob_pages = ["{folder}"] in pytest.toml or pyproject.toml
"""
"""What to do with a new page."""


def add_new_task(parser: ArgumentParser) -> None:
    parser.description = (
        "Write a page with a task that works, with comments that explain its parts. "
        "Nothing is overwritten."
    )
    parser.epilog = (
        "docs/your-own-pages.md describes the other form of pages, and sites of several."
    )
    parser.add_argument("name", metavar="NAME", help="the name of the task and of its file")
    parser.add_argument(
        "--pages",
        type=Path,
        metavar="DIR",
        help=f"the folder to write it into (default: miniwob_pages of the ini file, or {PAGES})",
    )
    parser.set_defaults(run=new_task)


def new_task(options: Namespace) -> int:
    """Write the page; a name that is not valid or taken is a `UsageError`."""
    from pytest_miniwob_agent.plugin.reading import read_ini_option

    pages: Path = options.pages or next(iter(read_ini_option("pages") or []), Path(PAGES))
    file = pages / f"{options.name}.html"
    if file.exists():
        raise UsageError(f"{display_path(file)} exists: choose another name")
    root = pages.resolve()
    has_pages = root.is_dir() and any(pages_in(root, root, root.name))
    Catalogue([root] if has_pages else []).add(TaskPage(options.name, root.name, file, root))
    folder = shown_from_here(file.parent)
    text = (DATA / "new-task.html").read_text(encoding="utf-8")
    write_atomically(file, text.replace("{name}", options.name).replace("{folder}", str(folder)))
    print(f"{shown_from_here(file)}: a page that works\n")
    print(NEXT.format(name=options.name, folder=folder), end="")
    return 0


TICK = 0.1
"""Seconds between two looks at the page and its files, by which the page's clock goes on."""


def add_open(parser: ArgumentParser) -> None:
    parser.description = (
        "Show a task in a window, for you to use. The terminal shows its goal, reward "
        "and missing files. A new trial begins when a file of its folder changes, or with Enter; n "
        "goes on to the next seed, q quits. An app is started by its test's fixture."
    )
    parser.epilog = (
        "Needs a display. The clock of the page runs here; for an agent it stands still."
    )
    parser.add_argument(
        "task", metavar="TASK", help="a task, SUITE/TASK, or a test on an app: FILE.py::NAME"
    )
    parser.add_argument(
        "--seed", type=int, default=1000, metavar="N", help="the first seed (default: %(default)s)"
    )
    add_pages(parser)
    add_browser(parser)
    add_pytest_args(parser, OF_APPS)
    parser.set_defaults(run=open_task)


def open_task(options: Namespace) -> int:
    from pytest_miniwob_agent.browser.own_page import open_page
    from pytest_miniwob_agent.browser.process import Browser

    tests = on_apps(options, options.task)
    check_display("open", "`miniwob-agent certify` needs none")
    if tests:
        return _open_app(options)
    catalogue = make_catalogue(options)
    if len(found := select_tasks([options.task], catalogue)) > 1:
        raise UsageError(
            f"{options.task!r} are {len(found)} tasks: name one, as {'/'.join(found[0])}"
        )
    page = catalogue.pages[found[0][1]]
    seed, keys = options.seed, _typed_lines()
    with closing(Browser(options.browser, headed=True)) as browser:
        try:
            while True:
                case = Case(page.task, page.category, seed)
                print(f"\n{case}", flush=True)
                root = page.root or page.file.parent
                key = _show(open_page(browser, case, page), root, keys)
                if key == "q":
                    return 0
                seed += key == "n"
        except BrowserLost as error:
            print(f"the window is gone: {sanitize_line(error)}", flush=True)
            return 0


def _typed_lines() -> SimpleQueue[str]:
    keys: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            keys.put(line.strip().lower())

    # A daemon, as nothing ends a read of the terminal.
    threading.Thread(target=read, daemon=True).start()
    return keys


def _open_app(options: Namespace) -> int:
    from pytest_miniwob_agent.plugin.inner import open_apps

    keys = _typed_lines()

    def show(case: Case, page: Any) -> str:
        key = ""
        while key not in ("n", "q"):
            print(f"\n{case}", flush=True)
            try:
                key = _show(page, None, keys)
            except BrowserLost as error:
                print(f"the window is gone: {sanitize_line(error)}", flush=True)
                key = "q"
        if key == "q":
            raise KeyboardInterrupt
        return ""

    browser = [f"--miniwob-browser={options.browser}"] if options.browser else []
    open_apps([options.task, *browser, *options.pytest_args], show)
    return 0


def _show(page: MiniwobPage, root: Path | None, keys: SimpleQueue[str]) -> str:
    """Show a trial, in which the page's author does what an agent would do.

    Return the key that ends it, empty if a file has changed.
    """
    files, before, broken, tick = _times(root), 0.0, False, 0
    while True:
        if not broken:
            try:
                if tick == 0:
                    print(f"goal: {sanitize_line(page.reset().goal)}")
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


def _times(root: Path | None) -> dict[str, int]:
    times: dict[str, int] = {}
    if root is None:
        return times
    for path in root.rglob("*"):
        with suppress(OSError):  # it has just been removed
            times[str(path.relative_to(root))] = path.stat().st_mtime_ns
    return times
