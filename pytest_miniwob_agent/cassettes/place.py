"""The place of a model call among those of its item, in threads and asyncio tasks."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass

from pytest_miniwob_agent.core.events import Origin


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a call.

    Args:
        owner: the cassette.
        origin: where in the episode the call is made; None outside of it.
        began: how many calls of the item were over when it began.
        number: its number among the calls that were begun.
        depth: how many calls its asyncio task, and those that started it, made before; 0 in a
            thread without a task.
    """

    owner: object
    origin: Origin | None
    began: int
    number: int
    depth: int

    def order(self, key: str) -> tuple[int, str, int]:
        """Return what the call is sorted by among those that were made at the same time.

        Tasks take turns in an order that depends on the server's speed. Sorted by depth first,
        second calls come after first ones, as they do where every answer comes at once.
        """
        return self.depth, key, self.number


_PLACE: ContextVar[Place | None] = ContextVar("miniwob_place", default=None)
"""The place of the present call. `asyncio.to_thread` takes it along, a thread has its own."""


def set_place(owner: object, origin: Origin | None, began: int, number: int) -> Place:
    """Set the place of the next call of this thread or task, and return it."""
    last = _PLACE.get()
    in_task = last is not None and last.owner is owner and _in_task()
    place = Place(owner, origin, began, number, last.depth + 1 if last and in_task else 0)
    _PLACE.set(place)
    return place


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
