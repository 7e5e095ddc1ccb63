"""Checks of agents' parameters (`--miniwob-agent-params`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import nearest


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return the value of a parameter that must be one of some words.

    Raises:
        UsageError: it is none of them.
    """
    if value not in choices:
        raise UsageError(
            f"--miniwob-agent-params: {name} {value!r} is not one of {', '.join(choices)}"
            + nearest(str(value), choices)
        )
    return str(value)


def check_integer(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return the value of a parameter that must be an integer from `least` up to `most`.

    Raises:
        UsageError: it is not an integer, or out of these bounds.
    """
    if type(value) is int and value >= least and (most is None or value <= most):
        return value
    wanted = f"an integer of at least {least}" if least != 1 else "a positive integer"
    if most is not None:
        wanted = f"an integer from {least} to {most}"
    raise UsageError(f"--miniwob-agent-params: {name} must be {wanted}, not {value!r}")
