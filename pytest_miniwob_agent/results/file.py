"""The results file: one line of JSON an item, with nothing in it that changes between equal runs.

The first line holds the format's version, the number of lines that follow and, if the run was a
partial one, the reasons; with it the `Shard`, if the run was one of several that are to be merged.
Every other line is a `Result`, sorted by case id::

    {"items":1,"miniwob_results":2,"partial":[]}
    {"agent":"reflective","case":"other/click-pie/7","category":"other", ...}

Files of version 1 are read too; they lack the fields of `ADDED`, which are not known then.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.results.git import read_at_commit
from pytest_miniwob_agent.results.shard import Shard

VERSION = 2
"""The format of the file; a reader refuses one that it does not know."""

ADDED = ("limits", "rewards", "response_models", "system_fingerprints", "test")
"""The fields of a line that version 1 did not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of one sample of an item.

    `repeat` counts the samples from 1. `params` are the parameters that went with every model call,
    `prompts` the digest of each prompt file. `limits` are the `trials`, `steps` a trial and `calls`
    that were allowed. `response_models` and `system_fingerprints` are what answered, as the
    responses name it, sorted and without repetition. `reason` is a short text, empty if the outcome
    is conclusive. `test` is the node id of the item's test, without the case; empty if it is not
    known. `solved_at` is the trial that got the full reward, counting from 1; `endings` and
    `rewards` have an entry for each trial, the raw reward from -1 to 1. `calls` are model calls by
    purpose; `tokens` counts those of `prompt` and `completion`, None where the server of any call
    did not report them.
    """

    category: str
    task: str
    seed: int
    repeat: int = 1
    agent: str
    model: str
    params: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] | None = None
    response_models: tuple[str, ...] | None = None
    system_fingerprints: tuple[str, ...] | None = None
    outcome: Status
    reason: str = ""
    test: str = ""
    solved_at: int | None = None
    endings: tuple[str, ...] = ()
    rewards: tuple[float, ...] | None = None
    steps: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int | None] = field(
        default_factory=lambda: {"prompt": None, "completion": None}
    )

    @property
    def item(self) -> str:
        """The item's id, which all of its samples share: `<category>/<task>/<seed>`."""
        return f"{self.category}/{self.task}/{self.seed}"

    @property
    def case(self) -> str:
        """The pytest item's id: `item`, and `-2` after it for the second sample."""
        return self.item if self.repeat == 1 else f"{self.item}-{self.repeat}"

    @property
    def solved(self) -> bool:
        """True if a trial got the full reward."""
        return self.outcome == Status.SOLVED

    @property
    def conclusive(self) -> bool:
        """True if the run shows whether the agent solves the item."""
        return self.outcome.conclusive

    def to_data(self) -> dict[str, Any]:
        """The result in plain JSON types."""
        return {"case": self.case} | {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one item, in the order of their repeats."""

    results: tuple[Result, ...]

    @property
    def conclusive(self) -> int:
        """Number of samples that are solved or unsolved."""
        return sum(result.outcome.conclusive for result in self.results)

    @property
    def solved(self) -> int:
        """Number of samples that were solved."""
        return sum(result.solved for result in self.results)

    @property
    def share(self) -> Fraction:
        """Solved samples as a share of the conclusive ones, of which there must be one or more."""
        return Fraction(self.solved, self.conclusive)

    def first(self, count: int) -> Samples:
        """The first `count` conclusive samples."""
        return Samples(tuple(each for each in self.results if each.conclusive)[:count])

    def count_as_solved(self, at_least: int | None = None) -> bool:
        """True if `at_least` samples are solved; by default, over half of the conclusive ones."""
        return self.solved >= at_least if at_least else 2 * self.solved > self.conclusive


@dataclass(frozen=True)
class Results:
    """The results of one run, sorted by case id.

    `partial` holds the reasons for which the run left out items, none if it ran all of them.
    `source` names the file or commit they were read from, for messages. `shard` is the part of the
    suite that was run, None if that was the whole.

    Raises:
        UsageError: two results have the same case id.
    """

    results: tuple[Result, ...]
    partial: tuple[str, ...] = ()
    source: str = field(default="the results", compare=False)
    shard: Shard | None = None

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.results, key=lambda result: result.case))
        for result, following in pairwise(ordered):
            if result.case == following.case:
                raise UsageError(
                    f"{self.source} has {result.case} twice (agents {result.agent} and "
                    f"{following.agent}); write one file for each agent and model"
                )
        object.__setattr__(self, "results", ordered)

    @cached_property
    def items(self) -> dict[str, Samples]:
        """The samples of every item, by `<category>/<task>/<seed>`."""
        found: dict[str, list[Result]] = {}
        for result in sorted(self.results, key=lambda each: (each.item, each.repeat)):
            found.setdefault(result.item, []).append(result)
        return {item: Samples(tuple(samples)) for item, samples in found.items()}

    @property
    def elsewhere(self) -> frozenset[str]:
        """The cases that went to other shards; none if the run was not one of a shard."""
        if self.shard is None:
            return frozenset()
        return self.shard.elsewhere([result.case for result in self.results])

    def text(self) -> str:
        """The file's text; equal results give equal text."""
        head = {"miniwob_results": VERSION, "partial": self.partial, "items": len(self.results)}
        if self.shard is not None:
            head["shard"] = self.shard.to_data()
        lines = [head, *(result.to_data() for result in self.results)]
        return "".join(canonical_json(line) + "\n" for line in lines)

    def write(self, path: Path) -> None:
        """Write the file atomically.

        Raises:
            UsageError: the file can't be written.
        """
        try:
            write_atomically(path, self.text())
        except OSError as error:
            raise UsageError(f"{path} can't be written: {error}") from None


def read_results(source: str | Path, beside: str | Path | None = None) -> Results:
    """Read results from a file, or as they were at a commit.

    Args:
        source: a path, `git:REF:PATH`, or `git:REF` for `beside` at that commit. Paths are relative
            to the working directory.
        beside: the path that `git:REF` leaves out.

    Raises:
        UsageError: there is no such file or commit, or it does not hold results; the message names
            the line and says what to do.
    """
    name = str(source)
    if not name.startswith("git:"):
        try:
            return parse_results(Path(name).read_text(encoding="utf-8"), name)
        except FileNotFoundError:
            raise UsageError(
                f"there is no results file {name}; write one with pytest --miniwob-results={name}"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{name} can't be read: {error}") from None
    ref, _, path = name.removeprefix("git:").partition(":")
    path = path or str(beside or "")
    if not ref or not path or path.startswith("git:"):
        raise UsageError(
            f"{name} does not name a file; write git:REF:PATH (git:main:results.jsonl)"
        )
    return parse_results(read_at_commit(ref, Path(path)), f"git:{ref}:{path}")


def parse_results(text: str, source: str) -> Results:
    """Read the text of a results file; `source` names it in messages.

    Raises:
        UsageError: a line is wrong; the message names the first such line and says what to do.
    """
    lines = text.removesuffix("\n").split("\n")
    head = _object(lines[0], f"{source}:1")
    version = head.get("miniwob_results")
    if version not in (1, VERSION) or isinstance(version, bool):
        raise UsageError(
            f"{source}:1 is not the first line of a results file of version 1 or {VERSION}; write "
            "the file again with pytest --miniwob-results=FILE"
        )
    checked = {name: _FIELDS[name] for name in _FIELDS if version > 1 or name not in ADDED}
    partial, items = head.get("partial"), head.get("items")
    if not _strings(partial) or not _count(items):
        raise UsageError(
            f"{source}:1: partial must be a list of texts, and items an integer from 0"
        )
    results = tuple(
        _result(_object(line, f"{source}:{number}"), f"{source}:{number}", checked)
        for number, line in enumerate(lines[1:], start=2)
    )
    if len(results) != items:
        raise UsageError(
            f"{source} holds {len(results)} items, but its first line says {items}: it was "
            "truncated or edited; write it again, or take it from its commit"
        )
    shard = Shard.from_data(head["shard"], f"{source}:1") if "shard" in head else None
    return Results(results, tuple(partial or ()), source, shard)


def _object(line: str, where: str) -> dict[str, Any]:
    if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        raise UsageError(
            f"{where} is a conflict marker of a merge; take one side whole (git checkout --ours "
            "or --theirs), or write the file again"
        )
    try:
        data = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where} is not JSON ({error}); write the file again") from None
    if not isinstance(data, dict):
        raise UsageError(f"{where} is not a JSON object; write the file again")
    return data


def _count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _mapping(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each)
        for each in value
    )


