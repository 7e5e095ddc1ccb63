"""Answers that arrived, so that they may have been paid for, and that hold no completion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_miniwob_agent.core.chat import token_count
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.apis import lenient
from pytest_miniwob_agent.models.params import option_with

_LIMITS = ("max_completion_tokens", "max_tokens")
"""Parameters that limit the tokens of an answer; reasoning models take the first one only."""

_LEAST = 4096
"""The smallest limit that is suggested, enough for most models to reason and to answer."""


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
        return Unusable("out of tokens before any text", _report_of_length(parsed, body))
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


def parsed_json(content: bytes) -> Any:
    """Return parsed JSON; None if it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _report_of_length(answer: object, body: Mapping[str, Any]) -> str:
    """Return how the tokens were used up, and the option that gives more."""
    usage = lenient.mapping(lenient.mapping(answer).get("usage"))
    used = token_count(usage.get("completion_tokens"))
    details = lenient.mapping(usage.get("completion_tokens_details"))
    reasoning = token_count(details.get("reasoning_tokens"))
    spent = "" if used is None else f"; {used} used"
    spent += f", {reasoning} of them for reasoning" if spent and reasoning else ""
    name = next((name for name in _LIMITS if name in body), _LIMITS[0])
    limit = token_count(body.get(name)) or used or 0
    given = {key: body[key] for key in body if key not in ("model", "messages", "tools")}
    return (
        f"answered with no text, as it ran out of tokens (finish_reason is length{spent}); more "
        f"are given by {option_with({**given, name: max(2 * limit, _LEAST)})}"
    )
