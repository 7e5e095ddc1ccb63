"""Bodies of answers: how each type of content is recorded, and sent again.

JSON is recorded as it is parsed. All else becomes a string: event streams, lines of JSON and other
text as they are, and what is binary in Base64.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

EVENT_STREAM = "text/event-stream"
"""Content type of streams (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

AWS_STREAM = "application/vnd.amazon.eventstream"
"""Content type of Amazon's streams (https://smithy.io/2.0/aws/amazon-eventstream.html)."""

_JSON = re.compile(r"|application/([\w.-]+\+)?json")
_TEXT = re.compile(r"text/.+|application/([\w.-]+[-+.])?(jsonl?|jsonlines|ndjson|xml|yaml)")

# Bytes of a header's value in Amazon's streams, by its type; bytes and strings begin with a length.
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}


def media_type(content_type: str) -> str:
    """Return a content type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def other_type(content_type: str) -> str:
    """Return the type of content that is neither JSON nor an event stream; else an empty string."""
    kind = media_type(content_type)
    return "" if kind == EVENT_STREAM or _JSON.fullmatch(kind) else kind


def record_body(content: bytes, kind: str) -> str:
    """Return what is recorded of content of a type that is not JSON."""
    if _TEXT.fullmatch(kind):
        return content.decode("utf-8", "replace")
    return base64.b64encode(content).decode()


def sent_body(recorded: str, kind: str) -> bytes:
    """Return the content of which a string is recorded.

    Raises:
        ValueError: it should be Base64.
    """
    return recorded.encode() if _TEXT.fullmatch(kind) else base64.b64decode(recorded, validate=True)


def shown_body(recorded: str, kind: str) -> dict[str, Any]:
    """Return what people see of content that has no events; empty if there is none."""
    if _TEXT.fullmatch(kind):
        return {"text": recorded} if recorded.strip() else {}
    return {"content_type": kind, "bytes": len(sent_body(recorded, kind))} if recorded else {}


def events_in(content: bytes, content_type: str) -> list[Any]:
    """Return the events of an answer as it came; none if it is no stream."""
    kind = media_type(content_type)
    return [] if _JSON.fullmatch(kind) else read_events(record_body(content, kind), kind)


def read_events(recorded: str, kind: str = EVENT_STREAM) -> list[Any]:
    """Return the JSON data of a stream's events, without what is not JSON, such as `[DONE]`."""
    if kind == AWS_STREAM:
        with contextlib.suppress(binascii.Error, struct.error, IndexError):
            return list(_aws_events(sent_body(recorded, kind)))
        return []
    lines = recorded.split("\n") if "json" in kind else []
    if kind == EVENT_STREAM:
        for event in re.sub(r"\r\n?", "\n", recorded).split("\n\n"):
            data = (line for line in event.split("\n") if line.startswith("data:"))
            lines.append("\n".join(line.removeprefix("data:") for line in data))
    events = []
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError):
            events.append(json.loads(line))
    return events


def _aws_events(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield each message as `{type: payload}`; that of an error is named `error`."""
    while content:
        size, length = struct.unpack_from(">II", content)
        names, payload = content[12 : 12 + length], content[12 + length : size - 4]
        content = content[size or len(content) :]
        headers = {}
        while names:
            end = 1 + names[0]
            kind, name = names[end], names[1:end].decode("utf-8", "replace")
            begin = end + (1 if kind in _SIZES else 3)
            last = begin + (_SIZES.get(kind) or int.from_bytes(names[end + 1 : begin]))
            headers[name] = names[begin:last].decode("utf-8", "replace")
            names = names[last:]
        data = _payload(payload)
        if reason := headers.get(":exception-type") or headers.get(":error-code"):
            yield {"error": {"type": reason, **(data if isinstance(data, dict) else {})}}
        else:
            yield {headers.get(":event-type", "message"): data}


def _payload(content: bytes) -> Any:
    try:
        data = json.loads(content)
        # The pieces of a model's own answer (InvokeModelWithResponseStream).
        inner = data["bytes"] if isinstance(data, Mapping) and "bytes" in data else None
        return data if inner is None else json.loads(base64.b64decode(inner))
    except (ValueError, TypeError, RecursionError):
        return content.decode("utf-8", "replace")