def _or_null(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


_Check: TypeAlias = tuple[Callable[[Any], bool], str]

_FIELDS: dict[str, _Check] = {
    "category": (_text, "a text"),
    "task": (_text, "a text"),
    "seed": (_count, "an integer from 0"),
    "repeat": (lambda value: _count(value) and value > 0, "a positive integer"),
    "agent": (_text, "a text"),
    "model": (_text, "a text"),
    "params": (lambda value: isinstance(value, dict), "an object"),
    "prompts": (_mapping(_text), "an object of texts"),
    "outcome": (lambda value: value in list(Status), f"one of {', '.join(Status)}"),
    "reason": (_text, "a text"),
    "test": (_text, "a text"),
    "limits": (
        _or_null(lambda v: _mapping(_count)(v) and set(v) == {"trials", "steps", "calls"}),
        "an object with trials, steps and calls, each an integer from 0, or null",
    ),
    "response_models": (_or_null(_strings), "a list of texts or null"),
    "system_fingerprints": (_or_null(_strings), "a list of texts or null"),
    "solved_at": (lambda v: v is None or (_count(v) and v > 0), "a positive integer or null"),
    "endings": (_strings, "a list of texts"),
    "rewards": (_or_null(_numbers), "a list of numbers or null"),
    "steps": (_count, "an integer from 0"),
    "calls": (_mapping(_count), "an object of integers from 0"),
    "tokens": (
        lambda value: (
            _mapping(lambda count: count is None or _count(count))(value)
            and set(value) == {"prompt", "completion"}
        ),
        "an object with prompt and completion, each an integer from 0 or null",
    ),
}
"""The check of each field of a line, and what it must be in words."""


def _result(data: dict[str, Any], where: str, checked: Mapping[str, _Check]) -> Result:
    case = data.pop("case", None)
    for name in data:
        if name not in checked:
            raise UsageError(f"{where}: unknown field {name!r}{nearest(name, list(checked))}")
    for name, (check, words) in checked.items():
        if name not in data:
            raise UsageError(f"{where}: {name} is missing; write the file again")
        if not check(data[name]):
            raise UsageError(f"{where}: {name} must be {words}, not {data[name]!r}")
    lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
    result = Result(**data | lists | {"outcome": Status(data["outcome"])})
    if case != result.case:
        raise UsageError(
            f"{where}: case is {case!r}, but by the other fields it must be {result.case!r}"
        )
    if result.solved != (result.solved_at is not None):
        raise UsageError(f"{where}: {case} is {result.outcome}, but solved_at {result.solved_at}")
    if result.rewards is not None and result.conclusive:
        full = next((n for n, reward in enumerate(result.rewards, start=1) if reward >= 1), None)
        if full != result.solved_at:
            raise UsageError(f"{where}: solved_at is {result.solved_at}, but by rewards {full}")
    return result
