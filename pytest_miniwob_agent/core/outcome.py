"""The outcome of an item, and its result: what results files, reports and exports read of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from html import unescape
from typing import Any

from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.chat import GraderUsage, Usage
from pytest_miniwob_agent.core.data import Count, Reward, to_data
from pytest_miniwob_agent.core.errors import Cause, ChangedPicture, NotRecorded
from pytest_miniwob_agent.core.events import Called, Episode, Event
from pytest_miniwob_agent.core.grades import Grade


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


@dataclass(frozen=True, slots=True)
class Tokens:
    """Counts of tokens, None if a server gave none; those of a cache are among the prompt's."""

    prompt: Count | None
    completion: Count | None
    cached: Count = field(default=0, metadata={"optional": True})
    written: Count = field(default=0, metadata={"optional": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of one sample of an item.

    `repeat` counts the samples from 1, and `setup` is that of the `Case`. `params` are the
    parameters of every model call, `prompts` the digest of each prompt file. `sent` has digests of
    the system messages, tools and parameters that the calls had, and of the agent's source.
    `response_models` and `system_fingerprints` name what answered, as in the responses, sorted and
    without repetition. `reason` is a short text, empty if the outcome is conclusive. `test` is the
    node id of the item's test, without the case. `solved_at` is the trial that got the full reward,
    counting from 1; `endings` and `rewards` (from -1 to 1) have one entry per trial. `calls` counts
    model calls by purpose. `typings` are those of the `steps` that entered text: the papers count a
    click and keys for each. `payload` tells whether a prompt had the text of the page's attack:
    `shown`, `not shown`, or `unknown` if prompts had pictures. `app` is `live` if the app that the
    item is on answered as it is now, with recorded answers of the model. `assertion` is the line of
    the test that failed, of an item that its page calls solved; `grades` are those of graders, and
    `extra` has the fields of plugins.
    """

    category: str
    task: str
    seed: int
    repeat: int = 1
    setup: str = field(default="", metadata={"optional": True})
    agent: str
    model: str
    params: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    sent: Mapping[str, str] = field(default_factory=dict, metadata={"optional": True})
    limits: Limits | None = None
    response_models: tuple[str, ...] = ()
    system_fingerprints: tuple[str, ...] = ()
    outcome: Status
    reason: str = ""
    test: str = ""
    solved_at: int | None = None
    endings: tuple[str, ...] = ()
    rewards: tuple[Reward, ...] = ()
    steps: Count = 0
    typings: Count = field(default=0, metadata={"optional": True})
    calls: Mapping[str, Count] = field(default_factory=dict)
    tokens: Tokens = Tokens(None, None)
    payload: str = field(default="", metadata={"optional": True})
    app: str = field(default="", metadata={"optional": True})
    assertion: str = field(default="", metadata={"optional": True})
    grades: tuple[Grade, ...] = field(default=(), metadata={"optional": True})
    extra: Mapping[str, Any] = field(default_factory=dict, metadata={"optional": True})

    @classmethod
    def of(cls, episode: Episode, status: Status, payload: str = "", **about: Any) -> Result:
        """The result of an episode: of one that broke off, only who played it.

        Its prompts are searched for the `payload` of the page's attack, if there is one.
        """
        calls = [event for event in episode.events if isinstance(event, Called)]
        answers = [call.completion for call in calls]
        found: dict[str, Any] = {}
        if status.conclusive:
            found = {
                "solved_at": episode.solved_at if status is Status.SOLVED else None,
                "endings": tuple(map(str, episode.endings)),
                "rewards": episode.rewards,
                "steps": episode.steps,
                "typings": episode.typings,
                "calls": dict(Counter(call.purpose for call in calls)),
                "tokens": Tokens(
                    add_tokens(answer.prompt_tokens for answer in answers),
                    add_tokens(answer.completion_tokens for answer in answers),
                    sum(answer.cached_tokens for answer in answers),
                    sum(answer.written_tokens for answer in answers),
                ),
                "grades": episode.grades,
                "payload": payload and _shown(payload, [call.prompt for call in calls]),
            }
        return cls(
            **asdict(episode.case),
            agent=episode.agent,
            model=episode.model,
            response_models=_names(answer.model for answer in answers),
            system_fingerprints=_names(answer.system_fingerprint for answer in answers),
            outcome=status,
            **found,
            **about,
        )

    @property
    def item(self) -> str:
        """The item's id, which all of its samples share: `<category>/<task>/<seed>`."""
        return self.identity.item

    @property
    def case(self) -> str:
        """The pytest item's id: `item`, and `-2` after it for the second sample."""
        return self.identity.id

    @property
    def group(self) -> str:
        """The category, after the set-up if there is one."""
        return self.identity.group

    @property
    def identity(self) -> Case:
        """The case that it is a result of."""
        return Case(self.task, self.category, self.seed, self.repeat, self.setup)

    @property
    def solved(self) -> bool:
        """True if a trial got the full reward, and neither graders nor the test object."""
        return self.outcome == Status.SOLVED

    @property
    def conclusive(self) -> bool:
        """True if the run shows whether the agent solves the item."""
        return self.outcome.conclusive

    @property
    def objections(self) -> tuple[str, ...]:
        """Why an item is unsolved that its page may call solved: graders, a line of the test."""
        failed = [str(grade) for grade in self.grades if not grade.passed]
        return tuple(filter(None, [*failed, self.assertion]))

    @property
    def followed(self) -> bool:
        """True if the page was attacked, and says that the agent did what the attack asks for."""
        return bool(self.payload) and -1 in self.rewards

    @property
    def usage(self) -> Usage:
        """The model calls and their tokens."""
        calls, tokens = sum(self.calls.values()), self.tokens
        if tokens.prompt is None or tokens.completion is None:
            return Usage(calls, uncounted=calls)
        return Usage(calls, tokens.prompt, tokens.completion, 0, tokens.cached, tokens.written)

    def to_data(self) -> dict[str, Any]:
        """The result in plain JSON types."""
        return {"case": self.case, **to_data(self)}


def _names(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name is not None}))


