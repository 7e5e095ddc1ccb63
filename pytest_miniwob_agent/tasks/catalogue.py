"""The tasks: those of the installed `miniwob` package, your own pages, and lists of problems."""

from __future__ import annotations

import csv
import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pytest_miniwob_agent.core.app import AppTask, app_hint
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.tasks.perturbations import Perturbation, shipped_kinds

CATEGORIES: dict[str, tuple[str, ...]] = {
    "1-screen-1-step": (
        "click-button", "click-dialog", "click-dialog-2", "click-link", "click-tab", "click-test",
        "click-test-2", "click-widget", "focus-text", "focus-text-2",
    ),
    "1-screen-n-step": (
        "click-button-sequence", "click-checkboxes", "click-checkboxes-large",
        "click-checkboxes-soft", "click-checkboxes-transfer", "click-collapsible", "click-option",
        "click-scroll-list", "enter-password", "enter-text", "enter-text-2", "enter-text-dynamic",
        "find-word", "login-user", "multi-layouts", "multi-orderings", "read-table",
        "read-table-2", "social-media-all", "social-media-some",
    ),
    "n-screen-n-step": (
        "click-collapsible-2", "click-menu-2", "click-pie", "click-tab-2", "click-tab-2-hard",
        "email-inbox", "email-inbox-forward-nl", "email-inbox-forward-nl-turk",
        "email-inbox-nl-turk", "navigate-tree", "search-engine", "social-media",
        "use-autocomplete",
    ),
}  # fmt: skip
"""The 43 tasks of the reflective agent's paper (tables 10 to 12), as `miniwob` names them."""

OTHER = "other"
"""The category of every other task of the installed `miniwob` package."""

DATA = Path(__file__).with_name("data")
"""The table of facts about tasks, and a first page of your own."""


def page_path(task: str) -> Path:
    """Return the HTML file of a task. A flight task has a folder, named after the dot."""
    if task.startswith("flight."):
        return pages_folder() / "flight" / task.removeprefix("flight.") / "wrapper.html"
    return pages_folder() / "miniwob" / f"{task}.html"


@cache
def pages_folder() -> Path:
    """Return the folder of the installed `miniwob` package that holds all pages."""
    spec = importlib.util.find_spec("miniwob")
    if spec is None or spec.origin is None:
        raise UsageError("the miniwob package is not installed: pip install miniwob")
    return Path(spec.origin).parent / "html"


@cache
def installed_tasks() -> dict[str, str]:
    """Return the category of every installed task, by the task's name."""
    category = {task: name for name, members in CATEGORIES.items() for task in members}
    names = [path.stem for path in pages_folder().glob("miniwob/*.html")]
    names += [f"flight.{path.parent.name}" for path in pages_folder().glob("flight/*/wrapper.html")]
    return {name: category.get(name, OTHER) for name in sorted(names)}


@cache
def task_facts() -> dict[str, Mapping[str, str]]:
    """Return the rows of `data/tasks.csv`, by task."""
    lines = (DATA / "tasks.csv").read_text(encoding="utf-8").splitlines()
    return {row["task"]: row for row in csv.DictReader(lines)}


def task_fact(task: str, column: str) -> str:
    """Return one field of `data/tasks.csv`; empty for a task that is not in it."""
    return task_facts().get(task, {}).get(column, "")


SUITES: dict[str, Callable[[str], object]] = {
    "paper": lambda task: installed_tasks().get(task, OTHER) != OTHER,
    "rci": lambda task: task_fact(task, "rci"),
    "webwise": lambda task: task_fact(task, "webwise"),
    "all": lambda task: True,
}
"""Suites by name, each with a function that is true for the names of its tasks. In order: the 43
tasks of the reflective agent's paper, those of the RCI paper, those of the WebWISE paper, and every
task, custom ones too. A line here adds a suite."""


PAGE_SUITES = Path(__file__).parents[1] / "suites"
"""Suites of pages that come with this package: a folder each, whose name selects its pages."""


@cache
def page_suites() -> list[str]:
    """Return the names of the suites of pages."""
    return sorted(path.name for path in PAGE_SUITES.iterdir() if path.is_dir())


INDEX = "index.html"
"""The first page of a site: a folder that has one is a single task, named after the folder."""

