"""`miniwob-agent cassettes show`: the calls of a cassette as a conversation to read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_miniwob_agent.cassettes.call import Call
from pytest_miniwob_agent.cassettes.file import read_cassette
from pytest_miniwob_agent.core.secrets import redact


def conversation(path: Path) -> Iterator[str]:
    """Yield a text for each request and each completion of a cassette.

    Raises:
        CassetteError: a damaged file.
    """
    for number, call in enumerate(read_cassette(path), start=1):
        origin = f": {call.origin}" if call.origin else ""
        yield f"=== call {number}{origin} ===\n{redact(call.request.text)}"
        said = redact(call.completion)
        text = "\n".join([*([said.text] if said.text else []), *map(str, said.tool_calls)])
        yield f"--- {said.model or 'model'}{_tokens(call)} ---\n{text}"


def _tokens(call: Call) -> str:
    return f", {call.tokens[0]:,} + {call.tokens[1]:,} tokens" if call.tokens else ""
