"""Recorded episodes, and what they were made with.

`miniwob-agent show` prints an item's whole episode as it is replayed, or a solved one as a script
of a plugin; `play` shows it in a window, an action at a time, and `prompts copy` copies an agent's
prompts.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import ChainMap
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from pytest_miniwob_agent.agents.registry import prompt_files
from pytest_miniwob_agent.builtin import without_pytest
from pytest_miniwob_agent.cli.arguments import add_pytest_args
from pytest_miniwob_agent.core.actions import AnyAction
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed, nearest, sanitize_line

if TYPE_CHECKING:
    from pytest_miniwob_agent.plugin.inner import Step


def add_show(parser: ArgumentParser) -> None:
    parser.description = (
        "Replay an item from its cassette and print its whole episode, up to a drift: "
        "screens as the model saw them, calls, actions and their effects, endings, reflections. No "
        "model is called and nothing is written. Exits with 1 if the item has no result. To print "
        "a cassette without running anything: miniwob-agent cassettes show."
    )
    parser.epilog = (
        "Name the item as pytest would run it here:\n\n"
        "  miniwob-agent show click-tab/3 -- tests/test_mine.py --miniwob-seeds=3"
    )
    _add_item(parser)
    parser.add_argument(
        "--as",
        dest="form",
        choices=["text", *_scripts()],
        default="text",
        help="print a test that takes the actions of the solved trial, on an app or a page of your "
        "own, for pytest-playwright; refused if an action has no locator",
    )
    parser.set_defaults(run=show)


def _add_item(parser: ArgumentParser) -> None:
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


def show(options: Namespace) -> int:
    """Print an item's episode; return 1 if the item has no result."""
    if options.form == "text":
        return _replay_item(options, options.pytest_args)
    from pytest_miniwob_agent.plugin.inner import replay

    writer = resolve_name(_scripts()[options.form])()
    replay(options.case, options.pytest_args, writer, writer.follow)
    print(writer.script)
    return 0


def _scripts() -> dict[str, str]:
    return dict(ChainMap(*without_pytest().pytest_miniwob_scripts()))


def _replay_item(
    options: Namespace,
    pytest_args: list[str],
    step: Step | None = None,
    slowmo: int | None = None,
) -> int:
    from pytest_miniwob_agent.plugin.inner import replay
    from pytest_miniwob_agent.terminal.transcript import EpisodePrinter

    printer = EpisodePrinter(full=options.full)
    replay(options.case, pytest_args, printer, step, slowmo)
    # There is no outcome if the user has left the replay.
    return 0 if printer.outcome is None or printer.outcome.status.conclusive else 1


def add_play(parser: ArgumentParser) -> None:
    parser.description = (
        "Replay an item in the browser's window, and print its episode as `show` does. "
        "Waits for Enter before each action, with the pointer already in place; q quits. No model "
        "is called and nothing is written."
    )
    parser.epilog = "To watch a whole run:\n\n  pytest --miniwob-headed"
    _add_item(parser)
    for name, default, text in (
        ("--auto", None, "do not wait for Enter, but continue after MS milliseconds"),
        ("--slowmo", 1, "slow each action down by MS milliseconds, half before it, half after it"),
    ):
        parser.add_argument(name, type=int, default=default, metavar="MS", help=text)
    parser.set_defaults(run=play)


def play(options: Namespace) -> int:
    """Show an item's episode in a window; return 1 if the item has no result."""
    if options.auto is None and not sys.stdin.isatty():
        raise UsageError(
            "play waits for keys and needs a terminal; use --auto MS to continue without keys, or "
            "`miniwob-agent show` to print the episode"
        )
    check_display("play", "`miniwob-agent show` needs none")
    # The window is on this machine, wherever other runs have their browsers.
    args = [*options.pytest_args, "--miniwob-headed", "--miniwob-remote="]
    return _replay_item(options, args, partial(wait, options.auto), options.slowmo)


def wait(auto: int | None, following: AnyAction | str, *page: object) -> bool:
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


PROMPTS_DESCRIPTION = """\
Copy the prompts of an agent into a folder, to change them.

  miniwob-agent prompts copy reflective prompts/ plan.txt
  pytest --miniwob-prompts=prompts

Each file of the folder replaces the agent's own of the same name. Copy those that you work on, or
all of them: a copy does not change with later versions of this package. Makes the folder, and
copies nothing if one of the files exists.
"""


def add_copy(parser: ArgumentParser) -> None:
    parser.description = PROMPTS_DESCRIPTION
    parser.add_argument(
        "agent",
        metavar="AGENT",
        help="reflective, rci, webwise, tools, one that an installed package registers, or "
        "package.module:Class",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder to copy them into")
    parser.add_argument(
        "names", nargs="*", metavar="PROMPT", help="prompts, such as plan.txt (default: all)"
    )
    parser.set_defaults(run=copy)


def copy(options: Namespace) -> int:
    """Copy prompts of an agent, and print their names and the command that uses them."""
    agent, folder = options.agent, options.folder
    found = {file.name: file for file in prompt_files(agent)}
    chosen = [name if name in found else f"{name}.txt" for name in options.names] or [*found]
    if unknown := [name for name in chosen if name not in found]:
        name = unknown[0].removesuffix(".txt")
        raise UsageError(
            f"{agent} has no prompt {name!r}{nearest(name, [*found])}; it has {', '.join(found)}"
        )
    if there := [name for name in chosen if (folder / name).exists()]:
        raise UsageError(
            f"{folder} has {listed(there)} already: nothing was copied; remove what you want to "
            "replace, or name another folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        (folder / name).write_bytes(found[name].read_bytes())
        print(folder / name)
    print(
        f"{counted(len(chosen), 'prompt')} of {agent} copied; after a change, see what it affects:"
    )
    option = "" if agent == "reflective" else f" --miniwob-agent={agent}"
    print(f"pytest{option} --miniwob-prompts={shlex.quote(str(folder))}")
    return 0
