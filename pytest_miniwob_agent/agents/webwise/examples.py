"""A pool of solved examples: a file of one JSON object a line, at most `PER_TASK` for each task.

WebWISE's automatic context generation (4.5): items that were solved without an example become the
examples of later runs. One run writes a pool (the parameter `save_examples`), others read it
(`examples`), so that no item depends on another of its run.
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
from pytest_miniwob_agent.core.events import Remark
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.outcome import Outcome

_NOT_AN_EXAMPLE = (ValueError, TypeError, KeyError, RecursionError)
"""Exceptions from reading other data as an example."""

PER_TASK = 2
"""Examples that a pool keeps of a task, as in the paper."""

REMARK = "example"
"""The subject of a `Remark` whose text is an example (`remark_of`)."""


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
        """Return the examples of a task."""
        return tuple(each for each in self.examples if each.task == task)


def read_pool(path: Path) -> Pool:
    """Read the examples of a pool.

    Raises:
        UsageError: the file can't be read, or a line of it is not an example.
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
        except _NOT_AN_EXAMPLE as error:
            raise UsageError(
                f"{path}:{number}: not an example, which has "
                f"{', '.join(each.name for each in fields(Example))}: {error!r}. "
                "The parameter save_examples of the agent webwise writes such a file"
            ) from None
    return Pool(tuple(examples), text)


def write_pool(path: Path, outcomes: Iterable[Outcome]) -> int:
    """Write the examples of a run's solved items; returns their number.

    Tasks and seeds decide which examples are kept, not the order of the outcomes. Without an
    example the file is left as it is.

    Args:
        path: the file, which is replaced.
        outcomes: the outcomes of the items.

    Raises:
        UsageError: the file can't be written.
    """
    solved = sorted(
        (outcome.case.task, outcome.case.seed, outcome.case.repeat, event.text)
        for outcome in outcomes
        if outcome.episode is not None and outcome.episode.solved
        for event in outcome.episode.events
        if isinstance(event, Remark) and event.what == REMARK
    )
    by_task: dict[str, dict[Example, None]] = {}
    for task, _, _, text in solved:
        with suppress(*_NOT_AN_EXAMPLE):  # an agent that inherits from ours may remark anything
            by_task.setdefault(task, {})[_example({**json.loads(text), "task": task})] = None
    kept = [each for examples in by_task.values() for each in list(examples)[:PER_TASK]]
    if kept:
        text = "".join(f"{canonical_json(to_data(each))}\n" for each in kept)
        try:
            write_atomically(path, text)
        except OSError as error:
            raise UsageError(
                f"--miniwob-agent-params: save_examples {str(path)!r} can't be written: {error}"
            ) from None
    return len(kept)


def remark_of(goal: str, stages: Iterable[Stage]) -> str:
    """Write the remark of a solved trial, from which `write_pool` makes an example."""
    return canonical_json({"goal": goal, "stages": to_data(tuple(stages))})


def _example(data: Mapping[str, Any]) -> Example:
    stages = tuple(Stage(str(each["objects"]), str(each["program"])) for each in data["stages"])
    if not stages:
        raise ValueError("it has no stages")
    return Example(str(data["task"]), str(data["goal"]), stages)
