"""What is kept of an item's run for those who look at it later: its events, and pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.events import Episode, Event
from pytest_miniwob_agent.core.observations import Shot
from pytest_miniwob_agent.core.protocols import Environment


class Run(Protocol):
    """Runs the item; `watch` and `camera` are those of `run_episode`."""

    def __call__(
        self,
        watch: Callable[[Event], None],
        camera: Callable[[int, int, Shot, Action | None], None] | None,
    ) -> Episode:
        """The episode, or an error that says why there is none."""
        ...


class Keeper(Protocol):
    """What keeps traces of items: is asked for one before an item runs, and given it afterwards."""

    def trace(self, run: Run, environment: Environment) -> Trace:
        """What is to be kept of an item that does not run yet."""
        ...

    def finish(self, trace: Trace, outcome: dict[str, Any], cassette: Any) -> None:
        """Keep it, with what became of the item; `cassette` is its `ItemCassette`, or None."""
        ...


class Trace:
    """The events of an item, also of one that came to no end, and pictures of its pages.

    Args:
        run: runs the item.
        keep: stores a picture and returns the name that it has from there on; None if there can be
            no pictures.
        pictures: whether they are taken as the item runs.
    """

    def __init__(
        self, run: Run, keep: Callable[[bytes], str] | None = None, *, pictures: bool = False
    ) -> None:
        self._run = run
        self.keep = keep
        self._pictured = pictures and keep is not None
        self._events: list[Event] = []
        self._pictures: list[dict[str, Any]] = []
        self.note = ""
        """What a reader of the pictures must know."""

    def run(self) -> Episode:
        """Run the item; what was kept of an earlier run is forgotten."""
        self._events, self._pictures = [], []
        return self._run(self._events.append, self._take if self._pictured else None)

    def replay(self) -> None:
        """Run the item again as it ran, for its pictures alone; what it comes to is known.

        So no error of this run may become the item's, not even one of a user's own agent or page.
        """
        events = self._events
        self._pictured = True
        try:
            self.run()
        except MiniwobError as error:
            told = f": {error}"
        except Exception as error:  # noqa: BLE001 - agents and pages may be anybody's
            told = f": {type(error).__name__}: {error}"
        else:
            told = ""
        if self._events != events:
            self.note = (
                "The item was run again for its pictures and did something else, so that they may "
                f"not show what is told here{told}"
            )
            self._events = events

    def _take(self, trial: int, step: int, shot: Shot, action: Action | None) -> None:
        assert self.keep is not None
        try:
            name = self.keep(shot.png)
        except OSError as error:
            self.note = f"Pictures are missing that can't be written: {error.strerror or error}"
            return
        self._pictures.append(
            {
                "trial": trial,
                "step": step,
                "name": name,
                "size": list(shot.size),
                "points": [list(point) for point in shot.points],
                "boxes": [list(box) for box in shot.boxes],
            }
        )

    def to_data(self) -> dict[str, Any]:
        """All of it in plain JSON types."""
        return {"events": to_data(self._events), "pictures": self._pictures, "note": self.note}
