"""The modes of recording."""

from __future__ import annotations

from enum import StrEnum


class Record(StrEnum):
    """The modes of recording (`--miniwob-record`)."""

    NONE = "none"
    NEW_EPISODES = "new_episodes"
    ALL = "all"
    DEFER = "defer"

    @property
    def writes(self) -> bool:
        """True if calls may be added, dropped or changed."""
        return self is not Record.NONE

    @property
    def live(self) -> bool:
        """True if a call that is not recorded may go to the server."""
        return self in (Record.NEW_EPISODES, Record.ALL)

    @property
    def again(self) -> str:
        """What the user does to continue a recording that was stopped."""
        if self is Record.ALL:
            return "run with --miniwob-record=new_episodes, which replays older cassettes,"
        return "run again"
