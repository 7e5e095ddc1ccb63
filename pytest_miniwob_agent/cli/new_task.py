"""`miniwob-agent new-task`: writes a first page of your own."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands

PAGES = "tests/pages"
"""The folder for a first page, where the ini file names none."""

NEXT = """\
look at it:    miniwob-agent open {name} --pages {folder} --seed 3
check it:      miniwob-agent certify {name} --pages {folder}
use it:        @pytest.mark.miniwob("{name}")
               with miniwob_pages = {folder} in pytest.ini,
               or miniwob_pages = ["{folder}"] in pytest.toml or pyproject.toml
"""
"""What to do with a new page."""


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "new-task",
        help="write a first page of your own",
        description="Write a page with a task that works, with comments that explain its parts. "
        "Nothing is overwritten.",
        epilog="docs/your-own-pages.md describes the other form of pages, and sites of several.",
    )
    parser.add_argument("name", metavar="NAME", help="the name of the task and of its file")
    parser.add_argument(
        "--pages",
        type=Path,
        metavar="DIR",
        help=f"the folder to write it into (default: miniwob_pages of the ini file, or {PAGES})",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Write the page; a name that is not valid or taken is a `UsageError`."""
    from pytest_miniwob_agent.core.errors import UsageError
    from pytest_miniwob_agent.core.files import display_path, shown_from_here, write_atomically
    from pytest_miniwob_agent.plugin.options.reading import pages_of_ini_file
    from pytest_miniwob_agent.tasks.catalogue import DATA
    from pytest_miniwob_agent.tasks.pages import Catalogue, TaskPage, pages_in

    pages: Path = options.pages or next(iter(pages_of_ini_file()), Path(PAGES))
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
