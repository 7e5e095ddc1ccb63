"""The plugins of this package, and how they are loaded: into pytest, or for a command."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Any, NamedTuple

import pluggy

from pytest_miniwob_agent import hookspec
from pytest_miniwob_agent.core.errors import UsageError


class Builtin(NamedTuple):
    """A plugin of this package: its module, and the options that it declares.

    The engine knows them for the case that the plugin is blocked.
    """

    module: str
    options: tuple[str, ...] = ()


BUILTIN = {
    f"miniwob-{name}": Builtin(f"pytest_miniwob_agent.plugins.{name}", options)
    for name, options in {
        "rci": (),
        "webwise": (),
        "tools": (),
        "program": (),
        "grid": ("remote", "capabilities", "serve"),
        "anthropic": (),
        "gemini": (),
        "apps": ("app", "max_answer"),
        "batch": (),
        "certify": (),
        "judges": (),
        "export": (),
        "papers": (),
        "playwright": (),
        "report": ("report", "trace"),
        "otel": ("otel",),
        "transcripts": (),
        "graders": ("graders", "judge_model", "judge_base_url", "judge_key_variable"),
        "rounds": ("plan",),
    }.items()
}
"""By the names that `-p no:NAME` blocks, in the order in which their commands and options show."""

ARGUMENTS = {"graders": "miniwob-graders"}
"""The arguments of the marker that belong to plugins of this package, by their names."""

GROUP = "miniwob_agent"
"""The group of entry points by which an installed package adds plugins to runs and commands."""


def register(manager: pluggy.PluginManager) -> None:
    """Add our hooks to a plugin manager, and the plugins that are not blocked there."""
    manager.add_hookspecs(hookspec)
    for name, builtin in BUILTIN.items():
        if not manager.is_blocked(name):
            manager.register(importlib.import_module(builtin.module), name)
    for installed in entry_points(group=GROUP):
        if not manager.is_blocked(installed.name):
            manager.register(installed.load(), installed.name)


class _Registry(pluggy.PluginManager):
    """Finds hooks by their names, as pytest's own does."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        return super().parse_hookimpl_opts(plugin, name) or (
            {} if name.startswith("pytest_miniwob_") else None
        )


def without_pytest() -> pluggy.HookRelay:
    """Return the hooks for a command, or for a program without pytest: those of all plugins."""
    manager = _Registry("pytest")
    register(manager)
    return manager.hook


def joined(results: Iterable[Any]) -> list[Any]:
    """Return what plugins gave, the first registered first; pluggy begins with the last."""
    return [each for each in reversed(list(results)) if each]


def why_blocked(name: str) -> UsageError:
    """Return the error for what belongs to a plugin that is blocked."""
    return UsageError(f"it belongs to the plugin {name}, which is blocked: leave out -p no:{name}")
