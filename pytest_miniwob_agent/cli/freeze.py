"""`miniwob-agent freeze`: makes an own page of a real one."""

from __future__ import annotations

from argparse import Namespace

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.cli.new_task import NEXT, add_place, place_for


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "freeze",
        help="make an own page of a real one",
        description="Copy a page with all that it loads into a folder, where it is a page of your "
        "own: its scripts run by the frozen clock, its requests are answered from the recording, "
        "and nothing else is reached. Goal and reward are yours to write.",
        epilog="What only appears once somebody clicks must be recorded as well: use the page in "
        "the window of --headed, or save a HAR file in the browser's developer tools while you use "
        "it. WACZ archives, such as those of ArchiveWeb.page, need the extra `freeze`.",
    )
    parser.add_argument("source", metavar="SOURCE", help="an address, a HAR file or a WACZ archive")
    parser.add_argument("name", metavar="NAME", help="the name of the task and of its folder")
    add_place(parser)
    parser.add_argument(
        "--headed",
        action="store_true",
        help="of an address: open a window, and record what you do there until you press Enter",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Write the folder; a name that is not valid or taken is a `UsageError`."""
    from pytest_miniwob_agent.browser.frozen.site import write_site
    from pytest_miniwob_agent.browser.frozen.sources import read_source
    from pytest_miniwob_agent.core.files import shown_from_here
    from pytest_miniwob_agent.core.text import counted
    from pytest_miniwob_agent.tasks.pages import INDEX

    def wait() -> None:
        input("Use the page in the window, then press Enter here: ")

    file = place_for(options, f"{options.name}/{INDEX}")
    page, exchanges = read_source(options.source, wait if options.headed else None)
    found = write_site(file.parent, page, exchanges)
    written = f"{counted(found.files, 'file')} of {page}"
    if found.answers:
        written += f", and {counted(found.answers, 'recorded answer')} in index.har"
    folder = shown_from_here(file.parent)
    print(f"{folder}: {written}\n")
    print(f"write it:      {folder}/task.js has a goal and a reward to fill in")
    print(NEXT.format(name=options.name, folder=shown_from_here(file.parent.parent)), end="")
    return 0
