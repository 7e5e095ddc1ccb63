"""Answers that arrived, so that they may have been paid for, and that hold no completion."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_miniwob_agent.core.chat import token_count
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.apis import lenient
from pytest_miniwob_agent.models.params import OPTION


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that holds no completion.

    `reason` are a few words, by which such answers are counted, and `report` is one line: what came
    back, and the option that helps. A `foreign` one is a web page, as from a wrong address.
    """

    reason: str
    report: str
    foreign: bool = False


def describe_unusable(status: int, answer: object, body: Mapping[str, Any]) -> Unusable:
    """Describe an answer for which `answer_of` returns None.

    Args:
        status: the status of the response.
        answer: its body, as bytes or as parsed JSON.
        body: the body of the request, for the limits that it sets.
    """
    parsed = parsed_json(answer) if isinstance(answer, bytes) else answer
    choice = next(iter(lenient.mappings(lenient.mapping(parsed).get("choices"))), {})
    message = choice.get("message")
    no_text = status == 200 and isinstance(message, Mapping) and not message.get("content")
    if no_text and choice.get("finish_reason") == "length":
        limit = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
        usage = lenient.mapping(lenient.mapping(parsed).get("usage"))
        used = token_count(usage.get("completion_tokens"))
        spent = f", {used} used" if used else ""
        report = f"answered with no text, as it ran out of tokens (finish_reason is length{spent})"
        report += f'; raise "{limit}" in {OPTION}'
        return Unusable("out of tokens before any text", report)
    if no_text and choice.get("finish_reason") == "content_filter":
        report = "answered with no text: the server's content filter held it back"
        return Unusable("held back by a content filter", report)
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else json.dumps(answer)
    prefix = "" if status == 200 else f"status {status}, "
    foreign = isinstance(answer, bytes) and answer.lstrip().startswith(b"<")
    hint = "; check --miniwob-base-url: most servers' addresses end in /v1" if foreign else ""
    return Unusable(
        "no text" if no_text else "no chat completion",
        "answered with no chat completion that has a text: "
        f"{prefix}{shorten(redact(text))!r}{hint}",
        foreign,
    )


_STATUSES = {
    "rate_limit": 429, "overloaded": 529, "timeout": 504, "unavailable": 503,
    "server_error": 500, "api_error": 500, "internal": 500,
}  # fmt: skip
"""The statuses that stand for words in an error which has no number."""


def status_of_error(answer: Any) -> int | None:
    """Return the status that an error in an answer of status 200 stands for; None if it has none.

    OpenRouter reports errors of its providers so, and every API those after the start of a stream.

    Args:
        answer: parsed JSON, or the list of a stream's events.
    """
    for part in lenient.mappings(answer if isinstance(answer, list) else [answer]):
        choices, response = lenient.mappings(part.get("choices")), part.get("response")
        errors = [each.get("error") for each in (part, lenient.mapping(response), *choices)]
        errors += [part] if part.get("type") == "error" else []
        for error in lenient.mappings(errors):
            words = " ".join(str(error.get(name)) for name in ("code", "type", "status")).lower()
            if number := re.search(r"\b[45]\d\d\b", words):
                return int(number[0])
            if status := next((_STATUSES[word] for word in _STATUSES if word in words), None):
                return status
    return None


def parsed_json(content: bytes) -> Any:
    """Return parsed JSON; None if it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
