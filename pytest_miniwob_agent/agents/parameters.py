"""Parameters of agents, checked."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_miniwob_agent.core.errors import (
    UsageError,
)
from pytest_miniwob_agent.core.text import (
    nearest,
)


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """An agent's parameter, checked.

    Raises:
        UsageError: it is none of the choices.
    """
    if value not in choices:
        raise UsageError(
            f"--miniwob-agent-params: {name} {value!r} is not one of {', '.join(choices)}"
            + nearest(str(value), choices)
        )
    return value
