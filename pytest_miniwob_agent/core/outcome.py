"""The outcome of an item: the one record that results, terminal, JUnit and report read."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """What became of an item, in one word."""

    SOLVED = "solved"
    UNSOLVED = "unsolved"
    DRIFTED = "drifted"
    ERROR = "error"
    WAITING = "waiting"
    BUDGET = "budget"

    @property
    def conclusive(self) -> bool:
        """True if the run shows whether the agent solves the item."""
        return self in (Status.SOLVED, Status.UNSOLVED)
