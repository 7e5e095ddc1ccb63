"""Agents by name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
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
}
"""The agents of this package: what `--miniwob-agent` calls them, and where they are."""


GROUP = "miniwob_agents"
"""The group of entry points by which an installed package makes its agents known by name."""


def load_agent(
    name: str,
    prompts: str | Path | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    task: str = "",
) -> Agent:
    """The agent of that name, of this package or of an installed one, or of `package.module:Class`.

    The class is called with `params`, and with `prompts=FOLDER` where a folder of the user's own
    prompt texts is given. One that takes a `task` gets the name of the item's: that is for worked
    examples of a task, and the page shows it to nobody.

    Raises:
        UsageError: no such name or two of them, the class can't be imported or is no agent, or it
            does not take what it is given.
    """
    target = BUILT_IN.get(name) or (name if ":" in name else _installed(name))
    module_name, _, class_name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"agent {name!r}: can't import {module_name}: {error}") from error
    try:
        factory = getattr(module, class_name)
    except AttributeError:
        names = [each for each in vars(module) if not each.startswith("_")]
        raise UsageError(
            f"agent {name!r}: {module_name} has no {class_name!r}" + nearest(class_name, names)
        ) from None
    try:
        takes = inspect.signature(factory).parameters
    except (TypeError, ValueError) as error:  # not callable, or in C and silent about it
        raise UsageError(f"agent {name!r}: can't be made: {error}") from error
    _check_params(name, takes, params or {})
    given = {**(params or {}), **({} if prompts is None else {"prompts": prompts})}
    if "task" in takes:
        given["task"] = task
    try:
        agent = factory(**given)
    except TypeError as error:
        raise UsageError(f"agent {name!r}: can't be made: {error}") from error
    if not isinstance(agent, Agent):
        raise UsageError(
            f"agent {name!r}: {class_name} lacks a `name` or a method solve(env, llm, note)"
        )
    if not (isinstance(agent.name, str) and 0 < len(agent.name) <= 100 and agent.name.strip(" .")):
        raise UsageError(
            f"agent {name!r}: its name is the folder of its cassettes, and {agent.name!r:.120} "
            "can't be one"
        )
    return agent


def _installed(name: str) -> str:
    """What the installed packages have under that name: `package.module:Class`.

    Looked up only for a name that is not built in, as it reads the metadata of every package.
    """
    installed = entry_points(group=GROUP)
    found = [
        (each.dist.name if each.dist else "?", each.value) for each in installed.select(name=name)
    ]
    if not found:
        known = [*BUILT_IN, *sorted(installed.names)]
        raise UsageError(
            f"no agent is called {name!r}" + nearest(name, known)
            + f": give one of {', '.join(known)} or package.module:Class"
        )  # fmt: skip
    if len(found) > 1:
        packages = ", ".join(f"{package} ({value})" for package, value in sorted(found))
        raise UsageError(
            f"more than one package has an agent {name!r}: {packages}; name the class itself, as "
            f"in --miniwob-agent={found[0][1]}, or uninstall one"
        )
    package, target = found[0]
    if ":" not in target:
        raise UsageError(f"agent {name!r}: {package} has it at {target}, not at a module:Class")
    return target


def _check_params(
    name: str, takes: Mapping[str, inspect.Parameter], params: Mapping[str, Any]
) -> None:
    """Whether the class takes these parameters, before it says so in Python's words."""
    if any(each.kind is each.VAR_KEYWORD for each in takes.values()):
        return
    known = [each for each in takes if each not in ("prompts", "task")]
    for param in params:
        if param == "prompts":
            raise UsageError("--miniwob-agent-params: the folder of prompts has --miniwob-prompts")
        if param not in known:
            raise UsageError(
                f"--miniwob-agent-params: agent {name!r} takes no {param!r}"
                + nearest(param, known)
                + (f"; it takes {', '.join(known)}" if known else "")
            )
