"""`miniwob-agent prompts`: lists and copies the built-in prompts of an agent."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed, nearest

DESCRIPTION = """\
List and copy the built-in prompts of an agent, to change them.

  miniwob-agent prompts copy reflective prompts/ plan.txt
  pytest --miniwob-prompts=prompts

Each file of the folder replaces the agent's own of the same name. Files that you do not change make
no difference, so copy those that you work on, or all of them: a copy does not change
with later versions of this package.
"""

AGENT_HELP = (
    "reflective, rci, webwise, tools, one that an installed package registers, or "
    "package.module:Class"
)


def add(commands: Commands) -> None:
    """Add the arguments of all steps."""
    steps = commands.add_parser(
        "prompts",
        help="list and copy the prompts of an agent, to change them",
        description=DESCRIPTION,
    ).add_subparsers(required=True, metavar="STEP", dest="step")
    _add_list(steps)
    _add_copy(steps)


def _add_list(steps: Commands) -> None:
    summary = "list the prompts of an agent"
    parser = steps.add_parser("list", help=summary, description=f"{summary.capitalize()}.")
    _add_agent(parser)
    parser.set_defaults(run=list_prompts)


def _add_copy(steps: Commands) -> None:
    parser = steps.add_parser(
        "copy",
        help="copy the prompts of an agent into a folder",
        description="Copy the prompts of an agent into a folder, for --miniwob-prompts. Makes the "
        "folder, and copies nothing if one of the files is there already.",
    )
    _add_agent(parser)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder to copy them into")
    parser.add_argument(
        "names", nargs="*", metavar="PROMPT", help="prompts, such as plan.txt (default: all)"
    )
    parser.set_defaults(run=copy)


def _add_agent(parser: ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help=AGENT_HELP)


def list_prompts(options: Namespace) -> int:
    """Print the names of an agent's prompts."""
    from pytest_miniwob_agent.agents.registry import prompt_files

    for file in prompt_files(options.agent):
        print(file.name)
    return 0


def copy(options: Namespace) -> int:
    """Copy prompts of an agent, and print their names and the option that has them used."""
    from pytest_miniwob_agent.agents.registry import prompt_files

    found = {file.name: file for file in prompt_files(options.agent)}
    chosen = [_full_name(name, options.agent, list(found)) for name in options.names] or [*found]
    folder: Path = options.folder
    if there := [name for name in chosen if (folder / name).exists()]:
        raise UsageError(
            f"{folder} has {listed(there)} already: nothing was copied; remove what is to be "
            "replaced, or name another folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in chosen:
            (folder / name).write_bytes(found[name].read_bytes())
            print(folder / name)
    except OSError as error:
        raise UsageError(f"{folder} can't be written: {error.strerror or error}") from None
    count = counted(len(chosen), "prompt")
    print(f"{count} of {options.agent} copied; after a change, see what it affects:")
    agent = "" if options.agent == "reflective" else f" --miniwob-agent={options.agent}"
    print(f"pytest{agent} --miniwob-prompts={shlex.quote(str(folder))}")
    return 0


def _full_name(name: str, agent: str, names: list[str]) -> str:
    """Return the name of a prompt's file, from one with or without its ending.

    Raises:
        UsageError: the agent has no such prompt.
    """
    for each in (name, f"{name}.txt"):
        if each in names:
            return each
    raise UsageError(
        f"{agent} has no prompt {name!r}{nearest(name, names)}; it has {', '.join(names)}"
    )
