"""Screenshots of an item's page, for the report (`--miniwob-trace`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.actions import AnyAction
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import ChangedPicture, MiniwobError
from pytest_miniwob_agent.core.events import Event
from pytest_miniwob_agent.core.observations import Shot
from pytest_miniwob_agent.core.outcome import DriftDetails, Picture, Status
from pytest_miniwob_agent.core.protocols import Observer, Page, PlayedItem, Visible
from pytest_miniwob_agent.plugins.report.folder import Report


class Screenshots(Observer):
    """Takes screenshots of the page as an item runs, or as it is replayed for them."""

    def __init__(self, folder: Path, trace: str, page: Page) -> None:
        self._report = Report(folder)
        self._visible = isinstance(page, Visible)
        self._on_failure = trace == "retain-on-failure"
        self.wants_pictures = trace == "on" and self._visible
        self._taken: list[Picture] = []
        self._events: list[Event] = []
        # A remark on the screenshots that their reader must know.
        self._note = ""
        if trace != "off" and not self._visible:
            self._note = (
                "There are no pictures: the page has no method look(action) that returns a Shot"
            )

    def before_episode(self, case: Case) -> None:
        self._taken, self._events = [], []

    def on_event(self, event: Event) -> None:
        # A replay for screenshots is compared with these.
        self._events.append(event)

    def on_picture(self, shot: Shot, trial: int, step: int, action: AnyAction | None) -> None:
        try:
            name = self._report.add_picture(shot.png)
        except OSError as error:
            self._note = (
                f"Pictures are missing, as they can't be written: {error.strerror or error}"
            )
            return
        self._taken.append(Picture(trial, step, name, shot.size, shot.points, shot.boxes))

    def before_outcome(self, item: PlayedItem) -> Mapping[str, Any]:
        """Take the screenshots of a failure; return all, with what there is to know of them."""
        failed = item.status in (Status.UNSOLVED, Status.DRIFTED)
        if self._on_failure and self._visible and failed:
            self._retake(item)
        parts = {"pictures": tuple(self._taken), "pictures_note": self._note}
        if item.on_live_app and item.drift and self._taken:
            return {**parts, "drift": self._show_both(item, item.drift)}
        return parts

    def _retake(self, item: PlayedItem) -> None:
        """Replay the item for its screenshots; no error of the replay becomes the item's."""
        if not item.replayable:
            self._note = (
                "There are no pictures: this model is not behind a cassette, so the item can't be "
                "replayed for them. Run it with --miniwob-trace=on"
            )
            return
        events, reason = self._events, ""
        self.wants_pictures = True
        try:
            item.replay(self)
        except Exception as error:  # noqa: BLE001 - agents and pages may be anybody's
            name = "" if isinstance(error, MiniwobError) else f"{type(error).__name__}: "
            reason = f": {name}{error}"
        if self._events != events:
            self._note = (
                "The item did something else when it was run again for its pictures, so they may "
                f"not show what is described here{reason}"
            )

    def _show_both(self, item: PlayedItem, drift: DriftDetails) -> DriftDetails:
        now = self._taken[-1]
        taken, self._taken = self._taken, []
        self.wants_pictures = True
        with suppress(Exception):
            item.replay(self, as_recorded=True)
        found = {(one.trial, one.step): one.name for one in self._taken}
        self._taken = taken
        if (recorded := found.get((now.trial, now.step))) is None:
            return drift
        paths = [str(self._report.picture(name)) for name in (recorded, now.name)]
        what = f"the page before action {now.step} of trial {now.trial}"
        change = ChangedPicture(len(drift.pictures) + 1, what, *paths)
        return replace(drift, pictures=(*drift.pictures, change))
