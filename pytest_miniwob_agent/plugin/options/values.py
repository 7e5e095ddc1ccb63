"""Values of options as they are written, and the functions that check and parse them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pytest_miniwob_agent.browser.grid_address import (
    HostPort,
    check_capabilities,
    parse_address,
    parse_host_port,
    shown_capabilities,
)
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.params import is_server, shown_json
from pytest_miniwob_agent.models.prices import Price, parse_prices
from pytest_miniwob_agent.tasks.selection import parse_seeds


class Given(NamedTuple):
    """A value as it was written, and where.

    `name` is the option's in that place (`--miniwob-seeds` or `miniwob_seeds`), `folder` the one
    that relative paths count from: the working directory, or that of the ini file.
    """

    name: str
    text: str
    folder: Path


def parse_text(given: Given) -> str:
    """Return the text as it is."""
    return given.text


def parse_optional_text(given: Given) -> str | None:
    """Return the text, None if it is empty, as is an unset variable of a script."""
    return given.text or None


def parse_variable(given: Given) -> str | None:
    """Return the name of an environment variable, None if the text is empty.

    Raises:
        UsageError: the text can't be one; a key that was given in its place is not shown.
    """
    if given.text and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", given.text):
        raise UsageError(
            f"{given.name}: give the name of an environment variable, such as MY_KEY, not the key"
        )
    return given.text or None


def parse_server(given: Given) -> str | None:
    """Return the address of a server, None if it is empty, as is an unset variable of a script.

    Raises:
        UsageError: the text is not an address; the message does not hold it, as it may have a key.
    """
    if given.text and not is_server(given.text):
        raise UsageError(
            f"{given.name}: give the whole address of a server, such as http://127.0.0.1:8000/v1"
        )
    return given.text or None


def parse_grid(given: Given) -> str | None:
    """Return the address of a Grid, None if it is empty, as is an unset variable of a script.

    Raises:
        UsageError: the text is not an address.
    """
    return parse_address(given.name, given.text) if given.text else None


def parse_serve(given: Given) -> HostPort | None:
    """Return a host and a port, None if the text is empty.

    Raises:
        UsageError: the text has another form than HOST[:PORT].
    """
    return parse_host_port(given.name, given.text) if given.text else None


def parse_path(given: Given) -> Path:
    """Return the path of a file or a folder."""
    return given.folder / given.text


def parse_folders(given: Given) -> list[Path]:
    """Return the paths of folders, separated by commas or line ends."""
    return [given.folder / name for name in re.split(r"\s*[,\n]\s*", given.text.strip()) if name]


def parse_count(given: Given) -> int:
    """Return a positive integer.

    Raises:
        UsageError: the text is not one.
    """
    return check_count(given.name, given.text)


def check_count(name: str, value: Any) -> int:
    """Return the value as a positive integer.

    Raises:
        UsageError: it is not one.
    """
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise UsageError(f"{name}: {value!r} must be a positive integer")
    return number


def parse_seed_list(given: Given) -> list[int]:
    """Return seeds from a list of numbers and ranges, `1000-1024,7`.

    Raises:
        UsageError: a part of it is neither.
    """
    return parse_seeds(given.text)


def parse_object(given: Given, shown: Callable[[str], str] = shown_json) -> dict[str, Any]:
    """Return a JSON object.

    Args:
        given: the value.
        shown: returns the value as a message may show it.

    Raises:
        UsageError: the text is not one.
    """
    try:
        value = json.loads(given.text)
    except ValueError as error:
        raise UsageError(f"{given.name}: {shown(given.text)!r} is not JSON: {error}") from None
    if not isinstance(value, dict):
        example = '{"name": 1}'
        text = shown(given.text)
        raise UsageError(f"{given.name}: {text!r} is not a JSON object, such as {example}")
    return value


def parse_capabilities(given: Given) -> dict[str, Any]:
    """Return capabilities of sessions on a Grid, from a JSON object.

    Raises:
        UsageError: the text is not one, or it sets what pages depend on.
    """
    capabilities = parse_object(given, shown_capabilities)
    check_capabilities(given.name, capabilities)
    return capabilities


def parse_dollars(given: Given) -> float:
    """Return an amount of US dollars above 0.

    Raises:
        UsageError: the text is not one.
    """
    try:
        amount = float(given.text)
    except ValueError:
        amount = math.nan
    if not 0 < amount < math.inf:
        raise UsageError(
            f"{given.name}: {given.text!r} must be an amount of US dollars above 0, such as 2.50"
        )
    return amount


def parse_price_list(given: Given) -> dict[str, Price]:
    """Return prices by model, from `MODEL PROMPT COMPLETION` entries.

    Raises:
        UsageError: an entry of another form.
    """
    return parse_prices(given.text)


def parse_baseline(given: Given) -> Path | str:
    """Return the path of a results file, or `git:REF` or `git:REF:PATH` as it is."""
    return given.text if given.text.startswith("git:") else parse_path(given)


def parse_shard(given: Given) -> tuple[int, int] | None:
    """Return the number of a shard and the number of shards, from `2/5`; None of an empty text.

    Raises:
        UsageError: the text is of another form.
    """
    if not given.text:
        return None
    number, _, of = given.text.partition("/")
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", given.text) or int(number) > int(of):
        raise UsageError(
            f"{given.name}: {given.text!r} does not name a shard, as 2/5 does the second of five"
        )
    return int(number), int(of)
