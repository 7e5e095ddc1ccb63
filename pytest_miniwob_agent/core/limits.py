"""The limits of an episode."""

from __future__ import annotations

from dataclasses import asdict, dataclass

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
        for name, most in asdict(self).items():
            if most < 1:
                raise UsageError(f"{name} must be at least 1, not {most}")
