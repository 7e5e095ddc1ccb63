"""Automatic context generation (4.5): solved examples, a file of one JSON object per line.

One run writes the file, others read it, so that no item depends on another of its run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Remark
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.outcome import Outcome

PER_TASK = 2
"""Examples that are kept of a task, as in the paper."""

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


def read_examples(path: Path) -> tuple[list[Example], str]:
    """Read the examples of a file; returns them and its text.

    Raises:
        UsageError: the file can't be read, or a line of it is not an example.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't read the examples: {error}") from None
    examples = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            if line.strip():
                examples.append(_example(json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UsageError(
                f"{path}:{number}: not an example, which has task, goal, stages: {error!r}. "
                "The parameter save_examples of the agent webwise writes such a file"
            ) from None
    return examples, text


def write_examples(path: Path, outcomes: Iterable[Outcome]) -> int:
    """Write the examples of a run's solved items; returns their number.

    Of each task those of the lowest seeds are kept, in whatever order the items ran. Without an
    example the file is left as it is.

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
        by_task.setdefault(task, {})[_example({**json.loads(text), "task": task})] = None
    kept = [example for examples in by_task.values() for example in list(examples)[:PER_TASK]]
    if kept:
        try:
            write_atomically(
                path, "".join(f"{canonical_json(to_data(example))}\n" for example in kept)
            )
        except OSError as error:
            raise UsageError(
                f"--miniwob-agent-params: save_examples {str(path)!r} can't be written: {error}"
            ) from None
    return len(kept)


def remark_of(goal: str, stages: Iterable[Stage]) -> str:
    """Write the remark of a solved trial, from which `write_examples` makes an example."""
    return canonical_json({"goal": goal, "stages": to_data(tuple(stages))})


def _example(data: Mapping[str, Any]) -> Example:
    stages = tuple(Stage(str(stage["objects"]), str(stage["program"])) for stage in data["stages"])
    if not stages:
        raise ValueError("it has no stages")
    return Example(str(data["task"]), str(data["goal"]), stages)
