"""Parsers of option values: each takes the option's name and a text, and returns the value.

They raise a `UsageError` that begins with the name if the text is not valid. None stands for an
empty text, as of an unset variable of a script, which switches the option off.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.browser import grid_address
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.budget import Price, parse_prices
from pytest_miniwob_agent.models.params import is_server
from pytest_miniwob_agent.tasks.selectors import parse_seeds


def parse_text(name: str, text: str) -> str | None:
    """Return the text."""
    return text or None


def parse_path(name: str, text: str) -> Path | None:
    """Return the path of a file or a folder."""
    return Path(text) if text else None


def parse_folders(name: str, text: str) -> list[Path]:
    """Return the paths of folders, separated by commas or line breaks."""
    return [Path(folder) for folder in re.split(r"\s*[,\n]\s*", text.strip()) if folder]


def parse_baseline(name: str, text: str) -> Path | str | None:
    """Return the path of a results file, or `git:REF` or `git:REF:PATH` as it is."""
    return text if text.startswith("git:") else parse_path(name, text)


def parse_count(name: str, value: Any) -> int:
    """Return a positive integer, from a text or the argument of a marker."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise UsageError(f"{name}: {value!r} must be a positive integer")
    return number


def parse_dollars(name: str, text: str) -> float:
    """Return an amount of US dollars above 0."""
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 < amount < math.inf:
        raise UsageError(f"{name}: {text!r} must be an amount of US dollars above 0, such as 2.50")
    return amount


def parse_seed_list(name: str, text: str) -> list[int]:
    """Return the seeds of `1000-1024,7`."""
    return parse_seeds(text)


def parse_price_list(name: str, text: str) -> dict[str, Price]:
    """Return prices by model, from entries `MODEL PROMPT COMPLETION`."""
    return parse_prices(text)


def parse_object(name: str, text: str) -> dict[str, Any]:
    """Return a JSON object. The error does not quote the text, as it may hold a key."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{name}: this is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"""{name}: this is not a JSON object, such as '{{"name": 1}}'""")
    return value


def parse_capabilities(name: str, text: str) -> dict[str, Any]:
    """Return the capabilities of sessions on a Grid, from a JSON object."""
    capabilities = parse_object(name, text)
    grid_address.check_capabilities(name, capabilities)
    return capabilities


def parse_variable(name: str, text: str) -> str | None:
    """Return the name of an environment variable."""
    if text and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):  # it may be the key itself
        raise UsageError(
            f"{name}: give the name of an environment variable, such as MY_KEY, not the key"
        )
    return text or None


def parse_server(name: str, text: str) -> str | None:
    """Return the address of a server."""
    if text and not is_server(text):  # it may hold a key
        raise UsageError(f"{name}: give the full URL of a server, such as http://127.0.0.1:8000/v1")
    return text or None


def parse_grid(name: str, text: str) -> str | None:
    """Return the address of a Grid."""
    return grid_address.parse_address(name, text) if text else None


def parse_serve(name: str, text: str) -> grid_address.HostPort | None:
    """Return the host and the port of `HOST[:PORT]`."""
    return grid_address.parse_host_port(name, text) if text else None


def parse_shard(name: str, text: str) -> tuple[int, int] | None:
    """Return the number of a shard and the number of shards, from `2/5`."""
    if not text:
        return None
    number, _, of = text.partition("/")
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", text) or int(number) > int(of):
        raise UsageError(f"{name}: {text!r} does not name a shard; the second of five is 2/5")
    return int(number), int(of)
