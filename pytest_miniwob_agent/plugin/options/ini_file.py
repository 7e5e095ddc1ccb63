"""Values of the ini file, of `[tool.pytest]` and `pytest.toml` with the types of TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugin.options.declarations import Option
from pytest_miniwob_agent.plugin.options.values import (
    Given,
    parse_folders,
    parse_price_list,
    parse_seed_list,
)

if TYPE_CHECKING:
    import pytest

_BETWEEN: Mapping[Callable[[Given], Any], str] = {
    parse_seed_list: ",",
    parse_price_list: "\n",
    parse_folders: "\n",
}
"""The text between the entries of a list, by the parsers of options that take several."""


class IniFile:
    """The options that the ini file or `-o` gives.

    pytest reads texts, numbers and truth values. Tables and lists of a TOML file are read here.

    Args:
        config: pytest's configuration.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._structures = _structures(config)

    def text(self, option: Option) -> str | None:
        """Return the value as it would be written on the command line, None if there is none.

        Raises:
            UsageError: a table or a list of an option that takes none; its content is not shown, as
                it may hold a key.
        """
        value = self._structures.get(option.ini)
        if value is None:
            given = self._config.getini(option.ini)
            return None if given in (None, "") else str(given)
        if isinstance(value, dict) and option.is_object:
            return json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, list) and (between := _BETWEEN.get(option.parse)):
            return between.join(map(str, value))
        kind = "table" if isinstance(value, dict) else "list"
        raise UsageError(f"{option.ini}: can't be a {kind} of TOML; write one value")


def _structures(config: pytest.Config) -> Mapping[str, Any]:
    """Return the tables and lists that the ini file gives, if it is one of TOML."""
    path = config.inipath
    if path is None or path.suffix != ".toml":
        return {}
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    given = document.get("tool", {}).get("pytest") or document.get("pytest", {})
    given = {**given, **given.get("ini_options", {})}
    for name in (each.partition("=")[0] for each in config.getoption("override_ini") or ()):
        given.pop(name, None)
    return {name: value for name, value in given.items() if isinstance(value, dict | list)}
