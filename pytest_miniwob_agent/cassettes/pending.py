"""`pending.jsonl`: deferred recording writes requests into it and reads their completions.

Both files are those of the OpenAI Batch API
(https://platform.openai.com/docs/guides/batch): one JSON object a line, requests with `custom_id`,
`method`, `url` and `body`, answers with `custom_id`, `response` and `error`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.call import completion_of
from pytest_miniwob_agent.cassettes.item import ItemCassette, Record
from pytest_miniwob_agent.cassettes.lock import LOCKS
from pytest_miniwob_agent.cassettes.pending_state import (
    DROP_REFUSED,
    PendingState,
    refusal,
    stem_of_request,
)
from pytest_miniwob_agent.cassettes.unusable import describe_unusable
from pytest_miniwob_agent.core.errors import CassetteError, MiniwobError, UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import counted, shorten


def read_pending(path: Path) -> dict[str, dict[str, Any]]:
    """Return the waiting requests of a batch file, by their id; none if there is no file.

    Raises:
        UsageError: a line is not a request.
    """
    if not path.exists():
        return {}
    return lines_by_id(
        path.read_text(encoding="utf-8"),
        lambda number: UsageError(
            f"{path}:{number} is not a request of a batch file; delete the file, the next run with "
            "--miniwob-record=defer writes it again"
        ),
    )


def lines_by_id(text: str, error_at: Callable[[int], MiniwobError]) -> dict[str, dict[str, Any]]:
    """Return the lines of a batch file by `custom_id`.

    Args:
        text: the content of the file.
        error_at: makes the error that is raised for an invalid line with this number.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(_lines(text), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            found[data["custom_id"]] = data
        except (ValueError, KeyError, TypeError):
            raise error_at(number) from None
    return found


def _lines(text: str) -> list[str]:
    """Split JSON lines; only a line feed ends one, as others may be inside of a string."""
    return text.removesuffix("\n").split("\n")


def write_pending(path: Path, requests: Iterable[Mapping[str, Any]]) -> None:
    """Write a batch file, sorted; remove it if there are no requests."""
    lines = sorted(json.dumps(request, ensure_ascii=False) for request in requests)
    if lines:
        write_atomically(path, "\n".join(lines) + "\n")
    else:
        path.unlink(missing_ok=True)


def update_pending(
    path: Path, ran: Collection[str], requests: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Replace the requests that the items of a run had before by those of the run.

    Args:
        path: the batch file.
        ran: the stems of the cassettes of the items that ran.
        requests: the requests that they wait for.

    Returns:
        The ids of the requests that the file holds now.
    """
    waiting = {
        id_: request
        for id_, request in read_pending(path).items()
        if stem_of_request(id_) not in ran
    }
    waiting.update((request["custom_id"], dict(request)) for request in requests)
    write_pending(path, waiting.values())
    return list(waiting)


@dataclass(slots=True)
class TakenAnswers:
    """The counts of an answer file: completions recorded now, recorded before, and problems."""

    recorded: int = 0
    already: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"{counted(self.recorded, 'completion')} recorded"
        if self.already:
            text += f", {self.already} recorded before"
        return "\n  ".join([text, *self.problems])


def take_answers(answers: Path, pending: Path, cassettes: Path) -> TakenAnswers:
    """Record the completions of an answer file in the cassettes that wait for them.

    A line that can't be used is reported and its request stays in the batch file; taking the same
    file twice records nothing twice. An answer that holds what looks like a secret is refused, and
    its request kept as such in the `PendingState`.

    Raises:
        UsageError: there is no answer file, or the batch file is damaged.
    """
    if not answers.is_file():
        raise UsageError(f"--miniwob-answers: there is no file {answers}")
    waiting = read_pending(pending)
    state = PendingState(pending)
    taken = TakenAnswers()
    locks = pending.with_name(LOCKS)
    lines = _lines(answers.read_text(encoding="utf-8"))
    for number, line in enumerate(lines, start=1):
        location = f"{answers}:{number}"
        if not line.strip():
            continue
        try:
            answer = json.loads(line)
            id_ = str(answer["custom_id"])
        except (ValueError, KeyError, TypeError):
            last = number == len(lines)
            problem = "is truncated" if last else "is not an answer of a batch file"
            taken.problems.append(f"{location} {problem}: skipped")
            continue
        if reason := _take_answer(id_, answer, waiting, state, cassettes, locks, taken):
            taken.problems.append(f"{location}: {id_}: {reason}")
    write_pending(pending, waiting.values())
    return taken


def _take_answer(
    id_: str,
    answer: Mapping[str, Any],
    waiting: dict[str, dict[str, Any]],
    state: PendingState,
    cassettes: Path,
    locks: Path,
    taken: TakenAnswers,
) -> str | None:
    """Record one answer; return the reason if that is not possible."""
    try:
        cassette = ItemCassette(cassettes, stem_of_request(id_), Record.DEFER, locks=locks)
    except CassetteError as error:
        return f"{error}, still waiting"
    taken.problems += cassette.remarks
    with contextlib.closing(cassette):
        return _record_answer(cassette, id_, answer, waiting, state, taken)


def _record_answer(
    cassette: ItemCassette,
    id_: str,
    answer: Mapping[str, Any],
    waiting: dict[str, dict[str, Any]],
    state: PendingState,
    taken: TakenAnswers,
) -> str | None:
    if cassette.has_request(id_):
        taken.already += 1
        waiting.pop(id_, None)
        state.accept([id_])
        return None
    if id_ not in waiting:
        return "no request with this id is waiting"
    response = answer.get("response")
    if not isinstance(response, dict):
        response = {}
    completion = completion_of(response.get("status_code", 0), response.get("body") or {})
    if completion is None:
        status, body = response.get("status_code", 0), response.get("body")
        if status == 200 and body and not answer.get("error"):
            report = describe_unusable(status, body, waiting[id_]["body"]).report
            return f"{report}, still waiting"
        reason = answer.get("error") or response.get("body") or "no response"
        text = shorten(json.dumps(redact(reason), ensure_ascii=False))
        return f"holds no completion ({text}), still waiting"
    if why := refusal(answer):
        state.refuse({id_: why})
        return f"refused: {why}; `{DROP_REFUSED}` has it asked again"
    try:
        cassette.add_for_next_run(waiting[id_]["body"], completion)
    except CassetteError as error:
        return f"{error}, still waiting"
    del waiting[id_]
    state.accept([id_])
    taken.recorded += 1
    return None
