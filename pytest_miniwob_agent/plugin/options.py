"""An option: one declaration, as a field of `Settings`, and the parsers of option values.

A parser takes a string and returns the value, or raises a `UsageError`.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.models.params import is_server


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of the command line, and its twin in the ini file.

    Attributes:
        key: the field of `Settings` that holds the value.
        help: the text of `--help`.
        group: the heading in `--help` and `docs/options.md`, at the first option below it.
        parse: makes the value of a string.
        default: the value if none is given, as a string.
        ini_type: the type of the twin in pytest's terms. A list is joined to lines.
        marker: true if the miniwob marker may set it: the marker overrides the ini file, the
            command line overrides the marker.
        whole_run: true if it concerns the run as a whole, so that a command that is shown for one
            item leaves it out.
        shown: makes what a command that is shown has in place of a value; None if it has all of it.
    """

    key: str = ""
    help: str
    group: str = ""
    parse: Callable[[str], Any] = str
    default: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    ini_type: Any = str | int | float
    marker: bool = False
    whole_run: bool = False
    shown: Callable[[str], str] | None = None

    @property
    def name(self) -> str:
        """The option on the command line, such as `--miniwob-max-calls`."""
        return f"--miniwob-{self.key.replace('_', '-')}"

    @property
    def ini(self) -> str:
        """Its twin in the ini file, and the attribute of pytest's options: `miniwob_max_calls`."""
        return f"miniwob_{self.key}"

    @property
    def flag(self) -> bool:
        return self.ini_type is bool

    def read(self, name: str, text: str, folder: Path) -> Any:
        """Return the value of a string; None for an empty one, which switches the option off.

        Relative paths start from the folder; `name` is the option or its twin, for messages.

        Raises:
            UsageError: the string is not valid.
        """
        # An unset variable of a script must not lift a limit.
        if not text and self.parse not in (parse_count, parse_dollars):
            return None
        if self.choices and text not in self.choices:
            choices = ", ".join(self.choices)
            hint = nearest(text, self.choices)
            raise UsageError(f"{name}: {text!r} is not one of {choices}{hint}")
        try:
            value = self.parse(text)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
        except ValueError as error:  # of a type such as float
            raise UsageError(f"{name}: {text!r} is not valid: {error}") from None
        if isinstance(value, list):
            return [folder / part if isinstance(part, Path) else part for part in value]
        return folder / value if isinstance(value, Path) else value


def option(help_text: str, *, secret: bool = False, **more: Any) -> Any:
    """Declare an option as a field of a dataclass, whose name is the option's.

    A `secret` may hold a key, so that `repr` must not show it. `more` are attributes of `Option`.
    """
    return field(repr=not secret, metadata={"option": Option(help=help_text, **more)})


def options_in(declared: type) -> tuple[Option, ...]:
    """Return the options that a dataclass declares, in its order."""
    return tuple(
        replace(one.metadata["option"], key=one.name)
        for one in fields(declared)
        if "option" in one.metadata
    )


def parse_folders(text: str) -> list[Path]:
    """Return the paths of folders, separated by commas or line breaks."""
    return [Path(folder) for folder in re.split(r"\s*[,\n]\s*", text.strip()) if folder]


def parse_program(text: str) -> Path | str:
    """Return the path of a program, or as it is the name of one on PATH."""
    return Path(text) if Path(text).name != text else text


SETUP = "setup:"
"""What a baseline begins with that is a set-up of the run itself."""


def parse_baseline(text: str) -> Path | str:
    """Return the path of a results file; `git:REF`, `git:REF:PATH` or `setup:NAME` as it is."""
    return text if text.startswith(("git:", SETUP)) else Path(text)


def parse_count(value: Any) -> int:
    """Return a positive integer, from a string or the argument of a marker."""
    try:
        number = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or value is True:
        raise UsageError(f"{value!r} must be a positive integer")
    return number


def parse_dollars(text: str) -> float:
    """Return an amount of US dollars above 0."""
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 < amount < math.inf:
        raise UsageError(f"{text!r} must be an amount of US dollars above 0, such as 2.50")
    return amount


def parse_object(text: str) -> dict[str, Any]:
    """Return a JSON object. The error does not quote the text, as it may hold a key."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise UsageError(f"this is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError("""this is not a JSON object, such as '{"name": 1}'""")
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"it has no number {name}")


def parse_variable(text: str) -> str:
    """Return the name of an environment variable. The error does not quote it."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise UsageError("give the name of an environment variable, such as MY_KEY, not the key")
    return text


def parse_server(text: str) -> str:
    """Return the address of a server. The error does not quote it, as it may hold a key."""
    if not is_server(text):
        raise UsageError("give the full URL of a server, such as http://127.0.0.1:8000/v1")
    return text


def parse_upstreams(text: str) -> dict[str, str]:
    """Return servers by name, from `NAME=URL`, separated by commas or line breaks."""
    found = {}
    for each in re.split(r"\s*[,\n]\s*", text.strip()):
        name, _, url = each.partition("=")
        if not re.fullmatch(r"(?!v\d)[a-z][a-z0-9_-]*", name) or not is_server(url):
            raise UsageError(
                "give each server as NAME=URL, such as ollama=http://127.0.0.1:11434; a name has "
                "lower-case letters, digits, - and _"
            )
        found[name] = url
    return found


def parse_shard(text: str) -> tuple[int, int]:
    """Return the number of a shard and the number of shards, from `2/5`."""
    number, _, of = text.partition("/")
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", text) or int(number) > int(of):
        raise UsageError(f"{text!r} does not name a shard; the second of five is 2/5")
    return int(number), int(of)
