"""Reading of the options: the command line overrides the ini file, which overrides the default.

Paths of the ini file, cassettes and `.miniwob/` start from the project's folder: that of the ini
file, else the one that `--rootdir` names, else the working directory. That is not always pytest's
rootdir, which may be any folder: without an ini file and the option, pytest takes the common folder
of the arguments, among them the value of `--miniwob-prompts DIR`, as it does not know the option
yet.

Commands that are shown to users name the options that were given: they are made here, too.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.config.findpaths import determine_setup
from pluggy import HookRelay

from pytest_miniwob_agent.builtin import BUILTIN, joined, why_blocked, without_pytest
from pytest_miniwob_agent.cassettes.folder import PENDING
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import shown_from_here
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.models.budget import check_price
from pytest_miniwob_agent.models.params import check_params, sent_only_strings
from pytest_miniwob_agent.plugin.options import Option, options_in, parse_baseline
from pytest_miniwob_agent.plugin.settings import OPTIONS, Settings

Declared = TypeVar("Declared")

SETTINGS = pytest.StashKey[Settings]()
"""Key of the settings in the stash of a run's configuration."""

SUITES = "miniwob_suites"
"""The ini value that names test files that own cassettes, but are not collected by default."""


def all_options(hook: HookRelay | None = None) -> list[Option]:
    """Return the options of the engine and of plugins (by default, of all), as they are shown."""
    declared = joined((hook or without_pytest()).pytest_miniwob_options())
    return [*OPTIONS, *chain(*map(options_in, declared))]


def add_options(parser: pytest.Parser, manager: pytest.PytestPluginManager) -> None:
    """Declare every option to pytest, in the groups of `docs/options.md`, and its ini twin."""
    for option in all_options(manager.hook):
        if option.group:
            group = parser.getgroup(f"miniwob-{option.group}", f"MiniWoB++: {option.group}")
        parser.addini(option.ini, "", option.ini_type, None)  # the option has its text
        text = option.help.replace("%", "%%")
        if option.flag:
            group.addoption(option.name, action="store_true", default=None, help=text)
            continue
        if option.default not in (None, "{}"):
            text += f" (default: {option.default})"
        metavar, choices = option.metavar, option.choices
        group.addoption(option.name, default=None, metavar=metavar, choices=choices, help=text)
    for name, builtin in BUILTIN.items():
        if not manager.has_plugin(name):  # it is blocked
            for key in builtin.options:
                option = Option(key=key, help=argparse.SUPPRESS)
                group.addoption(option.name, nargs="?", const=True, help=option.help)
                parser.addini(option.ini, "", None, None)
    parser.addini(
        SUITES,
        "test files, or globs, that own cassettes but are not collected by default: `miniwob-agent "
        "cassettes` counts their items; one per line",
        "linelist",
        [],
    )


def project_folder(config: pytest.Config) -> Path:
    """Return the folder of a run's project; workers of pytest-xdist have that of the controller."""
    if (given := getattr(config, "workerinput", {}).get("miniwob_folder")) is not None:
        return Path(given)
    if config.inipath not in (None, Path(os.devnull)):  # which stands for no file
        return config.inipath.parent
    return config.rootpath if config.getoption("rootdir") else config.invocation_params.dir


def get_test_id(item: pytest.Item) -> str:
    """Return the node id of an item's test, from the project's folder on and without parameters."""
    file = Path(os.path.relpath(item.path, project_folder(item.config)))
    return f"{file.as_posix()}::{item.nodeid.partition('::')[2].partition('[')[0]}"


def suite_files(config: pytest.Config) -> list[Path]:
    """Return the files that `miniwob_suites` names.

    Raises:
        UsageError: a glob matches no file.
    """
    files = []
    for pattern in config.getini(SUITES):
        found = sorted(project_folder(config).glob(pattern))
        if not found:
            raise UsageError(f"{SUITES}: {pattern} matches no file")
        files += found
    return files


