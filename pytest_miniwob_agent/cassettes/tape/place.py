"""The place of a model call among those of its item, in threads and asyncio tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from pytest_miniwob_agent.core.events import Origin


@dataclass(slots=True, eq=False)
class Place:
    """The place of a call.

    Args:
        owner: the cassette.
        origin: where in the episode the call is made; None outside of it.
        began: how many calls of the item were over when it began.
        number: its number among the calls that were begun.
        parent: in an asyncio task, the call that this task, or the one that started it, made
            before.
        depth: the number of calls that must come before it; 0 in a thread without a task.
        deepest: the greatest depth of the calls that came of it.
        open: how many of those are under way, itself included.
        level: the depth of the next call that comes of it, while others are under way.
    """

    owner: object
    origin: Origin | None
    began: int
    number: int
    parent: Place | None = None
    depth: int = 0
    deepest: int = 0
    open: int = 0
    level: int = 0

    def order(self, key: str) -> tuple[int, str, int]:
        """Return what the call is sorted by among those that were made at the same time.

        Tasks take turns in an order that depends on the server's speed. Their depth does not: it
        follows from which call comes of which.
        """
        return self.depth, key, self.number

    def begin(self, parent: Place) -> None:
        """Begin a call of an asyncio task."""
        self.parent = parent
        if not parent.open:  # after the tasks that were waited for, otherwise beside them
            parent.level = parent.deepest + 1
        self.depth = self.deepest = parent.level
        for each in self._line():
            each.deepest = max(each.deepest, self.depth)
            each.open += 1

    def end(self) -> None:
        """End the call."""
        for each in self._line() if self.parent else ():
            each.open -= 1

    def _line(self) -> Iterator[Place]:
        place: Place | None = self
        while place is not None:
            yield place
            place = place.parent


_PLACE: ContextVar[Place | None] = ContextVar("miniwob_place", default=None)
"""The place of the present call. `asyncio.to_thread` takes it along, a thread has its own."""


def set_place(place: Place, root: Place) -> None:
    """Begin a call of this thread or task; `root` stands for the beginning of the episode."""
    if _in_task():
        place.begin(place_in(place.owner) or root)
    _PLACE.set(place)


def place_in(owner: object) -> Place | None:
    """Return the place of the present call; None if there is none in this cassette."""
    place = _PLACE.get()
    return place if place is not None and place.owner is owner else None


def clear_place() -> None:
    """End the episode for this thread: its next call is the test's own."""
    _PLACE.set(None)


def _in_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:  # there is no event loop
        return False
