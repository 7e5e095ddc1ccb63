"""`miniwob-agent cassettes show`: the calls of a cassette as a conversation to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.format.call import Call
from pytest_miniwob_agent.cassettes.format.file import read_cassette
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import counted, sanitize_line, sanitize_lines, section_lines
from pytest_miniwob_agent.models.apis import CHAT


def shown_calls(path: Path) -> Iterator[str]:
    """Yield a text for each request and each completion of a cassette.

    A request is shown with the messages that are new since the one before, and with its tools if
    they changed.

    Raises:
        CassetteError: a damaged file.
    """
    before: Call | None = None
    for number, call in enumerate(read_cassette(path), start=1):
        origin = f": {call.origin}" if call.origin else ""
        lines = [f"=== call {number}{origin} ===", *_lines_of(call, before)]
        yield sanitize_lines(redact("\n".join(lines)))
        said = redact(call.completion)
        tokens = f", {call.tokens[0]:,} + {call.tokens[1]:,} tokens" if call.tokens else ""
        stream = ", a stream" if isinstance(call.answer, str) else ""
        lines = [f"--- {sanitize_line(said.model or 'model')}{tokens}{stream} ---"]
        for name, text in said.sections:
            lines += section_lines(name, text)
        yield "\n".join(lines)
        if not _is_text(call):
            before = call


def _is_text(call: Call) -> bool:
    request = call.request
    return request.path == CHAT and not request.tools and len(request.messages) == 1


def _lines_of(call: Call, before: Call | None) -> Iterator[str]:
    """Yield the lines of a request; `before` is the last call of a conversation."""
    request, messages = call.request, call.request.messages
    if request.path != CHAT:
        yield f"path: {request.path}"
    if request.normalized:
        yield f"normalized: {', '.join(request.normalized)}"
    tools = before.request.tools if before else {}
    if request.tools != tools and not _is_text(call):
        yield "tools:" if request.tools else "tools: none"
        for name, tool in request.tools.items():
            yield f"  {_tool(name, tool)}"
    if len(messages) == 1:
        yield request.text
        return
    new = tuple(messages)
    if before is not None:
        new = before.completion.unseen(messages, before.request.messages)
    if earlier := len(messages) - len(new):
        yield f"… {counted(earlier, 'earlier message')}"
    for message in new:
        yield f"[{message.role}]\n{message}"


def _tool(name: str, tool: Any) -> str:
    """Describe a tool in a line, such as `click(element): Click an element`."""
    tool = tool if isinstance(tool, Mapping) else {}
    schema = tool.get("parameters") or tool.get("input_schema")
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    description = " ".join(str(tool.get("description") or "").split())
    given = ", ".join(map(str, fields)) if isinstance(fields, Mapping) else ""
    return f"{name}({given})" + (f": {description}" if description else "")