def find_ini_file(*args: str) -> tuple[Path | None, dict[str, Any]]:
    """Return the ini file that pytest finds by arguments in the working directory, and its values.

    Raises:
        UsageError: pytest can't read the ini file.
    """
    here = Path.cwd()
    try:
        _, path, values, _ = determine_setup(
            inifile=None, override_ini=None, args=args, rootdir_cmd_arg=None, invocation_dir=here
        )
    except pytest.UsageError as error:
        raise UsageError(str(error)) from None
    return path, values


def read_ini_option(key: str) -> Any:
    """Return the value of an option in the ini file of the working directory, or its default.

    Raises:
        UsageError: pytest can't read the ini file, or the value is not valid.
    """
    inipath, values = find_ini_file()
    [option] = [option for option in OPTIONS if option.key == key]
    value = getattr(values.get(option.ini), "value", "")
    text = "\n".join(value) if isinstance(value, list) else str(value)
    folder = inipath.parent if inipath else Path.cwd()
    return option.read(option.ini, text or option.default or "", folder)


def get_settings(config: pytest.Config) -> Settings:
    """Return the settings of a run."""
    return config.stash[SETTINGS]


def known_secrets(config: pytest.Config) -> list[str]:
    """Return what a run sends and must neither keep nor show, to be masked wherever it appears."""
    settings = get_settings(config)
    address = settings.base_url or os.environ.get("OPENAI_BASE_URL")
    others = joined(config.hook.pytest_miniwob_secrets(config=config))
    return [*sent_only_strings(settings.llm_params, address), *chain(*others)]


def read_options(config: pytest.Config, declared: type[Declared]) -> Declared:
    """Read the options that the dataclass of a plugin declares.

    Raises:
        UsageError: a wrong value, or options that do not go together; the message names them.
    """
    options = options_in(declared)
    for option in options:
        if not hasattr(config.option, option.ini):
            raise UsageError(
                f"{option.name}: the hook pytest_miniwob_options of a conftest.py is called too "
                "late; use pytest_addoption there, or name the plugin by -p or an entry point"
            )
    values, _ = _read(config, options)
    return declared(**values)


