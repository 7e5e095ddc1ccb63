"""Event streams (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

CONTENT_TYPE = "text/event-stream"

_LINE_END = re.compile(r"\r\n|\n|\r")


def read_events(text: str) -> list[Any]:
    """Return the JSON data of a stream's events, without what is not JSON, such as `[DONE]`."""
    events = []
    data: list[str] = []
    for line in [*_LINE_END.split(text), ""]:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            with contextlib.suppress(ValueError, RecursionError):
                events.append(json.loads("\n".join(data)))
            data = []
    return events


def write_events(events: Iterable[Mapping[str, Any]], *, named: bool) -> str:
    """Return a stream of events.

    Args:
        events: their data.
        named: name events by their `type`, as Responses and Messages do; otherwise `[DONE]` ends
            the stream, as in Chat Completions.
    """
    lines = []
    for event in events:
        name = f"event: {event.get('type')}\n" if named else ""
        lines.append(f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n")
    return "".join(lines) + ("" if named else "data: [DONE]\n\n")
