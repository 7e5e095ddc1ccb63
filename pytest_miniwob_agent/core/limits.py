"""The limits of an episode."""

from __future__ import annotations

from dataclasses import dataclass, fields

from pytest_miniwob_agent.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """The most trials in an episode, actions in a trial, and model calls in an episode.

    There are no limits of time, so that an episode does not depend on the speed of the machine.

    Raises:
        UsageError: a limit is below 1.
    """

    trials: int = 5
    steps: int = 30
    calls: int = 500

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) < 1:
                raise UsageError(f"{each.name} must be at least 1, not {getattr(self, each.name)}")