def _read(
    config: pytest.Config, options: Iterable[Option]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of options, and those that the ini file has of options of the marker."""
    folder = project_folder(config)
    values: dict[str, Any] = {}
    ini: dict[str, Any] = {}
    for option in options:
        on_line, in_file = config.getoption(option.ini), config.getini(option.ini)
        if option.flag:
            values[option.key] = bool(in_file if on_line is None else on_line)
            continue
        text = "" if in_file is None else str(in_file)  # of a number in TOML, which may be 0
        if isinstance(in_file, list):
            text = "\n".join(in_file)
        value = None
        if text and (on_line is None or option.marker):
            value = option.read(option.ini, text, folder)
        if option.marker:
            ini[option.key], value = value, None
        if on_line is not None:
            value = option.read(option.name, on_line, config.invocation_params.dir)
        if value is None and option.default is not None:
            value = option.read(option.ini, option.default, folder)
        values[option.key] = value
    return values, ini


def read_settings(config: pytest.Config) -> Settings:
    """Read the settings of a run.

    Raises:
        UsageError: a wrong value, or options that do not go together; the message names them.
    """
    folder = project_folder(config)
    values, ini = _read(config, OPTIONS)
    values["shard"] = _shard(config, values["shard"])
    _check(config, values)
    baseline = config.getini("miniwob_baseline")
    is_file = baseline and isinstance(parse_baseline(baseline), Path)
    if baseline and baseline == values["baseline"]:  # git:REF or git:REF:PATH
        *commit, path = baseline.split(":", 2)
        if commit[1:] and path:
            values["baseline"] = ":".join([*commit, str(shown_from_here(folder / path))])
    return Settings(
        **values,
        ini=ini,
        pending=folder / PENDING,
        ini_baseline=folder / baseline if is_file else None,
    )


def _shard(config: pytest.Config, named: tuple[int, int] | None) -> tuple[int, int] | None:
    group, splits = config.getoption("group", None), config.getoption("splits", None)
    if not (isinstance(group, int) and isinstance(splits, int)):
        return named
    if named not in (None, (group, splits)):
        raise UsageError(
            f"--miniwob-shard={named[0]}/{named[1]} and --splits={splits} --group={group} name "
            "different shards; leave --miniwob-shard out"
        )
    return group, splits


def blocked_options(
    config: pytest.Config, read: Callable[[str], Any]
) -> Iterator[tuple[Option, UsageError]]:
    """Yield the options of blocked plugins for which something is read, each with what to say."""
    for plugin, builtin in BUILTIN.items():
        for key in builtin.options:
            option = Option(key=key, help="")
            if read(option.ini) and not config.pluginmanager.has_plugin(plugin):
                yield option, why_blocked(plugin)


def _check(config: pytest.Config, values: dict[str, Any]) -> None:
    for option, why in blocked_options(config, lambda name: config.getoption(name, None)):
        raise UsageError(f"{option.name}: {why}")
    if values["answers"] and values["record"] != "defer":
        raise UsageError("--miniwob-answers goes with --miniwob-record=defer")
    if fixed := {"messages", "model", "stream"} & values["llm_params"].keys():
        raise UsageError(f"--miniwob-llm-params: can't set {', '.join(sorted(fixed))}")
    check_params(values["llm_params"])
    if values["max_cost"] is not None and values["model"] is not None:
        check_price(values["model"], values["prices"])


def record_command(config: pytest.Config, *others: str) -> str:
    """Return the command that records what this run lacks, without options that others replace."""
    replaced = ("--miniwob-record", "--miniwob-answers", *others)
    words, given = ["pytest"], map(str, config.invocation_params.args)
    for word in given:
        if word in replaced:
            next(given, None)  # its value
        elif word.partition("=")[0] not in replaced:
            words.append(word)
    return _shown(config, [*words, "--miniwob-record=new_episodes"])


def record_item_command(item: pytest.Item) -> str:
    """Return the command that records an item."""
    words = ["pytest", _node_id(item), *_options(item), "--miniwob-record=new_episodes"]
    return _shown(item.config, words)


def show_command(item: pytest.Item, case: str) -> str:
    """Return the command that shows all of an item's episode."""
    test = _node_id(item).partition("[")[0]
    return _shown(item.config, ["miniwob-agent", "show", case, "--", test, *_options(item)])


def _node_id(item: pytest.Item) -> str:
    """Return pytest's id of an item, with a path from the working directory."""
    return f"{shown_from_here(item.path)}::{item.nodeid.partition('::')[2]}"


def _options(item: pytest.Item) -> list[str]:
    """Return the options of the command line that make a difference to an item."""
    config, words = item.config, []
    if config.inipath != find_ini_file(str(item.path))[0]:  # it was named, or found otherwise
        words += ["-c", str(shown_from_here(config.inipath or Path(os.devnull)))]
    if config.option.rootdir:
        words.append(f"--rootdir={shown_from_here(config.rootpath)}")
    for value in config.option.override_ini or ():
        if not value.startswith("strict"):  # pytest's own, for --strict-markers and the like
            words += ["-o", value]
    for option in all_options(config.hook):
        value = config.getoption(option.ini)
        if value is not None and not option.whole_run:
            words.append(option.name if option.flag else f"{option.name}={value}")
    return words


def _shown(config: pytest.Config, words: list[str]) -> str:
    """Return words as a command line, without keys and without what is sent but never kept."""
    for option in all_options(config.hook):
        if option.shown is not None:
            for given in filter(None, (config.getoption(option.ini), config.getini(option.ini))):
                words = [word.replace(given, option.shown(given)) for word in words]
    return shlex.join(mask(words, known_secrets(config)))
