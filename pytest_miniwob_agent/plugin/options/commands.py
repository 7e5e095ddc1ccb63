"""Commands that are shown to users: those that record what is missing, or show an item."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miniwob_agent.core.files import shown_from_here
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.plugin.options.reading import find_ini_file
from pytest_miniwob_agent.plugin.options.settings import OPTIONS
from pytest_miniwob_agent.plugin.run.state import settings_of

if TYPE_CHECKING:
    import pytest


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
    for option in OPTIONS:
        value = config.getoption(option.ini)
        if value is not None and not option.whole_run:
            words.append(option.name if option.flag else f"{option.name}={value}")
    return words


def _shown(config: pytest.Config, words: list[str]) -> str:
    """Return words as a command line, without keys and without what is sent but never kept."""
    settings = settings_of(config)
    kept = json.dumps(settings.kept_params, ensure_ascii=False)
    for given in (config.getoption("miniwob_llm_params"), config.getini("miniwob_llm_params")):
        words = [word.replace(given, kept) for word in words] if given else words
    return shlex.join(redact(words, settings.sent_only_texts))
