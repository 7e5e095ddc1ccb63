"""`miniwob-agent new-task`: writes a first page of your own."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands

PAGES = "tests/pages"
"""The folder for a first page, where the ini file names none."""

NEXT = """\
{file}: a page that works

look at it:    miniwob-agent open {name} --pages {folder} --seed 3
check it:      miniwob-agent certify {name} --pages {folder}
use it:        @pytest.mark.miniwob("{name}")
               with miniwob_pages = {folder} in the ini file
"""


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
    """Write the page.

    Raises:
        UsageError: the name is not valid or taken, or the file exists.
    """
    from pytest_miniwob_agent.core.files import shown_from_here, write_atomically
    from pytest_miniwob_agent.plugin.options.reading import pages_of_ini_file
    from pytest_miniwob_agent.tasks.pages import check_new_task, new_task

    pages: Path = options.pages or next(iter(pages_of_ini_file()), Path(PAGES))
    file = pages / f"{options.name}.html"
    check_new_task(options.name, file)
    folder = shown_from_here(pages)
    write_atomically(file, new_task(options.name, str(folder)))
    print(NEXT.format(file=shown_from_here(file), name=options.name, folder=folder), end="")
    return 0
