"""`miniwob-agent play`: shows a recorded episode in a window, an action at a time."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from functools import partial

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.cli.show import add_item, replay_item
from pytest_miniwob_agent.core.actions import AnyAction
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import sanitize_line


def add(commands: Commands) -> None:
    """Add the arguments."""
    parser = commands.add_parser(
        "play",
        help="show a recorded episode in a window, an action at a time",
        description="Replay an item in the browser's window, and print its episode as `show` does. "
        "Waits for Enter before each action, with the pointer already in place; q quits. No model "
        "is called and nothing is written.",
        epilog="To watch a whole run:\n\n  pytest --miniwob-headed",
    )
    add_item(parser)
    for name, default, text in (
        ("--auto", None, "do not wait for Enter, but continue after MS milliseconds"),
        ("--slowmo", 1, "slow each action down by MS milliseconds, half before it, half after it"),
    ):
        parser.add_argument(name, type=int, default=default, metavar="MS", help=text)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Show an item's episode in a window; return 1 if the item has no result."""
    if options.auto is None and not sys.stdin.isatty():
        raise UsageError(
            "play waits for keys and needs a terminal; use --auto MS to continue without keys, or "
            "`miniwob-agent show` to print the episode"
        )
    check_display("play", "`miniwob-agent show` needs none")
    # The window is on this machine, wherever other runs have their browsers.
    args = [*options.pytest_args, "--miniwob-headed", "--miniwob-remote="]
    return replay_item(options, args, partial(wait, options.auto), options.slowmo)


def wait(auto: int | None, following: AnyAction | str) -> bool:
    """Announce what follows, and wait for Enter or `auto` milliseconds; return False to quit."""
    text = f"next: {sanitize_line(following)}"
    if isinstance(following, str):
        text = f"the {following} ends here"
    if auto is not None:
        print(f"\n{text}", flush=True)
        time.sleep(auto / 1000)
        return True
    try:
        answer = input(f"\n{text}  [Enter continues, q quits] ")
    except EOFError:
        return False
    return answer.strip().lower() not in ("q", "quit")


def check_display(command: str, instead: str) -> None:
    """Check that a window can be opened; `instead` says what can be done without one."""
    if sys.platform == "linux" and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        raise UsageError(
            f"{command} opens a window, and there is no display (DISPLAY is not set); {instead}"
        )
