"""Agents by name: built-in ones, those of installed packages, and classes by their path.

Also checks of the parameters of built-in agents (`--miniwob-agent-params`).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Self

from pluggy import HookRelay

from pytest_miniwob_agent.builtin import joined, why_blocked, without_pytest
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.protocols import Agent
from pytest_miniwob_agent.core.text import nearest

DEFAULT = {"reflective": "pytest_miniwob_agent.agents.reflective:ReflectiveAgent"}
"""The engine's own agent: `package.module:Class` by the name that `--miniwob-agent` takes."""

GROUP = "miniwob_agents"
"""The group of entry points by which an installed package gives its agents names."""


def load_agent(
    name: str,
    prompts: str | Path | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    item: Mapping[str, Any] | None = None,
    hook: HookRelay | None = None,
) -> Agent:
    """Make the agent of a name, of this package or an installed one, or of `package.module:Class`.

    The class is called with `params`, and with `prompts=FOLDER` if a folder of the user's
    prompts is given. It also gets those of `item` for which it has a parameter: `task`, the name of
    the item's task, for worked examples (the page does not show that name); `seed`; and `folder`,
    that of the item's test. A command line, which has a blank, is one for the agent `program`.
    `hook` has the plugins that name agents, by default all.

    Raises:
        UsageError: the name is unknown or ambiguous, the class can't be imported or is not an
            agent, or it does not take what it is given.
    """
    name, params = named_agent(name, params or {})
    make, about = _find_class(name, hook), {"task": "", **(item or {})}
    try:
        parameters = inspect.signature(make).parameters
        known = [parameter for parameter in parameters if parameter not in ("prompts", *about)]
        takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        for param in params:
            if param not in known and not takes_any:
                problem = f"--miniwob-agent-params: agent {name!r} takes no {param!r}"
                problem += nearest(param, known)
                problem += f"; it takes {', '.join(known)}" if known else ""
                if param == "prompts":
                    problem += "; give the folder by --miniwob-prompts"
                raise UsageError(problem)
        given: dict[str, Any] = {} if prompts is None else {"prompts": prompts}
        given |= {key: value for key, value in about.items() if key in parameters}
        agent = make(**params, **given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"agent {name!r}: can't be made: {error}") from error
    return checked(agent, f"agent {name!r}")


