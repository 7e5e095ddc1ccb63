"""`answers.jsonl`: the answers of a Batch API to the requests of `pending.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.deferred.batch_file import lines_by_id, request_of
from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.apis.recorded import is_answer
from pytest_miniwob_agent.models.unusable import describe_unusable


def read_answers(path: Path, requests: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the completions in an answer file by request id; none if there is no file.

    Args:
        path: the file.
        requests: the lines of the batch file, by request id.

    Raises:
        MiniwobError: a line is not an answer.
    """
    if not path.exists():
        return {}
    lines = parse_answers(path.read_text(encoding="utf-8"), str(path))
    return {id_: line for id_, line in lines.items() if is_completion(line, path_in(requests, id_))}


def path_in(requests: Mapping[str, Any], id_: str) -> str:
    """Return the path of a request in a batch file; empty if it is not there."""
    return request_of(requests[id_]).path if id_ in requests else ""


def write_answers(path: Path, answers: Mapping[str, Mapping[str, Any]]) -> None:
    """Write an answer file."""
    lines = (json.dumps(line, ensure_ascii=False) + "\n" for line in answers.values())
    write_atomically(path, "".join(lines))


def parse_answers(text: str, name: str) -> dict[str, dict[str, Any]]:
    """Return the lines of an answer file by request id; `name` is the file's in messages.

    Raises:
        MiniwobError: a line is not an answer.
    """
    return lines_by_id(
        text,
        lambda number: MiniwobError(f"{name}, line {number}, is not an answer of a batch file"),
    )


def response_of(answer: Mapping[str, Any]) -> tuple[int, Any]:
    """Return the status and the body of an answer's response."""
    response = answer.get("response")
    if not isinstance(response, dict):
        return 0, None
    return response.get("status_code", 0), response.get("body")


def is_completion(answer: Mapping[str, Any], path: str) -> bool:
    """Return True for an answer that is a completion.

    Args:
        answer: a line of an answer file.
        path: that of the request; empty if it is not known.
    """
    status, body = response_of(answer)
    return status == 200 and bool(body) and is_answer(path, body)


def error_of(answer: Mapping[str, Any], request: Request) -> str:
    """Return the reason why an answer holds no completion."""
    status, body = response_of(answer)
    if status == 200 and body and not answer.get("error"):
        return describe_unusable(status, body, request.body).report
    error = answer.get("error") or body
    if isinstance(error, dict):
        error = error.get("error") or error
    message = error.get("message") if isinstance(error, dict) else None
    if message:
        return shorten(redact(str(message)))
    return shorten(f"no completion: {canonical_json(redact(error))}")
