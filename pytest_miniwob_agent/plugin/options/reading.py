"""Reading of the options: the command line overrides the ini file, which overrides the default."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_miniwob_agent.cassettes.deferred import PENDING
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.params import check_params
from pytest_miniwob_agent.plugin.options.option import Option
from pytest_miniwob_agent.plugin.options.project_folder import SUITES, project_folder
from pytest_miniwob_agent.plugin.options.settings import OPTIONS, Settings


def add_options(parser: pytest.Parser) -> None:
    """Declare every option and its ini twin to pytest."""
    group = parser.getgroup("miniwob", "MiniWoB++ agents (pytest-miniwob-agent)")
    for option in OPTIONS:
        parser.addini(option.ini, f"default of {option.name}", option.ini_type, None)
        text = option.help.replace("%", "%%")
        if option.flag:
            group.addoption(option.name, action="store_true", default=None, help=text)
            continue
        if option.default not in (None, "", "{}"):
            text += f" (default: {option.default})"
        metavar, choices = option.metavar, option.choices
        group.addoption(option.name, default=None, metavar=metavar, choices=choices, help=text)
    parser.addini(
        SUITES,
        "test files, or globs, that own cassettes but are not collected by default: `miniwob-agent "
        "cassettes` counts their items; one per line",
        "linelist",
        [],
    )


def read_settings(config: pytest.Config) -> Settings:
    """Read the settings of a run.

    Raises:
        UsageError: a wrong value, or options that do not go together; the message names them.
    """
    values: dict[str, Any] = {}
    ini: dict[str, Any] = {}
    for option in OPTIONS:
        if option.flag:
            values[option.key] = bool(config.getoption(option.ini) or config.getini(option.ini))
            continue
        on_line, in_file = config.getoption(option.ini), _in_ini_file(config, option)
        value = None
        if on_line is not None:
            value = option.read(option.name, on_line, config.invocation_params.dir)
        elif in_file is not None and not option.marker:
            value = option.read(option.ini, in_file, project_folder(config))
        if value is None and option.default is not None:
            value = option.read(option.ini, option.default, project_folder(config))
        values[option.key] = value
        if option.marker:
            folder = project_folder(config)
            ini[option.key] = in_file and option.read(option.ini, in_file, folder)
    values["shard"] = _shard(config, values["shard"])
    _check(config, values)
    baseline = config.getini("miniwob_baseline")
    in_git = not baseline or baseline.startswith("git:")
    return Settings(
        **values,
        ini=ini,
        pending=project_folder(config) / PENDING,
        ini_baseline=None if in_git else project_folder(config) / baseline,
    )


def _in_ini_file(config: pytest.Config, option: Option) -> str | None:
    """Return the text that the ini file gives, a list as lines; None if it gives none."""
    value = config.getini(option.ini)
    text = "\n".join(value) if isinstance(value, list) else str(value or "")
    return text or None


def _shard(config: pytest.Config, named: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the shard that our option or those of pytest-split name.

    Raises:
        UsageError: they name different ones.
    """
    group, splits = config.getoption("group", None), config.getoption("splits", None)
    if not (isinstance(group, int) and isinstance(splits, int)):
        return named
    if named not in (None, (group, splits)):
        raise UsageError(
            f"--miniwob-shard={named[0]}/{named[1]} and --splits={splits} --group={group} name "
            "different shards; leave --miniwob-shard out"
        )
    return group, splits


def _check(config: pytest.Config, values: dict[str, Any]) -> None:
    """Check that the options go together.

    Raises:
        UsageError: they do not.
    """
    for name, needed in (
        ("trace", "report=DIR, which shows the pictures"),
        ("capabilities", "remote=URL, the address of a Grid"),
        ("serve", "remote=URL, the address of a Grid"),
    ):
        if config.getoption(f"miniwob_{name}") and not values[needed.partition("=")[0]]:
            raise UsageError(f"--miniwob-{name} goes with --miniwob-{needed}")
    if values["answers"] and values["record"] != "defer":
        raise UsageError("--miniwob-answers goes with --miniwob-record=defer")
    if values["remote"] and config.getoption("miniwob_browser"):
        raise UsageError(
            "--miniwob-browser names a browser of this machine, but --miniwob-remote (or "
            "miniwob_remote) opens browsers on a Grid: choose one there with "
            """--miniwob-capabilities='{"goog:chromeOptions": {"binary": "PATH"}}', or give """
            "--miniwob-remote= to stay on this machine"
        )
    if values["record"] == "all" and (reruns := _reruns_option(config)):
        raise UsageError(
            f"--miniwob-record=all and {reruns} don't go together: an item that failed would be "
            "recorded until it passes, and later replays would show its best sample only; record "
            "without reruns (--reruns=0 overrides the ini file)"
        )
    if fixed := {"messages", "model", "stream"} & values["llm_params"].keys():
        raise UsageError(f"--miniwob-llm-params: can't set {', '.join(sorted(fixed))}")
    check_params(values["llm_params"])
    if values["max_cost"] is not None and values["model"] not in values["prices"]:
        raise UsageError(
            f"--miniwob-max-cost needs the price of {values['model']}: add '{values['model']} "
            "PROMPT COMPLETION' to miniwob_prices, in US dollars per million tokens"
        )


def _reruns_option(config: pytest.Config) -> str:
    """Return the option of pytest-rerunfailures that has failed items run again, or ""."""
    for key, name in (("force_reruns", "--force-reruns"), ("reruns", "--reruns")):
        if (given := config.getoption(key, None)) is not None:
            return name if given else ""
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return ""
    return "reruns of the ini file" if config.getini("reruns") not in (None, "", "0") else ""
