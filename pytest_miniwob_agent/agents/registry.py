"""Agents by name: built-in ones, those of installed packages, and classes by their path."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.protocols import Agent
from pytest_miniwob_agent.core.text import nearest

BUILT_IN = {
    "reflective": "pytest_miniwob_agent.agents.reflective:ReflectiveAgent",
    "rci": "pytest_miniwob_agent.agents.rci:RCIAgent",
    "webwise": "pytest_miniwob_agent.agents.webwise:WebWISEAgent",
    "tools": "pytest_miniwob_agent.agents.tools:ToolsAgent",
}
"""The agents of this package, by the names that `--miniwob-agent` takes: `package.module:Class`."""

GROUP = "miniwob_agents"
"""The group of entry points by which an installed package gives its agents names."""

MAX_NAME = 100
"""Characters of an agent's name, which is the folder of its cassettes."""


def load_agent(
    name: str,
    prompts: str | Path | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    task: str = "",
) -> Agent:
    """Make the agent of a name, of this package or an installed one, or of `package.module:Class`.

    The class is called with `params`, and with `prompts=FOLDER` where a folder of the user's
    prompts is given. If it has a parameter `task`, it gets the name of the item's task, for worked
    examples; the page does not show that name.

    Raises:
        UsageError: the name is unknown or ambiguous, the class can't be imported or is not an
            agent, or it does not take what it is given.
    """
    make = _find_class(name)
    try:
        parameters = inspect.signature(make).parameters
        _check_params(name, parameters, params or {})
        arguments = dict(params or {})
        if prompts is not None:
            arguments["prompts"] = prompts
        if "task" in parameters:
            arguments["task"] = task
        agent = make(**arguments)
    except (TypeError, ValueError) as error:
        raise UsageError(f"agent {name!r}: can't be made: {error}") from error
    if not isinstance(agent, Agent):
        raise UsageError(
            f"agent {name!r}: {getattr(make, '__name__', 'it')} lacks a `name` or a method "
            "solve(env, llm, note)"
        )
    folder: object = agent.name
    if not isinstance(folder, str) or len(folder) > MAX_NAME or not folder.strip(" ."):
        raise UsageError(
            f"agent {name!r}: its name is the folder of its cassettes, and {folder!r:.120} "
            "can't be one"
        )
    return agent


def prompt_files(name: str) -> list[Path]:
    """Return the prompt files of an agent: the texts in the folder `prompts` beside its module.

    Raises:
        UsageError: the agent is not found, or has no such files.
    """
    file = getattr(inspect.getmodule(_find_class(name)), "__file__", None)
    found = sorted(Path(file).with_name("prompts").glob("*.txt")) if file else []
    if not found:
        raise UsageError(f"agent {name!r} has no folder `prompts` with texts beside its module")
    return found


def _find_class(name: str) -> Callable[..., Any]:
    """Import the class of an agent, or a function that makes one."""
    target = BUILT_IN.get(name) or (name if ":" in name else _find_installed(name))
    module_name, _, class_name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"agent {name!r}: can't import {module_name}: {error}") from error
    found: Callable[..., Any] | None = getattr(module, class_name, None)
    if found is None:
        public = [other for other in vars(module) if not other.startswith("_")]
        raise UsageError(
            f"agent {name!r}: {module_name} has no {class_name!r}" + nearest(class_name, public)
        )
    return found


def _find_installed(name: str) -> str:
    """Find the `package.module:Class` that an installed package has under a name.

    Looked up only for names that are not built in, as it reads the metadata of every package.
    """
    installed = entry_points(group=GROUP)
    found = sorted(
        (entry.dist.name if entry.dist else "?", entry.value)
        for entry in installed.select(name=name)
    )
    if not found:
        known = [*BUILT_IN, *sorted(installed.names)]
        raise UsageError(
            f"no agent is called {name!r}" + nearest(name, known)
            + f": give one of {', '.join(known)} or package.module:Class"
        )  # fmt: skip
    target = found[0][1]
    if len(found) > 1:
        packages = ", ".join(f"{package} ({value})" for package, value in found)
        raise UsageError(
            f"more than one package has an agent {name!r}: {packages}; name the class itself, as "
            f"in --miniwob-agent={target}, or uninstall one"
        )
    return target


def _check_params(
    name: str, parameters: Mapping[str, inspect.Parameter], params: Mapping[str, Any]
) -> None:
    """Refuse parameters that the class does not take, in better words than Python's."""
    known = [parameter for parameter in parameters if parameter not in ("prompts", "task")]
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for param in params:
        if param not in known and not open_ended:
            hint = "; give the folder of prompts by --miniwob-prompts" if param == "prompts" else ""
            raise UsageError(
                f"--miniwob-agent-params: agent {name!r} takes no {param!r}"
                + nearest(param, known) + (f"; it takes {', '.join(known)}" if known else "") + hint
            )  # fmt: skip
