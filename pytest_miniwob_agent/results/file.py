"""Results as data: one line of JSON an item, with nothing in it that changes between equal runs.

The first line tells what the file is, how many lines follow and, where the run was a partial one,
why. Every other line is a `Result`, sorted by case id::

    {"items":1,"miniwob_results":1,"partial":[]}
    {"agent":"reflective","case":"other/click-pie/7","category":"other", ...}
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.text import nearest

VERSION = 1
"""The format of the file; a reader refuses one that it does not know."""

TOLD = ("solved", "unsolved")
"""Outcomes that say something about the agent."""

OUTCOMES = (*TOLD, "drifted", "error", "waiting", "budget")
"""Every outcome; those after `TOLD` say why the run could not tell."""


def outcome_of(told: Mapping[str, Any]) -> str:
    """Which of `OUTCOMES` it is that an item tells its run (`report.miniwob`)."""
    if "episode" in told:
        return "solved" if told["episode"]["solved"] else "unsolved"
    words = {"drift": "drifted", "pending": "waiting", "budget": "budget"}
    return next((word for kind, word in words.items() if kind in told), "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one sample of an item.

    `repeat` counts the samples from 1. `params` are the parameters that went with every model call,
    `prompts` the digest of each prompt file. `reason` is a short text where the outcome is not in
    `TOLD`. `solved_at` is the trial that got the full reward, counting from 1. `calls` are model
    calls by purpose; `tokens` counts those of `prompt` and `completion`, None where the server of
    any call did not say.
    """

    category: str
    task: str
    seed: int
    repeat: int = 1
    agent: str
    model: str
    params: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    outcome: str
    reason: str = ""
    solved_at: int | None = None
    endings: tuple[str, ...] = ()
    steps: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int | None] = field(
        default_factory=lambda: {"prompt": None, "completion": None}
    )

    @property
    def item(self) -> str:
        """What all samples of the item share: `<category>/<task>/<seed>`."""
        return f"{self.category}/{self.task}/{self.seed}"

    @property
    def case(self) -> str:
        """The pytest item's id: `item`, and `-2` after it for the second sample."""
        return self.item if self.repeat == 1 else f"{self.item}-{self.repeat}"

    @property
    def solved(self) -> bool:
        """Whether a trial got the full reward."""
        return self.outcome == "solved"

    @property
    def told(self) -> bool:
        """Whether the run could tell if the agent solves the item."""
        return self.outcome in TOLD

    def to_data(self) -> dict[str, Any]:
        """The result in plain JSON types."""
        return {"case": self.case} | {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one item, in the order of their repeats."""

    results: tuple[Result, ...]

    @property
    def told(self) -> int:
        """Samples of which the run could tell."""
        return sum(result.told for result in self.results)

    @property
    def solved(self) -> int:
        """Samples that were solved."""
        return sum(result.solved for result in self.results)

    @property
    def share(self) -> Fraction:
        """Solved samples of those told; `told` must not be 0."""
        return Fraction(self.solved, self.told)

    def count_as_solved(self, at_least: int | None = None) -> bool:
        """Whether `at_least` samples are solved; without a number, more than half of those told."""
        return self.solved >= at_least if at_least else 2 * self.solved > self.told


@dataclass(frozen=True)
class Results:
    """The results of one run, sorted by case id.

    `partial` holds the reasons for which the run did not take in every item, none if it did.
    `source` names where they come from, for messages.

    Raises:
        UsageError: two results have the same case id.
    """

    results: tuple[Result, ...]
    partial: tuple[str, ...] = ()
    source: str = field(default="the results", compare=False)

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.results, key=lambda result: result.case))
        for one, other in pairwise(ordered):
            if one.case == other.case:
                raise UsageError(
                    f"{self.source}: {one.case} is there twice (agents {one.agent} and "
                    f"{other.agent}); write one file for each agent and model"
                )
        object.__setattr__(self, "results", ordered)

    @cached_property
    def items(self) -> dict[str, Samples]:
        """The samples of every item, by `<category>/<task>/<seed>`."""
        found: dict[str, list[Result]] = {}
        for result in sorted(self.results, key=lambda each: (each.item, each.repeat)):
            found.setdefault(result.item, []).append(result)
        return {item: Samples(tuple(samples)) for item, samples in found.items()}

    def text(self) -> str:
        """The file's text; equal results give equal text."""
        head = {"miniwob_results": VERSION, "partial": self.partial, "items": len(self.results)}
        lines = [head, *(result.to_data() for result in self.results)]
        return "".join(canonical_json(line) + "\n" for line in lines)

    def write(self, path: Path) -> None:
        """Write the file beside `path`, then rename, so that no crash leaves half of it.

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
        UsageError: there is no such file or commit, or what it holds are no results; the message
            has the line and what to do.
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
        raise UsageError(f"{name} names no file; write it as git:REF:PATH (git:main:results.jsonl)")
    return parse_results(_at_commit(ref, Path(path)), f"git:{ref}:{path}")


def _at_commit(ref: str, path: Path) -> str:
    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                ["git", *arguments], capture_output=True, encoding="utf-8", errors="replace"
            )
        except FileNotFoundError:
            raise UsageError(f"git:{ref}:{path} needs git, which is not installed") from None

    top = git("rev-parse", "--show-toplevel")
    if top.returncode:
        raise UsageError(
            f"git:{ref}:{path}: {Path.cwd()} is in no git repository ({top.stderr.strip()})"
        )
    commit = git("rev-parse", "--verify", "--quiet", ref + "^{commit}")
    if ref.startswith("-") or commit.returncode:  # no ref begins like an option
        branch = ref.removeprefix("origin/")
        what = ref if branch == ref else f"{branch}:refs/remotes/{ref}"
        raise UsageError(
            f"git:{ref}:{path}: there is no commit {ref} here; fetch it first, for instance "
            f"git fetch origin {what} (a clone made by CI often holds one commit only)"
        )
    root = Path(top.stdout.removesuffix("\n")).resolve()
    try:
        inside = path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise UsageError(
            f"git:{ref}:{path}: the file is not inside the repository {root}"
        ) from None
    blob = git("cat-file", "blob", f"{commit.stdout.strip()}:{inside}")
    if blob.returncode:
        raise UsageError(
            f"git:{ref}:{path}: {ref} has no file {inside}; write it with pytest "
            f"--miniwob-results={path} and commit it there"
        )
    return blob.stdout


def parse_results(text: str, source: str) -> Results:
    """Read the text of a results file; `source` names it in messages.

    Raises:
        UsageError: the first line that is wrong, and what to do about it.
    """
    lines = text.removesuffix("\n").split("\n")
    head = _object(lines[0], f"{source}:1")
    if head.get("miniwob_results") != VERSION:
        raise UsageError(
            f"{source}:1 is not the first line of a results file of version {VERSION}; write the "
            f"file again with pytest --miniwob-results=FILE"
        )
    partial, items = head.get("partial"), head.get("items")
    if not _strings(partial) or not _count(items):
        raise UsageError(f"{source}:1: partial must be a list of texts and items a number")
    results = tuple(
        _result(_object(line, f"{source}:{number}"), f"{source}:{number}")
        for number, line in enumerate(lines[1:], start=2)
    )
    if len(results) != items:
        raise UsageError(
            f"{source} should hold {items} items by its first line, and holds {len(results)}: it "
            "was cut off or edited; write it again, or take it from its commit"
        )
    return Results(results, tuple(partial or ()), source)


def _object(line: str, where: str) -> dict[str, Any]:
    if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        raise UsageError(
            f"{where} is left over from a merge; take one side whole (git checkout --ours or "
            "--theirs), or write the file again"
        )
    try:
        data = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where} is no JSON ({error}); write the file again") from None
    if not isinstance(data, dict):
        raise UsageError(f"{where} is no JSON object; write the file again")
    return data


def _count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _mapping(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _text(value: Any) -> bool:
    return isinstance(value, str)


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "category": (_text, "a text"),
    "task": (_text, "a text"),
    "seed": (_count, "a number"),
    "repeat": (lambda value: _count(value) and value > 0, "a number from 1"),
    "agent": (_text, "a text"),
    "model": (_text, "a text"),
    "params": (lambda value: isinstance(value, dict), "an object"),
    "prompts": (_mapping(_text), "an object of texts"),
    "outcome": (lambda value: value in OUTCOMES, f"one of {', '.join(OUTCOMES)}"),
    "reason": (_text, "a text"),
    "solved_at": (lambda v: v is None or (_count(v) and v > 0), "a trial from 1 or null"),
    "endings": (_strings, "a list of texts"),
    "steps": (_count, "a number"),
    "calls": (_mapping(_count), "an object of numbers"),
    "tokens": (
        lambda value: (
            _mapping(lambda count: count is None or _count(count))(value)
            and set(value) == {"prompt", "completion"}
        ),
        "an object with prompt and completion, each a number or null",
    ),
}
"""What each field of a line must be, as a check and in words."""


def _result(data: dict[str, Any], where: str) -> Result:
    case = data.pop("case", None)
    for name in data:
        if name not in _FIELDS:
            raise UsageError(f"{where}: no field is called {name!r}{nearest(name, list(_FIELDS))}")
    for name, (check, words) in _FIELDS.items():
        if name not in data:
            raise UsageError(f"{where}: {name} is missing; write the file again")
        if not check(data[name]):
            raise UsageError(f"{where}: {name} must be {words}, not {data[name]!r}")
    result = Result(**data | {"endings": tuple(data["endings"])})
    if case != result.case:
        raise UsageError(f"{where}: case is {case!r} and should be {result.case!r} by its fields")
    if result.solved != (result.solved_at is not None):
        raise UsageError(f"{where}: {case} is {result.outcome}, but solved_at {result.solved_at}")
    return result
