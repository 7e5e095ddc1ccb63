"""`miniwob-agent prompts copy`: copies the built-in prompts of an agent."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed, nearest

DESCRIPTION = """\
Copy the prompts of an agent into a folder, to change them.

  miniwob-agent prompts copy reflective prompts/ plan.txt
  pytest --miniwob-prompts=prompts

Each file of the folder replaces the agent's own of the same name. Copy those that you work on, or
all of them: a copy does not change with later versions of this package. Makes the folder, and
copies nothing if one of the files exists.
"""


def add(commands: Commands) -> None:
    """Add the arguments."""
    text = "copy the prompts of an agent, to change them"
    steps = commands.add_parser("prompts", help=text, description=DESCRIPTION).add_subparsers(
        required=True, metavar="STEP", dest="step"
    )
    parser = steps.add_parser("copy", help=text, description=DESCRIPTION)
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
