"""The parameters of built-in agents (`--miniwob-agent-params`), and the names of their variants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import nearest


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return the value of a parameter if it is one of the choices.

    Raises:
        UsageError: it is none of them.
    """
    if value not in choices:
        raise UsageError(
            f"--miniwob-agent-params: {name} {value!r} is not one of {', '.join(choices)}"
            + nearest(str(value), choices)
        )
    return str(value)


def check_integer(name: str, value: Any, least: int, most: int) -> int:
    """Return the value of a parameter if it is an integer within bounds.

    Raises:
        UsageError: it is not.
    """
    if type(value) is not int or not least <= value <= most:
        raise UsageError(
            f"--miniwob-agent-params: {name} must be an integer from {least} to {most}, "
            f"not {value!r}"
        )
    return value


def variant_name(agent: str, *parts: str | bool) -> str:
    """Name a variant of an agent by what differs; its folder of cassettes is called so.

    A part that is empty or False does not differ.
    """
    return "-".join([agent, *(str(part) for part in parts if part)])
