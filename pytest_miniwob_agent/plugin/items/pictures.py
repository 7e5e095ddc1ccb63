"""Pictures of an item's pages for the report (`--miniwob-trace`)."""

from __future__ import annotations

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.observations import Shot
from pytest_miniwob_agent.core.outcome import Picture, Status
from pytest_miniwob_agent.core.protocols import Observer, Page, Visible
from pytest_miniwob_agent.plugin.options.settings import Settings


class PictureTaker(Observer):
    """Takes pictures as an item runs, and keeps them in the report's folder.

    Set `wants_pictures` to have them taken of a replay.
    """

    def __init__(self, settings: Settings, environment: Page) -> None:
        self._folder = settings.report if isinstance(environment, Visible) else None
        self._on_failure = settings.trace == "retain-on-failure"
        self.wants_pictures = settings.trace == "on" and self._folder is not None
        self.pictures: list[Picture] = []
        self.note = ""
        """A remark on the pictures that their reader must know."""
        if settings.report and settings.trace != "off" and self._folder is None:
            self.note = (
                "There are no pictures: the page has no method look(action) that returns a Shot"
            )

    def wanted(self, status: Status | None) -> bool:
        """True if an item is to be replayed for its pictures."""
        failed = status in (Status.UNSOLVED, Status.DRIFTED)
        return self._on_failure and self._folder is not None and failed

    def before_episode(self, case: Case) -> None:
        """Forget the pictures of an earlier run."""
        self.pictures = []

    def on_picture(self, shot: Shot, trial: int, step: int, action: Action | None) -> None:
        """Put a picture into the report's folder."""
        from pytest_miniwob_agent.report.folder import Report

        assert self._folder is not None
        try:
            name = Report(self._folder).add_picture(shot.png)
        except OSError as error:
            self.note = f"Pictures are missing, as they can't be written: {error.strerror or error}"
            return
        self.pictures.append(Picture(trial, step, name, shot.size, shot.points, shot.boxes))