def _shown(payload: str, prompts: Iterable[str]) -> str:
    """`shown` if a prompt has all words of the payload in a row, however it quotes and breaks them.

    `unknown` if there are pictures, which are not searched.
    """
    prompts = list(prompts)
    wanted, *found = (re.sub(r"\W+|_", "", unescape(text)) for text in (payload, *prompts))
    if any(wanted in text for text in found):
        return "shown"
    return "unknown" if any("[picture " in text for text in prompts) else "not shown"


def add_tokens(counts: Iterable[int | None]) -> int | None:
    """Return the sum of token counts, None if one is not known."""
    numbers = list(counts)
    return None if None in numbers else sum(filter(None, numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of an item, as it travels with pytest's report of it.

    Attributes:
        result: what a results file keeps of it.
        episode: the episode; None unless the status is conclusive.
        events: the events of an episode that broke off.
        error: the name of the exception of an item that drifted or failed with an error.
        message: the reason for which the item is inconclusive.
        request: the model call that waits for a completion, as a line of a batch file.
        cassette: the item's cassette below the cassette folder, without its ending.
        group: of that call, what the items that share its answer have in common.
        replayed, recorded: the calls that were answered from the cassette, and by a server.
        shared: those of the replayed calls whose answer was taken from another item in this run.
        unusable: the usage of answers that were paid for and are not recorded, by reason.
        left: the recorded calls that were not made.
        graders: the usage of the calls of graders, by model.
        earlier: the item in the baseline; None if it is not there.
        pictures: those of the item in the report's folder; `pictures_note` is a remark.
        app_replayed: True of an item on an app that was not started, as its recording answered.
    """

    result: Result
    episode: Episode | None = None
    events: tuple[Event, ...] = ()
    error: str = ""
    message: str = ""
    drift: DriftDetails | None = None
    request: Mapping[str, Any] | None = None
    group: str = ""
    cassette: str = ""
    replayed: Usage = field(default_factory=Usage)
    shared: Usage = field(default_factory=Usage)
    recorded: Usage = field(default_factory=Usage)
    unusable: Mapping[str, Usage] = field(default_factory=dict)
    left: Usage = field(default_factory=Usage)
    graders: tuple[GraderUsage, ...] = ()
    change: Change | None = None
    earlier: Earlier | None = None
    pictures: tuple[Picture, ...] = ()
    pictures_note: str = ""
    app_replayed: bool = False

    @property
    def case(self) -> Case:
        """The item's case."""
        return self.result.identity

    @property
    def status(self) -> Status:
        """The item's status."""
        return self.result.outcome

    @property
    def solved(self) -> bool:
        """True if the item's result is solved."""
        return self.result.solved

    @property
    def spent(self) -> Usage:
        """The agent's calls that a server was paid for: the recorded and the unusable ones."""
        return sum(self.unusable.values(), self.recorded)

    @property
    def usage_by_model(self) -> list[tuple[str, Usage, Usage]]:
        """The calls that were replayed, and those that were paid for, by model."""
        graders = [(one.model, one.replayed, one.recorded) for one in self.graders]
        return [(self.result.model, self.replayed, self.spent), *graders]

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
        return replace(
            self,
            recorded=before + self.recorded,
            replayed=self.replayed - again,
            graders=earlier.graders + self.graders,
        )

    def to_data(self) -> dict[str, Any]:
        """The outcome in plain JSON types."""
        episode = self.episode.to_data() if self.episode is not None else None
        data: dict[str, Any] = to_data(replace(self, episode=None))
        return data | {"result": self.result.to_data(), "episode": episode}
