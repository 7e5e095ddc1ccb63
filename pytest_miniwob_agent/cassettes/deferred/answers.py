"""`answers.jsonl`: the completions of deferred recording, and recording them in cassettes.

It is an output file of the Batch API, with `custom_id`, `response` and `error` per line. An answer
that holds what looks like a secret counts as an error and is stored nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.deferred.pending import (
    Line,
    batch_lines,
    read_pending,
    request_of,
    stem_of_request,
    write_pending,
)
from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.cassettes.tape.lock import LOCKS
from pytest_miniwob_agent.cassettes.tape.recording import Record, Recording
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import CassetteError, MiniwobError, UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.text import counted, shorten
from pytest_miniwob_agent.models.apis import is_answer
from pytest_miniwob_agent.models.unusable import describe_unusable


def read_answers(pending: Path) -> dict[str, Line]:
    """Return the answers in `answers.jsonl` by request id; none if there is no file.

    Raises:
        MiniwobError: a line is not an answer.
    """
    path = pending.with_name("answers.jsonl")
    return parse_answers(path.read_text(encoding="utf-8"), str(path)) if path.exists() else {}


def parse_answers(text: str, name: str) -> dict[str, Line]:
    """Return the lines of an answer file by request id; `name` is the file's in messages.

    Raises:
        MiniwobError: a line is not an answer.
    """
    answers = {}
    for number, id_, line in batch_lines(text):
        if line is None:
            raise MiniwobError(f"{name}, line {number}, is not an answer of a batch file")
        answers[id_] = line
    return answers


def keep_answers(
    pending: Path, requests: Mapping[str, Line], lines: Mapping[str, Line]
) -> dict[str, str]:
    """Add completions to `answers.jsonl`; return the errors of the other requests by id."""
    answers: dict[str, Line] = {}
    errors: dict[str, str] = {}
    for id_, request in requests.items():
        try:
            _completion(lines.get(id_, {}), request_of(request))
            answers[id_] = lines[id_]
        except CassetteError as error:
            errors[id_] = str(error)
    if answers:
        kept = (read_answers(pending) | answers).values()
        texts = (json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
        write_atomically(pending.with_name("answers.jsonl"), "".join(texts))
    return errors


def _completion(answer: Line, request: Request) -> Any:
    """Return the completion that an answer holds.

    Raises:
        CassetteError: there is none, or it may not be stored; the message has the reason.
    """
    if not answer:
        raise CassetteError("no answer came back")
    response = answer.get("response")
    response = response if isinstance(response, dict) else {}
    status, body = response.get("status_code", 0), response.get("body")
    if status == 200 and body and is_answer(request.path, body):
        if found := secrets.find(answer):
            what = f"its completion holds what looks like a secret ({found[0].kind})"
            raise CassetteError(f"{what}, and is not kept")
        return body
    if status == 200 and body and not answer.get("error"):
        raise CassetteError(describe_unusable(status, body, request.body).report)
    error = answer.get("error") or body
    if isinstance(error, dict):
        error = error.get("error") or error
    message = error.get("message") if isinstance(error, dict) else None
    text = str(message) if message else f"no completion: {canonical_json(error)}"
    raise CassetteError(shorten(secrets.redact(text)))


def take_answers(answers: Path, pending: Path, cassettes: Path) -> str:
    """Record the completions of an answer file; return lines on what was recorded.

    A request whose answer can't be used stays pending, and an answer is recorded only once.

    Raises:
        UsageError: there is no answer file, or the batch file is damaged.
    """
    if not answers.is_file():
        raise UsageError(f"--miniwob-answers: there is no file {answers}")
    waiting = read_pending(pending)
    recorded = already = 0
    problems: list[str] = []
    for number, id_, answer in batch_lines(answers.read_text(encoding="utf-8")):
        try:
            if answer is None:
                raise CassetteError("not a whole answer of a batch file")
            stem, locks = stem_of_request(id_), pending.with_name(LOCKS)
            with closing(Recording(cassettes, stem, Record.DEFER, locks=locks)) as cassette:
                problems += cassette.remarks
                if cassette.has_request(id_):
                    already += 1
                else:
                    _record(cassette, answer, waiting.get(id_))
                    recorded += 1
            waiting.pop(id_, None)
        except CassetteError as error:
            problems.append(f"{answers}:{number}: {id_ or 'skipped'}: {error}")
    write_pending(pending, waiting.values())
    before = f", {already} recorded before" if already else ""
    return "\n  ".join([f"{counted(recorded, 'completion')} recorded{before}", *problems])


def _record(cassette: Recording, answer: Line, line: Line | None) -> None:
    """Record the answer to a line of the batch file.

    Raises:
        CassetteError: that is not possible.
    """
    if line is None:
        raise CassetteError("no request with this id is waiting")
    request = cassette.request_of(request_of(line).path, request_of(line).body)
    cassette.add_for_next_run(request, _completion(answer, request))