def named_agent(name: str, params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the name of an agent and its parameters, also for a command line."""
    is_command = " " in name or ("/" in name and ":" not in name)
    return ("program", {"command": name, **params}) if is_command else (name, params)


class Program(tuple[str, dict[str, Any]]):
    """A program as an agent, for the marker: `agents=[Program(["node", "agent.mjs"])]`.

    Args:
        command: the command line, or its words.
        params: the other parameters of the agent `program`, such as `name` and `trials`.
    """

    def __new__(cls, command: str | Sequence[str], **params: Any) -> Self:
        """Make the name of the agent, with its parameters."""
        return super().__new__(cls, ("program", {"command": command, **params}))


def checked(agent: object, given: str) -> Agent:
    """Return an agent; a `UsageError` that begins with `given` says why it can't be one."""
    if not isinstance(agent, Agent):
        lacks = "lacks a `name` or a method solve(env, llm, note)"
        raise UsageError(f"{given}: {type(agent).__name__} {lacks}")
    folder: object = agent.name  # of its cassettes
    if not isinstance(folder, str) or len(folder) > 100 or not folder.strip(" ."):
        raise UsageError(f"{given}: its name {folder!r:.120} can't be that of a folder")
    return agent


def source_digest(agent: Agent) -> dict[str, str]:
    """Return the digest of the source file of an agent that is not of this package, by its name."""
    module = inspect.getmodule(type(agent))
    file = Path(getattr(module, "__file__", None) or "")
    if module is None or module.__name__.startswith(f"{__name__.partition('.')[0]}."):
        return {}
    return {f"source {file.name}": digest(file.read_text("utf-8"))} if file.is_file() else {}


def prompt_files(name: str) -> list[Path]:
    """Return the prompt files of an agent: those in the folder `prompts` beside its module.

    Raises:
        UsageError: the agent is not found, or has no such files.
    """
    file = getattr(inspect.getmodule(_find_class(name)), "__file__", None)
    found = sorted(Path(file).with_name("prompts").glob("*.txt")) if file else []
    if not found:
        raise UsageError(
            f"agent {name!r} has no folder `prompts` with *.txt files beside its module"
        )
    return found


def named_agents(hook: HookRelay | None = None) -> dict[str, str]:
    """Return the agents that have a name, of the engine and of plugins (by default, of all)."""
    found = dict(DEFAULT)
    for names in joined((hook or without_pytest()).pytest_miniwob_agents()):
        found |= names
    return found


def _find_class(name: str, hook: HookRelay | None = None) -> Callable[..., Any]:
    target = DEFAULT.get(name) or (name if ":" in name else "")
    if not target:
        named = named_agents(hook)
        target = named.get(name) or _find_installed(name, [*named])
    module_name, _, class_name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        hint, top = "", module_name.partition(".")[0]
        here = Path(top).is_dir() or Path(f"{top}.py").is_file()
        if isinstance(error, ModuleNotFoundError) and error.name == top and here:
            hint = (
                f"; {top} is in {Path.cwd()}, which pytest does not import from: add pythonpath = "
                '["."] to its ini file (below [pytest] in pytest.toml, below [tool.pytest] or '
                "[tool.pytest.ini_options] in pyproject.toml), or run python -m pytest"
            )
        raise UsageError(f"agent {name!r}: can't import {module_name}: {error}{hint}") from error
    found: Callable[..., Any] | None = getattr(module, class_name, None)
    if found is None:
        public = [other for other in vars(module) if not other.startswith("_")]
        raise UsageError(
            f"agent {name!r}: {module_name} has no {class_name!r}" + nearest(class_name, public)
        )
    return found


def _find_installed(name: str, others: Sequence[str]) -> str:
    installed = entry_points(group=GROUP)
    named = installed.select(name=name)
    found = sorted((entry.dist.name if entry.dist else "?", entry.value) for entry in named)
    if not found:
        if name in named_agents():
            raise UsageError(f"agent {name!r}: {why_blocked(f'miniwob-{name}')}")
        known = [*others, *sorted(installed.names)]
        raise UsageError(
            f"no agent is called {name!r}{nearest(name, known)}: give one of {', '.join(known)}, "
            "package.module:Class, or a program by its path or with its arguments"
        )
    target = found[0][1]
    if len(found) > 1:
        packages = ", ".join(f"{package} ({value})" for package, value in found)
        raise UsageError(
            f"more than one package has an agent {name!r}: {packages}; name the class itself, as "
            f"in --miniwob-agent={target}, or uninstall one"
        )
    return target


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return the value of a parameter; a `UsageError` if it is not one of the choices."""
    if value not in choices:
        raise UsageError(
            f"--miniwob-agent-params: {name} {value!r} is not one of {', '.join(choices)}"
            + nearest(str(value), choices)
        )
    return str(value)


def check_integer(name: str, value: Any, least: int, most: int) -> int:
    """Return the value of a parameter; a `UsageError` if it is no integer within the bounds."""
    # Not isinstance(), as True is an int.
    if type(value) is not int or not least <= value <= most:
        raise UsageError(
            f"--miniwob-agent-params: {name} must be an integer from {least} to {most}, "
            f"not {value!r}"
        )
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return the value of a parameter; a `UsageError` if it is not true or false."""
    if not isinstance(value, bool):
        raise UsageError(f"--miniwob-agent-params: {name} must be true or false, not {value!r}")
    return value


def variant_name(agent: str, *parts: str | bool) -> str:
    """Name a variant of an agent by what differs: by the parts that are not empty or False."""
    return "-".join([agent, *(str(part) for part in parts if part)])
