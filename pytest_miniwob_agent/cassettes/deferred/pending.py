"""`pending.jsonl`: deferred recording writes requests into it and reads their completions.

Both files are batch files, see `batch_file`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.deferred.answers import error_of, is_completion, response_of
from pytest_miniwob_agent.cassettes.deferred.batch_file import (
    read_pending,
    request_of,
    split_lines,
    write_pending,
)
from pytest_miniwob_agent.cassettes.deferred.pending_state import (
    PendingState,
    refusal,
    stem_of_request,
)
from pytest_miniwob_agent.cassettes.tape.lock import LOCKS
from pytest_miniwob_agent.cassettes.tape.recording import Record, Recording
from pytest_miniwob_agent.core.errors import CassetteError, UsageError
from pytest_miniwob_agent.core.text import counted


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
    lines = split_lines(answers.read_text(encoding="utf-8"))
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
        cassette = Recording(cassettes, stem_of_request(id_), Record.DEFER, locks=locks)
    except CassetteError as error:
        return f"{error}, still waiting"
    taken.problems += cassette.remarks
    with contextlib.closing(cassette):
        return _record_answer(cassette, id_, answer, waiting, state, taken)


def _record_answer(
    cassette: Recording,
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
    line = request_of(waiting[id_])
    request = cassette.request_of(line.path, line.body)
    if not is_completion(answer, request.path):
        return f"{error_of(answer, request)}, still waiting"
    if why := refusal(answer):
        state.refuse({id_: why})
        return f"refused: {why}; `{state.drop_refused}` has it asked again"
    try:
        cassette.add_for_next_run(request, response_of(answer)[1])
    except CassetteError as error:
        return f"{error}, still waiting"
    del waiting[id_]
    state.accept([id_])
    taken.recorded += 1
    return None
