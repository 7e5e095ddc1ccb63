"""`miniwob-agent prompts`: lists and copies the built-in prompts of an agent."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed, nearest

DESCRIPTION = """\
List and copy the built-in prompts of an agent, to change them.

  miniwob-agent prompts copy reflective prompts/ plan.txt
  pytest --miniwob-prompts=prompts

Each file of the folder replaces the agent's own of the same name. Copy those that you work on, or
all of them: a copy does not change with later versions of this package.
"""


def add(commands: Commands) -> None:
    """Add the arguments of all steps."""
    steps = commands.add_parser(
        "prompts",
        help="list and copy the prompts of an agent, to change them",
        description=DESCRIPTION,
    ).add_subparsers(required=True, metavar="STEP", dest="step")
    lister = steps.add_parser(
        "list", help="list the prompts of an agent", description="List the prompts of an agent."
    )
    lister.set_defaults(run=list_prompts)
    copier = steps.add_parser(
        "copy",
        help="copy the prompts of an agent into a folder",
        description="Copy the prompts of an agent into a folder, for --miniwob-prompts. Makes the "
        "folder, and copies nothing if one of the files exists.",
    )
    for parser in (lister, copier):
        parser.add_argument(
            "agent",
            metavar="AGENT",
            help="reflective, rci, webwise, tools, one that an installed package registers, or "
            "package.module:Class",
        )
    copier.add_argument("folder", type=Path, metavar="DIR", help="the folder to copy them into")
    copier.add_argument(
        "names", nargs="*", metavar="PROMPT", help="prompts, such as plan.txt (default: all)"
    )
    copier.set_defaults(run=copy)


def list_prompts(options: Namespace) -> int:
    """Print the names of an agent's prompts."""
    from pytest_miniwob_agent.agents.registry import prompt_files

    for file in prompt_files(options.agent):
        print(file.name)
    return 0


def copy(options: Namespace) -> int:
    """Copy prompts of an agent, and print their names and the command that uses them."""
    from pytest_miniwob_agent.agents.registry import prompt_files

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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in chosen:
            (folder / name).write_bytes(found[name].read_bytes())
            print(folder / name)
    except OSError as error:
        raise UsageError(f"{folder} can't be written: {error.strerror or error}") from None
    print(
        f"{counted(len(chosen), 'prompt')} of {agent} copied; after a change, see what it affects:"
    )
    option = "" if agent == "reflective" else f" --miniwob-agent={agent}"
    print(f"pytest{option} --miniwob-prompts={shlex.quote(str(folder))}")
    return 0
