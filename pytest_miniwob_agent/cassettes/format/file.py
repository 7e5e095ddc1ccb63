"""The file of a cassette: reading and writing it as a whole.

A vcrpy cassette (https://vcrpy.readthedocs.io) in YAML, with JSON bodies as mappings and texts as
blocks. Beside `request` and `response`, a call says where it was made (`core.events.Origin`); this
takes no part in matching.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from vcr.request import Request as VcrRequest
from vcr.serialize import deserialize, serialize

from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.cassettes.format.serializer import (
    END,
    Serializer,
    Source,
    dump_interaction,
    join_interactions,
)
from pytest_miniwob_agent.cassettes.format.validation import (
    OTHER_CALLS,
    SCHEMA,
    WITH_PICTURES,
    InvalidCassette,
    is_text_answer,
    line_of,
)
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.errors import CassetteError, CassetteNotWritten
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.files import display_path, write_atomically
from pytest_miniwob_agent.models.apis import CHAT, sse

_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: |$)", re.M)


def read_cassette(path: Path) -> list[Call]:
    """Return the calls of a cassette, in order.

    Raises:
        CassetteError: the file is damaged; the message names the line and how to fix it.
    """
    return load_cassette(path)[0]


def load_cassette(path: Path) -> tuple[list[Call], Mapping[str, Any]]:
    """Return the calls of a cassette, and its metadata (the schema, the mode of its recording).

    Raises:
        CassetteError: as for `read_cassette`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(path, None, f"it is not UTF-8 ({error.reason})") from None
    if not text.strip():
        raise _damaged(path, None, "it is empty")
    if match := _CONFLICT.search(text):
        raise _damaged(path, _line_at(text, match.start()), "a git conflict is not resolved")
    serializer = Serializer()
    try:
        requests, responses = deserialize(text, serializer)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(mark.line + 1, text.count("\n") + 1) if mark else None
        raise _damaged(path, line, f"it is not valid YAML ({error.problem})") from None
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise _damaged(path, None, f"it is not valid YAML ({problem})") from None
    except InvalidCassette as invalid:
        raise _damaged(path, line_of(text, invalid.keys), invalid.problem) from None
    if "schema" in serializer.metadata and not text.endswith("\n" + END):
        lines = text.count("\n") + (not text.endswith("\n"))
        raise _damaged(path, lines, "it is truncated: the end marker (...) is missing")
    return [
        Call(
            Request(request.uri, json.loads(request.body), normalized),
            json.loads(response["body"]["string"]),
            origin,
        )
        for request, response, (origin, normalized) in zip(
            requests, responses, serializer.sources, strict=True
        )
    ], serializer.metadata


class CallTexts:
    """The YAML texts of calls; a file that grows call by call makes each of them once."""

    def __init__(self) -> None:
        self._known: dict[Call, tuple[Request, Origin | None, str]] = {}

    def of(self, call: Call) -> str:
        """Return the text of a call, a new one if its request or origin has been replaced."""
        known = self._known.get(call)
        if known is None or known[0] is not call.request or known[1] != call.origin:
            known = self._known[call] = (call.request, call.origin, _dump_call(call))
        return known[2]


def write_cassette(
    path: Path, calls: Sequence[Call], texts: CallTexts | None = None, **metadata: Any
) -> None:
    """Write a cassette atomically.

    Args:
        path: the file.
        calls: its calls, in order.
        texts: the texts of calls that were written before.
        metadata: keys of the file, beside the version and the schema.

    Raises:
        CassetteError: a text in a call looks like a key; nothing is written.
        CassetteNotWritten: there is no room, or no permission; the old file is unchanged.
    """
    for number, call in enumerate(calls, start=1):
        if found := secrets.find([call.body, *answer_parts(call.recorded), call.origin]):
            raise CassetteError(
                f"{path} was not written: call {number} holds what looks like a secret "
                f"({found[0].kind})"
            )
    text = dump_cassette(calls, texts, **metadata)
    try:
        write_atomically(path, text, durable=True)  # it may be the only copy of what was paid for
    except OSError as error:
        raise CassetteNotWritten(f"{display_path(path)} can't be written: {error}") from None


def dump_cassette(calls: Sequence[Call], texts: CallTexts | None = None, **metadata: Any) -> str:
    """Return the text of a cassette; the arguments are those of `write_cassette`."""
    texts = texts or CallTexts()
    schema = max(map(_schema_of, calls), default=SCHEMA)
    return join_interactions([texts.of(call) for call in calls], schema, metadata)


def _dump_call(call: Call) -> str:
    data = {
        "requests": [VcrRequest("POST", call.request.path, json.dumps(call.body), {})],
        "responses": [
            {
                "status": {"code": 200, "message": "OK"},
                "headers": {"Content-Type": [_content_type(call)]},
                "body": {"string": json.dumps(call.recorded)},
            }
        ],
    }
    text: str = serialize(data, _OneCall((call.origin, call.request.normalized)))
    return text


class _OneCall:
    """A vcrpy serializer of a single interaction."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def serialize(self, cassette: Mapping[str, Any]) -> str:
        [interaction] = cassette["interactions"]
        return dump_interaction(interaction, self._source)


def _content_type(call: Call) -> str:
    return sse.CONTENT_TYPE if isinstance(call.answer, str) else "application/json"


def _schema_of(call: Call) -> int:
    """Return the oldest schema that can hold a call; the first one holds texts alone."""
    if call.request.pictures:
        return WITH_PICTURES
    is_text = (
        call.request.path == CHAT and not call.request.normalized and is_text_answer(call.answer)
    )
    return SCHEMA if is_text else OTHER_CALLS


def answer_parts(answer: Any) -> list[Any]:
    """Return an answer as data to search, a stream also as that of its events."""
    return [answer, *sse.read_events(answer)] if isinstance(answer, str) else [answer]


def _damaged(path: Path, line: int | None, problem: str) -> CassetteError:
    location = f"{path}:{line}" if line else str(path)
    return CassetteError(
        f"{location}: not a readable cassette: {problem}. Restore the file (git checkout), or "
        "delete it and record the item again"
    )


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
