"""The pages of all tasks: those of the `miniwob` package, and custom pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.tasks.catalogue import (
    CATEGORIES,
    OTHER,
    SUITES,
    installed_tasks,
    page_path,
)

INDEX = "index.html"
"""The first page of a site: a folder that has one is a single task, named after the folder."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Names of tasks and categories, which go into ids, globs and paths of cassettes."""


@dataclass(frozen=True, slots=True)
class TaskPage:
    """A task's page: the file that is loaded first, and the folder that a custom page can reach."""

    task: str
    category: str
    file: Path
    root: Path | None = None


class Catalogue:
    """The tasks that can be selected: those of the package, and the pages of some folders.

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

    @property
    def own_tasks(self) -> list[str]:
        """The names of the tasks that are not the package's."""
        return [task for task, page in self.pages.items() if page.root is not None]

    def add(self, page: TaskPage) -> None:
        """Add a custom page; a name that is not valid or taken is a `UsageError`."""
        shown = display_path(page.file)
        if (known := self.pages.get(page.task)) is not None:
            whose = "" if known.root is not None else " of the miniwob package"
            raise UsageError(
                f"{shown} and {display_path(known.file)}{whose} are both called {page.task!r}, and "
                "would share their cassettes: rename one of them"
            )
        for what, name in (("task", page.task), ("category", page.category)):
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"{shown}: a task or a folder of tasks can't be called {name!r}; use letters "
                    "of ASCII, digits, `-`, `_` and `.`, and begin with a letter or a digit"
                )
            if name in SUITES or name in CATEGORIES or name == OTHER:
                raise UsageError(
                    f"{shown}: its {what} would be called {name!r}, which selects tasks of the "
                    "miniwob package: rename the file or its folder"
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
            "marker, or --pages)"
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
