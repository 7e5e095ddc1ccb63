"""`miniwob-agent show`: prints an item's whole episode as it is replayed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from pytest_miniwob_agent.cli.arguments import Commands, add_pytest_args
from pytest_miniwob_agent.core.actions import AnyAction


def add(commands: Commands) -> None:
    """Add the arguments."""
    parser = commands.add_parser(
        "show",
        help="print an item's whole episode: screens, calls, actions, reflections",
        description="Replay an item from its cassette and print its whole episode, up to a drift: "
        "screens as the model saw them, calls, actions and their effects, endings, reflections. No "
        "model is called and nothing is written. Exits with 1 if the item has no result. To print "
        "a cassette without running anything: miniwob-agent cassettes show.",
        epilog="Name the item as pytest would run it here:\n\n"
        "  miniwob-agent show click-tab/3 -- tests/test_mine.py --miniwob-seeds=3",
    )
    add_item(parser)
    parser.set_defaults(run=run)


def add_item(parser: ArgumentParser) -> None:
    """Add the arguments that name an item, for `show` and `play`."""
    parser.add_argument(
        "case",
        metavar="CASE",
        help="an item's id (n-screen-n-step/click-menu-2/1000) or its end (click-menu-2/1000); "
        "or pytest's id of it",
    )
    add_pytest_args(parser)
    parser.add_argument(
        "--full", action="store_true", help="print prompts, and completions in full"
    )


def run(options: Namespace) -> int:
    """Print an item's episode; return 1 if the item has no result."""
    return replay_item(options, options.pytest_args)


def replay_item(
    options: Namespace,
    pytest_args: list[str],
    step: Callable[[AnyAction | str], bool] | None = None,
    slowmo: int | None = None,
) -> int:
    """Replay an item, see `inner.replay`, and print its episode."""
    from pytest_miniwob_agent.plugin.inner import replay
    from pytest_miniwob_agent.terminal.episode import EpisodePrinter

    printer = EpisodePrinter(full=options.full)
    replay(options.case, pytest_args, printer, step, slowmo)
    # There is no outcome if the user has left the replay.
    return 0 if printer.outcome is None or printer.outcome.status.conclusive else 1
