"""The outcome of an item: the one record that results, terminal, JUnit and report read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import Cause, ChangedPicture, NotRecorded
from pytest_miniwob_agent.core.events import Called, Episode, Event


class Status(StrEnum):
    """Status of an item, in one word."""

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


class Change(StrEnum):
    """A change against the baseline."""

    PROGRESSED = "progressed"
    REGRESSED = "regressed"


RECORD_IT = "\nRecord it with: "
"""Precedes the command that records an item, at the end of the message of a missing cassette."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """An item in the baseline: `solved` of its conclusive `samples`, and its result in words."""

    solved: int
    samples: int
    text: str


@dataclass(frozen=True, slots=True)
class DriftDetails:
    """Reasons why an item's model calls are not those of its cassette; the fields of `Drift`."""

    report: str
    causes: tuple[Cause, ...]
    changes: tuple[str, ...]
    pictures: tuple[ChangedPicture, ...] = field(default=(), metadata={"optional": True})


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the page in a report's folder, taken before action `step` of a trial.

    `size`, `points` and `boxes` are those of its `Shot`, in CSS pixels.
    """

    trial: int
    step: int
    name: str
    size: tuple[int, int]
    points: tuple[tuple[int, int], ...] = ()
    boxes: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of an item, as it travels with pytest's report of it.

    Attributes:
        test: the node id of the item's test, without the case.
        prompts: the digest of each prompt file that was used, by file name.
        sent: digests of the system messages, tools and parameters of the calls, and of the agent's
            source.
        episode: the episode; None unless the status is conclusive.
        events: the events of an episode that broke off.
        error: the name of the exception of an item that drifted or failed with an error.
        message: the reason for which the item is inconclusive.
        request: the model call that waits for a completion, as a line of a batch file.
        cassette: the item's cassette below the cassette folder, without its ending.
        replayed, recorded: the calls that were answered from the cassette, and by a server.
        unusable: the usage of answers that were paid for and are not recorded, by reason.
        left: the recorded calls that were not made.
        earlier: the item in the baseline; None if it is not there.
        pictures: those of the item in the report's folder; `pictures_note` is a remark.
    """

    case: Case
    agent: str
    model: str
    status: Status
    test: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    sent: Mapping[str, str] = field(default_factory=dict, metadata={"optional": True})
    limits: Limits | None = None
    episode: Episode | None = None
    events: tuple[Event, ...] = ()
    error: str = ""
    message: str = ""
    drift: DriftDetails | None = None
    request: Mapping[str, Any] | None = None
    cassette: str = ""
    replayed: Usage = field(default_factory=Usage)
    recorded: Usage = field(default_factory=Usage)
    unusable: Mapping[str, Usage] = field(default_factory=dict)
    left: Usage = field(default_factory=Usage)
    change: Change | None = None
    earlier: Earlier | None = None
    pictures: tuple[Picture, ...] = ()
    pictures_note: str = ""

    @property
    def solved(self) -> bool:
        """True if a trial got the full reward."""
        return self.status is Status.SOLVED

    @property
    def spent(self) -> Usage:
        """The calls that a server was paid for: those that are recorded, and unusable ones."""
        return sum(self.unusable.values(), self.recorded)

    @property
    def reason(self) -> str:
        """The reason for which the item is not conclusive: causes of drift, or an error's name."""
        causes = self.drift.causes if self.drift is not None else ()
        return ", ".join(cause.kind for cause in causes) or self.error

    @property
    def not_recorded(self) -> bool:
        """True if the item has no cassette."""
        return self.error == NotRecorded.__name__

    @property
    def message_of_cause(self) -> str:
        """The message without the item's own names, as all items with its cause share it."""
        message = self.message.partition(RECORD_IT)[0]
        return message.replace(f"{self.case.task}/{self.case.sample}", "…")

    @property
    def history(self) -> Sequence[Event]:
        """The events of the episode, also of one that broke off."""
        return self.episode.events if self.episode is not None else self.events

    @property
    def answered_by(self) -> list[str]:
        """The models that answered, as their servers name them, with their fingerprints."""
        answers = [event.completion for event in self.history if isinstance(event, Called)]
        prints = {(said.model, said.system_fingerprint) for said in answers if said.model}
        return sorted(f"{model} ({mark})" if mark else model for model, mark in prints)

    def after(self, earlier: Outcome) -> Outcome:
        """Return this outcome with the calls that an earlier run of the item recorded, too.

        Those that this run replayed count as recorded alone.
        """
        before = earlier.recorded
        again = before if before.calls <= self.replayed.calls else Usage()
        return replace(self, recorded=before + self.recorded, replayed=self.replayed - again)

    def to_data(self) -> dict[str, Any]:
        """The outcome in plain JSON types."""
        episode = self.episode.to_data() if self.episode is not None else None
        data: dict[str, Any] = to_data(replace(self, episode=None))
        return data | {"episode": episode}