# Names of tasks and categories, which go into ids, globs and paths of cassettes.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_SCRIPT = re.compile(r"""<script[^>]+src\s*=\s*["']?([\w./-]+)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TaskPage:
    """A task's page: the file that is loaded first, and the folder that a custom page can reach.

    That of an `app` has the test's file.
    """

    task: str
    category: str
    file: Path
    root: Path | None = None
    app: AppTask | None = None
    perturbation: Perturbation | None = None

    def why_unfit(self, kind: Perturbation) -> str:
        """Return why a perturbation can't be that of this page; empty if it can.

        A page declares what it needs in its file or in a script beside it that it names.
        """
        if kind.needs == "requests" and self.root is None and self.app is None:
            return "the pages of the miniwob package make no requests"
        if kind.needs != "declaration":
            return ""
        if self.app is not None:
            known = kind.name in self.app.perturb
            return "" if known else f"AppTask {self.task!r} has no perturb={{{kind.name!r}: ...}}"
        if self.root is None:
            return "the pages of the miniwob package declare nothing for it"
        sources = [self.file.read_text("utf-8", "replace")]
        files = [
            self.root / path.lstrip("/") if path.startswith("/") else self.file.parent / path
            for path in _SCRIPT.findall(sources[0])
        ]
        sources += [file.read_text("utf-8", "replace") for file in files if file.is_file()]
        if any(_declares(source, kind.name) for source in sources):
            return ""
        return f"the page declares no task.perturb = {{{kind.name}: ...}}"


def _declares(text: str, kind: str) -> bool:
    _, *literals = re.split(r"\bperturb\s*[:=]\s*\{", text)
    for place, literal in enumerate(literals):
        count = 1
        while count:  # only the names of its first level are left
            literal, count = re.subn(r"\{[^{}]*\}", "", literal)
        literals[place] = literal.partition("}")[0]
    # The kinds may be assigned one by one, or spread from another object.
    if not literals or any("..." in literal for literal in literals):
        return re.search(rf"\bperturb\b.*\b{kind}\b", text, re.DOTALL) is not None
    return any(re.search(rf"\b{kind}\b[\"']?\s*(?:[:(,]|$)", literal) for literal in literals)


class Catalogue:
    """The tasks that can be selected: those of `miniwob`, and the pages of some folders.

    Raises:
        UsageError: a folder has no pages, or a page's name is not valid or taken.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.pages: dict[str, TaskPage] = {
            task: TaskPage(task, category, page_path(task))
            for task, category in installed_tasks().items()
        }
        """The page of each task, by the task's name; those of the package first."""
        for folder in dict.fromkeys(folder.resolve() for folder in folders):
            for page in find_pages(folder):
                self.add(page)

    @cached_property
    def perturbations(self) -> dict[str, Perturbation]:
        """The perturbations that can be named, by their names; a marker adds its own."""
        return dict(shipped_kinds())

    @property
    def own_tasks(self) -> list[str]:
        return [task for task, page in self.pages.items() if page.root or page.app]

    def perturb(self, task: str, pattern: str) -> Iterator[str]:
        """Add a task's page under a perturbation, or under those of a glob that fit it.

        Yields the names of the perturbed tasks.

        Raises:
            UsageError: there is no such perturbation, or the one that is named does not fit.
        """
        page, known = self.pages[task], self.perturbations
        names = [name for name in known if fnmatchcase(name, pattern)]
        if not names:
            hint = nearest(pattern, list(known)) + f"; there are {', '.join(known)}"
            raise UsageError(f"no perturbation is called {pattern!r}{hint}")
        for kind in map(known.__getitem__, names):
            why = page.why_unfit(kind)
            if why and kind.name == pattern:
                raise UsageError(f"{task} can't have the perturbation {pattern!r}: {why}")
            if not why:
                name = f"{task}~{kind.name}"
                self.pages[name] = replace(page, task=name, perturbation=kind)
                yield name

    def add_suite(self, selector: str) -> None:
        """Add the pages of the suite that a selector names, `SUITE` or `SUITE/TASK`.

        If your own pages have a category of that name, the selector is for these alone.

        Raises:
            UsageError: one of its pages is called like one of yours.
        """
        suite = selector.partition("/")[0]
        if suite in page_suites() and all(page.category != suite for page in self.pages.values()):
            for page in find_pages(PAGE_SUITES / suite):
                self.add(page)

    def add(self, page: TaskPage) -> None:
        """Add a custom page; a name that is not valid or taken is a `UsageError`."""
        shown = display_path(page.file)
        if (known := self.pages.get(page.task)) is not None:
            if page.app is not None and known.app is page.app:
                return
            whose = "" if known.root or known.app else " of the miniwob package"
            raise UsageError(
                f"{shown} and {display_path(known.file)}{whose} are both called {page.task!r}, and "
                "would share their cassettes: rename one of them"
            )
        where, other = str(shown), "rename the file or its folder"
        if page.app is not None:
            where, other = f"{shown}: an AppTask", "give it another name or category"
        for what, name in (("task", page.task), ("category", page.category)):
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"{where}: a task or a folder of tasks can't be called {name!r}; use ASCII "
                    "letters, digits, `-`, `_` and `.`, and begin with a letter or a digit"
                )
            if name in SUITES or name in CATEGORIES or name == OTHER:
                raise UsageError(
                    f"{where}: its {what} would be called {name!r}, which selects tasks of the "
                    f"miniwob package: {other}"
                )
        self.pages[page.task] = page


