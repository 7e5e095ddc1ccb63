"""Model calls and their tokens, counted."""

from __future__ import annotations

import operator
from dataclasses import astuple, dataclass
from typing import Any

_IMPOSSIBLE = 10**12
"""A number of tokens that no call has; a server that reports it does not count."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls and their tokens; `uncounted` is the number of calls without a token count."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    uncounted: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(operator.add, astuple(self), astuple(other)))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*map(operator.sub, astuple(self), astuple(other)))

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens of the calls with a count."""
        return self.prompt + self.completion


def token_count(value: Any) -> int | None:
    """Return a server's token count, or None where it is not a possible number of tokens."""
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _IMPOSSIBLE
    return value if counts else None
