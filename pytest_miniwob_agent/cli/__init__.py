"""The command `miniwob-agent`.

- `episodes`: one recorded item in the terminal or in a window, and copies of an agent's prompts.
- `cassettes`: recorded calls.
- `results`: what runs have written: comparisons, and those of shards joined.
- `tasks`: the tasks, and your own pages.
- `doctor`: what a run needs.
- `arguments`: what several commands share.

Plugins add others (`pytest_miniwob_commands`). What a command needs is imported for it alone.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import chain
from pkgutil import resolve_name

from pytest_miniwob_agent.builtin import joined, without_pytest
from pytest_miniwob_agent.cli.arguments import Parser
from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.hookspec import Subcommand

_HERE = f"{__name__}."

COMMANDS = (
    Subcommand(
        "doctor",
        "check that everything a run needs is installed and works",
        f"{_HERE}doctor:add_doctor",
    ),
    Subcommand(
        "show",
        "print an item's whole episode: screens, calls, actions, reflections",
        f"{_HERE}episodes:add_show",
    ),
    Subcommand(
        "play",
        "show a recorded episode in a window, an action at a time",
        f"{_HERE}episodes:add_play",
    ),
    Subcommand(
        "cassettes",
        "check, count, tidy up and read recorded model calls",
        f"{_HERE}cassettes:add_cassettes",
    ),
    Subcommand("prompts", "copy the prompts of an agent, to change them"),
    Subcommand(
        "prompts copy",
        "copy the prompts of an agent, to change them",
        f"{_HERE}episodes:add_copy",
    ),
    Subcommand(
        "compare",
        "show what got better and worse between two runs",
        f"{_HERE}results:add_compare",
    ),
    Subcommand("results", "join, export or trace results"),
    Subcommand("results merge", "join the results of shards", f"{_HERE}results:add_merge"),
    Subcommand("tasks", "list the tasks", f"{_HERE}tasks:add_tasks"),
    Subcommand("new-task", "write a first page of your own", f"{_HERE}tasks:add_new_task"),
    Subcommand(
        "open",
        "show a page in a window, with its goal and reward, while you change it",
        f"{_HERE}tasks:add_open",
    ),
)
"""The commands of the engine, in the order of `--help`; those of plugins follow."""

EXAMPLES = """\
Examples:

  miniwob-agent doctor                          is everything there?
  miniwob-agent show click-menu-2/1000          what did the agent do?
  miniwob-agent cassettes lint                  is every recording intact and used?
  miniwob-agent compare git:main results.jsonl  what did a change do?

Arguments after -- are those of the pytest run whose items are meant. docs/your-own-pages.md and
docs/test-your-app.md show how to bring pages and a running app.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 if it found a problem, or 2 for wrong usage."""
    parser = Parser(
        prog="miniwob-agent",
        description="Tools for the pytest plugin pytest-miniwob-agent, which runs web agents on "
        "MiniWoB++ pages and replays their model calls.",
        epilog=EXAMPLES,
    )
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    _add_commands(parser, given[:end])
    options = parser.parse_args(given[:end])
    if hasattr(options, "pytest_args"):  # argparse takes no positional arguments after an option
        options.pytest_args += given[end + 1 :]
    elif hasattr(options, "program"):
        options.program = given[end + 1 :]
    elif others := given[end + 1 :]:
        parser.error(
            f"this command does not run pytest and takes no arguments after --: {' '.join(others)}"
        )
    try:
        status: int = options.run(options)
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does after some lines
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (MiniwobError, OSError) as error:
        print(mask(f"miniwob-agent: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print()
        return 130
    return status


def _add_commands(parser: ArgumentParser, given: Sequence[str]) -> None:
    groups = {"": parser.add_subparsers(required=True, metavar="COMMAND")}
    words = [word for word in given if not word.startswith("-")]
    for command in [*COMMANDS, *chain(*joined(without_pytest().pytest_miniwob_commands()))]:
        group, _, name = command.name.rpartition(" ")
        added = groups[group].add_parser(name, help=command.help)
        if not command.add:
            added.description = f"{command.help.capitalize()}."
            groups[command.name] = added.add_subparsers(required=True, metavar="STEP", dest="step")
        elif words[: 1 + bool(group)] == command.name.split():
            # The modules of other commands are not imported.
            resolve_name(command.add)(added)
