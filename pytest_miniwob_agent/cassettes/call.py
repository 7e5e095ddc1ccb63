"""A recorded model call: its request, its completion and where in its item it was made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.usage import Usage, token_count

URL = "/v1/chat/completions"
"""The endpoint as cassettes and batch files name it: without a host."""

OF_TEST = Origin("test", 0, 0, {}, "", "")
"""The origin of a call that a test makes outside of its episode."""

CHARACTERS_PER_TOKEN = 4
"""Roughly that of English texts; used where a server gave no token counts."""


@dataclass(eq=False)
class Call:
    """A recorded model call.

    Args:
        body: the request's body.
        answer: the response's body, a chat completion.
        origin: where in its item the call was made; None if the file does not say.
    """

    body: Mapping[str, Any]
    answer: Mapping[str, Any]
    origin: Origin | None = None

    @cached_property
    def key(self) -> str:
        """The request as canonical JSON; a request with an equal key is answered by this call."""
        return canonical_json(self.body)

    @cached_property
    def content(self) -> str:
        """The request and the response as one text, equal for equal calls."""
        return self.key + canonical_json(self.answer)

    @property
    def text(self) -> str:
        """The completion."""
        text: str = self.answer["choices"][0]["message"]["content"]
        return text

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Prompt and completion tokens, or None if the server gave no counts."""
        return tokens_of(self.answer)


def completion_of(status: int, body: bytes | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a response's body if it is a chat completion with a text, else None.

    Only such responses are recorded.
    """
    if status != 200:
        return None
    try:
        answer = json.loads(body) if isinstance(body, bytes) else body
        text = answer["choices"][0]["message"]["content"]
        # NaN, or half of a surrogate pair: Python reads them, but they could not be replayed.
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return answer if isinstance(text, str) else None


def tokens_of(answer: Any) -> tuple[int, int] | None:
    """Return the prompt and completion tokens of a response's body, None where it has no counts.

    The body may be any JSON.
    """
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    prompt = token_count(usage.get("prompt_tokens"))
    completion = token_count(usage.get("completion_tokens"))
    return None if prompt is None or completion is None else (prompt, completion)


def usage_of_answer(answer: Any) -> Usage:
    """Return the usage of one call; its answer may be any JSON."""
    tokens = tokens_of(answer)
    return Usage(1, *(tokens or (0, 0)), uncounted=tokens is None)


def params_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a request: all of its body but the model and the messages."""
    return {name: value for name, value in body.items() if name not in ("model", "messages")}


def messages_text(body: Mapping[str, Any]) -> str:
    """Format the messages of a request as one text; a role heads each if there are several."""
    messages = body["messages"]
    texts = []
    for message in messages:
        content = message.get("content")
        text = content if isinstance(content, str) else canonical_json(content)
        texts.append(text if len(messages) == 1 else f"[{message.get('role')}]\n{text}")
    return "\n".join(texts)


def usage_of(calls: Iterable[Call], *, estimate: bool = False) -> Usage:
    """Sum up calls and tokens; `estimate` replaces missing token counts by estimates from lengths.

    Calls without a count are counted in `uncounted` in both cases.
    """
    total = Usage()
    for call in calls:
        tokens = call.tokens
        if tokens is None and estimate:
            lengths = len(messages_text(call.body)), len(call.text)
            tokens = lengths[0] // CHARACTERS_PER_TOKEN, lengths[1] // CHARACTERS_PER_TOKEN
        total += Usage(1, *(tokens or (0, 0)), uncounted=call.tokens is None)
    return total
