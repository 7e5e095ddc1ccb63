"""`miniwob-agent show`: print an item's whole episode as it is replayed.

The contents of a cassette, without a replay, are printed by `miniwob-agent cassettes show`.
"""

from __future__ import annotations

import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    show = commands.add_parser(
        "show",
        parents=[item_arguments()],
        help="print an item's whole episode: screens, calls, actions, reflections",
        description="Replay an item from its cassette and print its whole episode: the goal, and "
        "of each trial the screens as the model saw them, the calls, the actions and their "
        "effects, how it ended, and the reflection on it. An item that drifts is shown up to that "
        "point. No model is asked and nothing is written. Exits with 1 if the item has no result. "
        "To print the contents of a cassette without a replay: miniwob-agent cassettes show.",
        epilog="CASE is looked up among the items that pytest would run here: miniwob-agent show "
        "click-tab/3 -- tests/test_mine.py --miniwob-seeds=3",
    )
    show.set_defaults(run=run)


def item_arguments() -> argparse.ArgumentParser:
    """Return the arguments that name an item, for `show` and `play`."""
    item = argparse.ArgumentParser(add_help=False)
    item.add_argument(
        "case",
        metavar="CASE",
        help="an item's id (n-screen-n-step/click-menu-2/1000) or its end (click-menu-2/1000); "
        "or pytest's id of it",
    )
    item.add_argument(
        "pytest_args",
        nargs="*",
        metavar="-- PYTEST ARGUMENTS",
        help="the tests and options to run pytest with (default: this folder's tests)",
    )
    item.add_argument("--full", action="store_true", help="print prompts too, and shorten nothing")
    return item


def run(options: argparse.Namespace) -> int:
    """Print an item's episode; return 1 if the item has no result."""
    from pytest_miniwob_agent.plugin.replaying import replay
    from pytest_miniwob_agent.terminal.episode import EpisodePrinter

    printer = EpisodePrinter(full=options.full)
    replay(options.case, options.pytest_args, printer)
    return 0 if printer.outcome is not None and printer.outcome.status.conclusive else 1
