"""A pool of solved examples: a file of one JSON object a line, at most `PER_TASK` for each task.

WebWISE's automatic context generation (4.5): what was solved without an example becomes the example
of later runs. A pool is written by a run of its own and then only read, so that no item depends on
another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically

_NO_EXAMPLE = (ValueError, TypeError, KeyError, RecursionError)
"""What reading something else as an example ends in."""

PER_TASK = 2
"""Examples that a pool keeps of a task, as in the paper."""

REMARK = "example"
"""What a `Remark` is about in which an agent says that its trial would make an example."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One program, and the objects that it was written for."""

    objects: str
    program: str


@dataclass(frozen=True, slots=True)
class Example:
    """A task that was solved: its goal, and its programs in order."""

    task: str
    goal: str
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """The examples of a file; `text` is all of it."""

    examples: tuple[Example, ...]
    text: str

    def of(self, task: str) -> tuple[Example, ...]:
        """The task's examples."""
        return tuple(each for each in self.examples if each.task == task)


def read_pool(path: Path) -> Pool:
    """The examples of a pool's file.

    Raises:
        UsageError: it can't be read, or a line of it is no example.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't read the examples: {error}") from None
    examples = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            examples.append(_example(json.loads(line)))
        except _NO_EXAMPLE as error:
            raise UsageError(
                f"{path}:{number}: no example, which has "
                f"{', '.join(each.name for each in fields(Example))}: {error!r}. "
                "--miniwob-examples writes such a file"
            ) from None
    return Pool(tuple(examples), text)


def write_pool(path: Path, outcomes: Iterable[Mapping[str, Any]]) -> int:
    """Keep what solved items of a run said would make an example; returns how many that are.

    Which ones are kept is up to their tasks and seeds, not to the order in which they came. Where
    there is none the file stays as it is.

    Raises:
        UsageError: the file can't be written.
    """
    solved = sorted(
        (
            (outcome["item"]["task"], outcome["item"]["seed"], outcome["item"]["repeat"], remark)
            for outcome in outcomes
            if outcome.get("episode", {}).get("solved")
            for remark in _remarks(outcome["episode"]["events"])
        ),
    )
    kept: dict[str, dict[Example, None]] = {}
    for task, _, _, remark in solved:
        with suppress(*_NO_EXAMPLE):  # an agent of the user's own may remark what it likes
            kept.setdefault(task, {})[_example({**json.loads(remark), "task": task})] = None
    examples = [each for ones in kept.values() for each in list(ones)[:PER_TASK]]
    if examples:
        text = "".join(f"{canonical_json(to_data(each))}\n" for each in examples)
        try:
            write_atomically(path, text)
        except OSError as error:
            raise UsageError(f"--miniwob-examples: {path} can't be written: {error}") from None
    return len(examples)


def remark_of(goal: str, stages: Iterable[Stage]) -> str:
    """What an agent says of a solved trial that would make an example."""
    return canonical_json({"goal": goal, "stages": to_data(tuple(stages))})


def _remarks(events: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    return (str(e["text"]) for e in events if e["kind"] == "remark" and e["what"] == REMARK)


def _example(data: Mapping[str, Any]) -> Example:
    stages = tuple(Stage(str(each["objects"]), str(each["program"])) for each in data["stages"])
    if not stages:
        raise ValueError("it has no stage")
    return Example(str(data["task"]), str(data["goal"]), stages)
