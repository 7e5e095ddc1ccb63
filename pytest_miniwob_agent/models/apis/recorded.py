"""Answers as they are recorded: parsed JSON, or the text of an event stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_miniwob_agent.core.chat import ModelResponse
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import sse
from pytest_miniwob_agent.models.apis.registry import OTHER, api_of


def answer_of(path: str, content: bytes, content_type: str = "") -> Any:
    """Return the answer in a response's body, as it is recorded; None if it holds none."""
    try:
        if content_type.partition(";")[0].strip() == sse.CONTENT_TYPE:
            answer: Any = content.decode()
        else:
            answer = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return answer if is_answer(path, answer) else None


def is_answer(path: str, answer: Any) -> bool:
    """Return True for what may be recorded as an answer: any but an error or an empty one."""
    try:
        # NaN, or half of a surrogate pair: Python reads them, but they could not be replayed.
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
        if isinstance(answer, list):
            return api_of(path) is OTHER
        return isinstance(answer, str | Mapping) and api_of(path).is_answer(_json_of(path, answer))
    except (ValueError, RecursionError):
        return False


def completion_of(path: str, answer: Any) -> Completion:
    """Return what an answer says."""
    return api_of(path).completion(_json_of(path, answer))


def completion_in(path: str, response: ModelResponse) -> Completion:
    """Return what a response says."""
    return completion_of(path, answer_of(path, response.content, response.content_type))


def _json_of(path: str, answer: Any) -> Mapping[str, Any]:
    """Return an answer as one JSON object, that of a stream put together."""
    if isinstance(answer, str):
        return api_of(path).collect(sse.read_events(answer))
    return answer if isinstance(answer, Mapping) else {"answer": answer} if answer else {}
