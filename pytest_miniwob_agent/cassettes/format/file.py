"""The file of a cassette: reading and writing it as a whole.

It is a vcrpy cassette (https://vcrpy.readthedocs.io) in YAML, with JSON bodies as mappings and
texts as blocks. Beside `request` and `response`, a call says where it was made
(`core.events.Origin`); this takes no part in matching.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from vcr.request import Request as VcrRequest
from vcr.serialize import deserialize

from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.cassettes.format.serializer import END, Serializer, dump
from pytest_miniwob_agent.cassettes.format.validation import (
    SCHEMA,
    InvalidCassette,
    line_of_call,
)
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import CassetteError, CassetteNotWritten
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.files import display_path, write_atomically
from pytest_miniwob_agent.models.apis.api import EVENT_STREAM, read_events

_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: |$)", re.M)


def read_cassette(path: Path) -> list[Call]:
    """Return the calls of a cassette, in order.

    Raises:
        CassetteError: the file is damaged; the message names the line and how to fix it.
    """
    return load_cassette(path)[0]


def load_cassette(path: Path) -> tuple[list[Call], dict[str, Any]]:
    """Return the calls of a cassette, and its further keys, see `write_cassette`.

    Raises:
        CassetteError: as for `read_cassette`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(path, None, f"it is not UTF-8 ({error.reason})") from None
    if not text.strip():
        raise _damaged(path, None, "it is empty")
    line: int | None
    if match := _CONFLICT.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise _damaged(path, line, "a git conflict is not resolved")
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
        line = None if invalid.call is None else line_of_call(text, invalid.call)
        raise _damaged(path, line, str(invalid)) from None
    if not text.endswith("\n" + END):
        lines = text.count("\n") + (not text.endswith("\n"))
        raise _damaged(path, lines, "it is truncated: the end marker (...) is missing")
    metadata = serializer.data
    origins = [dict(interaction.get("call", {})) for interaction in metadata.pop("interactions")]
    return list(map(_call_of, origins, requests, responses)), metadata


def _call_of(origin: dict[str, Any], request: VcrRequest, response: Mapping[str, Any]) -> Call:
    normalized = tuple(origin.pop("normalized", ()))
    return Call(
        Request(request.uri, json.loads(request.body), normalized),
        json.loads(response["body"]["string"]),
        Origin(**origin) if origin else None,
    )


def write_cassette(path: Path, calls: Sequence[Call], **metadata: Any) -> None:
    """Write a cassette atomically.

    Args:
        path: the file.
        calls: its calls, in order.
        metadata: further keys of the file.

    Raises:
        CassetteError: a text in a call looks like a key; nothing is written.
        CassetteNotWritten: there is no room, or no permission; the old file is unchanged.
    """
    for number, call in enumerate(calls, start=1):
        answer = call.recorded
        events = read_events(answer) if isinstance(answer, str) else []
        if found := secrets.find([call.body, answer, *events, call.origin]):
            raise CassetteError(
                f"{path} was not written: call {number} holds what looks like a secret "
                f"({found[0].kind})"
            )
    text = dump_cassette(calls, **metadata)
    try:
        write_atomically(path, text, durable=True)  # it may be the only copy of what was paid for
    except OSError as error:
        raise CassetteNotWritten(f"{display_path(path)} can't be written: {error}") from None


def dump_cassette(calls: Sequence[Call], **metadata: Any) -> str:
    """Return the text of a cassette; the arguments are those of `write_cassette`."""
    head = dump({"version": 1, "schema": SCHEMA, **metadata})
    interactions = "\n" + "".join(map(_text_of, calls)) if calls else " []\n"
    return f"{head}interactions:{interactions}{END}"


def _text_of(call: Call) -> str:
    """Return the text of a call; it is made once, as a file grows call by call."""
    known = call.written
    if known is None or known[0] is not call.request or known[1] != call.origin:
        known = call.written = (call.request, call.origin, _dump_call(call))
    return known[2]


def _dump_call(call: Call) -> str:
    source = to_data(call.origin) if call.origin else {}
    if call.request.normalized:
        source["normalized"] = list(call.request.normalized)
    content_type = EVENT_STREAM if isinstance(call.answer, str) else "application/json"
    return dump(
        [
            ({"call": source} if source else {})
            | {
                "request": {
                    "method": "POST",
                    "uri": call.request.path,
                    "body": dict(call.body),
                    "headers": {},
                },
                "response": {
                    "status": {"code": 200, "message": "OK"},
                    "headers": {"Content-Type": [content_type]},
                    "body": call.recorded,
                },
            }
        ]
    )


def _damaged(path: Path, line: int | None, problem: str) -> CassetteError:
    location = f"{path}:{line}" if line else str(path)
    return CassetteError(
        f"{location}: not a readable cassette: {problem}. Restore the file (git checkout), or "
        "delete it and record the item again"
    )
