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
    ids_of,
    parse_lines,
    read_pending,
    request_of,
    stem_of_request,
    write_pending,
)
from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.cassettes.tape.recording import Record, Recording
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import CassetteError, UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.text import counted, shorten
from pytest_miniwob_agent.models.apis import is_answer
from pytest_miniwob_agent.models.unusable import describe_unusable


def read_answers(pending: Path) -> dict[str, Line]:
    """Return the answers in `answers.jsonl` by request id; none if there is no file.

    Raises:
        UsageError: a line is not an answer.
    """
    path = pending.with_name("answers.jsonl")
    return parse_lines(path.read_text(encoding="utf-8"), str(path)) if path.exists() else {}


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
    """Return the completion of an answer, or raise a `CassetteError` with what is wrong with it."""
    if not answer:
        raise CassetteError("no answer came back")
    response, error = answer.get("response"), answer.get("error")
    response = response if isinstance(response, dict) else {}
    body = response.get("body")
    if response.get("status_code") == 200 and body and not error:
        if not is_answer(request.path, body):
            raise CassetteError(describe_unusable(200, body, request.body).report)
        if found := secrets.find(answer):
            what = f"its completion holds what looks like a secret ({found[0].kind})"
            raise CassetteError(f"{what}, and is not kept")
        return body
    raise CassetteError(shorten(secrets.redact(f"no completion: {canonical_json(error or body)}")))


def take_answers(answers: Path, pending: Path, cassettes: Path) -> list[str]:
    """Record the completions of an answer file; return what was recorded, then the problems.

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
                raise CassetteError("not a whole line of a batch file")
            stem, line = stem_of_request(id_), waiting.get(id_)
            with closing(
                Recording(cassettes, stem, Record.DEFER, state=pending.parent)
            ) as cassette:
                problems += cassette.remarks
                if id_ in ids_of(stem, [*cassette.calls, *cassette.tape.spare]):
                    already += 1
                elif line is None:
                    raise CassetteError("no request with this id is waiting")
                else:
                    asked = request_of(line)
                    request = cassette.request_of(asked.path, asked.body)
                    cassette.add_for_next_run(request, _completion(answer, request))
                    recorded += 1
            waiting.pop(id_, None)
        except CassetteError as error:
            problems.append(f"{answers}:{number}: {id_ or 'skipped'}: {error}")
    write_pending(pending, waiting.values())
    before = f", {already} recorded before" if already else ""
    return [f"{counted(recorded, 'completion')} recorded{before}", *problems]