def find_pages(folder: Path) -> list[TaskPage]:
    """Return the custom pages of a folder, sorted by their paths (`pages_in`).

    Raises:
        UsageError: it is not a folder, or has no page.
    """
    shown = display_path(folder)
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder of pages {shown} (--miniwob-pages, miniwob_pages, pages= of a "
            f"marker, or --pages){app_hint(shown)}"
        )
    if found := list(pages_in(folder, folder, folder.resolve().name)):
        return found
    raise UsageError(
        f"the folder {shown} has no pages: a page is a file NAME.html, or a folder NAME with an "
        f"{INDEX}; `miniwob-agent new-task NAME --pages {shown}` writes one"
    )


def pages_in(folder: Path, root: Path, category: str) -> Iterator[TaskPage]:
    """Yield the custom pages of a folder in a root.

    A file `NAME.html` is the task NAME. A folder with an `index.html` is one task, whatever else is
    in it. Any other folder is a category of the pages in it. What begins with `.` or `_` is left
    out, as are links to folders.
    """
    if (folder / INDEX).is_file():
        yield TaskPage(folder.name, category, folder / INDEX, folder)
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir() and not path.is_symlink():
            inner = (path / INDEX).is_file()
            name = path.name if folder == root else f"{category}.{path.name}"
            yield from pages_in(path, root, category if inner else name)
        elif path.suffix == ".html" and path.is_file():
            yield TaskPage(path.stem, category, path, root)


class ProblemList(NamedTuple):
    """A CSV file of problems, and the limits that they come with, as the marker names them."""

    file: Path
    limits: Mapping[str, Any]

    def read(self) -> Counter[tuple[str, int]]:
        """Return the pairs of task and seed, with the number of times that each is in the file.

        Raises:
            UsageError: the file can't be read, or a line has no task and seed.
        """
        shown = display_path(self.file)
        try:
            # utf-8-sig, as spreadsheets begin a file with a byte order mark.
            rows = list(csv.DictReader(self.file.read_text("utf-8-sig").splitlines()))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the problems {shown} can't be read: {error}") from None
        found: Counter[tuple[str, int]] = Counter()
        for number, row in enumerate(rows, start=2):
            task, seed = (row.get("task") or "").strip(), (row.get("seed") or "").strip()
            if not task or not seed.isascii() or not seed.isdigit():
                raise UsageError(
                    f"{shown}:{number} has no task and seed: a list of problems is a CSV file with "
                    "the columns task and seed, such as click-tab-2,1000"
                )
            found[task, int(seed)] += 1
        if not found:
            raise UsageError(f"{shown} names no problems: give it the columns task and seed")
        return found


PROBLEM_LISTS = {
    "browsergym": ProblemList(DATA / "browsergym.csv", {"trials": 1, "steps": 10, "reward": "any"}),
}
"""Suites that are lists. `browsergym` is the schedule of its benchmark `miniwob`: 625 episodes of
590 problems on 125 tasks, with the seed that the page gets. A line here adds one."""
