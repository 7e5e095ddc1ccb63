"""Deferred recording: calls without a completion go into a batch file, its answers into cassettes.

Both files are those of the OpenAI Batch API
(https://platform.openai.com/docs/guides/batch): one JSON object a line, requests with `custom_id`,
`method`, `url` and `body`, answers with `custom_id`, `response` and `error`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.file import completion_of
from pytest_miniwob_agent.cassettes.item import ItemCassette, Record
from pytest_miniwob_agent.core.errors import CassetteError, MiniwobError, UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.secrets import redact


def read_pending(path: Path) -> dict[str, dict[str, Any]]:
    """The waiting requests of a batch file, by their id.

    Raises:
        UsageError: a line that is no request.
    """
    if not path.exists():
        return {}
    return by_id(
        path.read_text(encoding="utf-8"),
        lambda number: UsageError(
            f"{path}:{number} is no request of a batch file; delete the file, the next run with "
            "--miniwob-record=defer writes it again"
        ),
    )


def by_id(text: str, wrong: Callable[[int], MiniwobError]) -> dict[str, dict[str, Any]]:
    """The lines of a batch file by `custom_id`; `wrong` makes the error of a line by its number."""
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(_lines(text), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            found[data["custom_id"]] = data
        except (ValueError, KeyError, TypeError):
            raise wrong(number) from None
    return found


def _lines(text: str) -> list[str]:
    """The lines of JSON lines; other line separators may stand inside of a text."""
    return text.removesuffix("\n").split("\n")


def write_pending(path: Path, requests: Iterable[Mapping[str, Any]]) -> None:
    """Write a batch file, sorted; without requests there is none."""
    lines = sorted(json.dumps(request, ensure_ascii=False) for request in requests)
    if lines:
        write_atomically(path, "\n".join(lines) + "\n")
    else:
        path.unlink(missing_ok=True)


def update_pending(path: Path, ran: Collection[str], requests: Iterable[Mapping[str, Any]]) -> int:
    """Put the requests of a run in the place of those that the same items had before.

    Args:
        path: the batch file.
        ran: the cassettes' stems of the items that ran.
        requests: what they wait for.

    Returns:
        How many requests the file holds now.
    """
    waiting = {
        id_: request
        for id_, request in read_pending(path).items()
        if id_.partition("#")[0] not in ran
    }
    waiting.update((request["custom_id"], dict(request)) for request in requests)
    write_pending(path, waiting.values())
    return len(waiting)


@dataclass(slots=True)
class Taken:
    """What became of the lines of an answer file."""

    recorded: int = 0
    already: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"{self.recorded} completions recorded"
        if self.already:
            text += f", {self.already} were recorded before"
        return "\n  ".join([text, *self.problems])


def take_answers(answers: Path, pending: Path, cassettes: Path) -> Taken:
    """Put the completions of an answer file into the cassettes that wait for them.

    A line that can't be used is told of and its request stays in the batch file; taking the same
    file twice records nothing twice.

    Raises:
        UsageError: there is no answer file, or the batch file is damaged.
    """
    if not answers.is_file():
        raise UsageError(f"--miniwob-answers: there is no file {answers}")
    waiting = read_pending(pending)
    taken = Taken()
    lines = _lines(answers.read_text(encoding="utf-8"))
    for number, line in enumerate(lines, start=1):
        where = f"{answers}:{number}"
        if not line.strip():
            continue
        try:
            answer = json.loads(line)
            id_ = str(answer["custom_id"])
        except (ValueError, KeyError, TypeError):
            what = "is cut off" if number == len(lines) else "is no answer of a batch file"
            taken.problems.append(f"{where} {what}: passed over")
            continue
        problem = _take(id_, answer, waiting, cassettes, taken)
        if problem:
            taken.problems.append(f"{where}: {id_}: {problem}")
    write_pending(pending, waiting.values())
    return taken


def _take(
    id_: str,
    answer: Mapping[str, Any],
    waiting: dict[str, dict[str, Any]],
    cassettes: Path,
    taken: Taken,
) -> str | None:
    """Record one answer; return why that can't be."""
    stem = id_.partition("#")[0]
    try:
        cassette = ItemCassette(cassettes, stem, Record.DEFER)
    except CassetteError as error:
        return f"{error}, still waiting"
    if cassette.holds(id_):
        taken.already += 1
        waiting.pop(id_, None)
        return None
    if id_ not in waiting:
        return "no request with this id is waiting"
    response = answer.get("response")
    if not isinstance(response, dict):
        response = {}
    completion = completion_of(response.get("status_code", 0), response.get("body") or {})
    if completion is None:
        why = answer.get("error") or response.get("body") or "no response"
        said = redact(json.dumps(why, ensure_ascii=False))[:200]
        return f"holds no completion ({said}), still waiting"
    try:
        cassette.put(waiting[id_]["body"], completion)
    except CassetteError as error:
        return f"{error}, still waiting"
    del waiting[id_]
    taken.recorded += 1
    return None
