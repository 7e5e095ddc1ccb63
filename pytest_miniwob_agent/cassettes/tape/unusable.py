"""Answers that arrived, so that they may have been paid for, and that hold no completion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_miniwob_agent.cassettes.format.call import Request, params_of, usage_of_answer
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.core.usage import Usage, token_count
from pytest_miniwob_agent.models.params import option_with

_LIMITS = ("max_completion_tokens", "max_tokens")
"""Parameters that limit the tokens of an answer; reasoning models take the first one alone."""

_NO_TEXT = "answered with no text"

_LEAST = 4096
"""The smallest limit that is proposed, enough for most models to reason and to answer."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that holds no completion.

    Args:
        reason: a few words, which the ledger counts answers by.
        report: what came back, and the option that helps if there is one; one line.
        usage: the call and its tokens, as far as the answer says.
        foreign: True if the answer is a web page, as at a wrong address.
    """

    reason: str
    report: str
    usage: Usage
    foreign: bool = False


def describe_unusable(status: int, body: object, request: Request) -> Unusable:
    """Describe an answer for which `answer_of` returns None.

    Args:
        status: the status of the response.
        body: its body, as bytes or as parsed JSON.
        request: what was asked, for the limits that it sets.
    """
    answer = _parsed(body) if isinstance(body, bytes) else body
    reason, report = _reason_and_report(answer, request.body) if status == 200 else ("", "")
    foreign = isinstance(body, bytes) and body.lstrip().startswith(b"<")
    hint = "; check --miniwob-base-url: most servers' addresses end in /v1" if foreign else ""
    return Unusable(
        reason or "no chat completion",
        report or _report(status, body) + hint,
        usage_of_answer(request.path, answer),
        foreign,
    )


def _reason_and_report(answer: object, request: Mapping[str, Any]) -> tuple[str, str]:
    """Return both for a chat completion whose message has no text; empty ones for all others."""
    choice = _choice(answer)
    message = choice.get("message")
    if not isinstance(message, Mapping) or message.get("content"):
        return "", ""
    finish = choice.get("finish_reason")
    if finish == "length":
        return "out of tokens before any text", _report_of_length(answer, request)
    if finish == "content_filter":
        return (
            "held back by a content filter",
            f"{_NO_TEXT}: the server's content filter held it back",
        )
    return "no text", ""


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _choice(answer: object) -> Mapping[str, Any]:
    """Return the first choice of an answer; an empty one if it has none."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, Mapping) else {}


def _report(status: int, body: object) -> str:
    """Return the status, if it is not 200, and the shortened text of a response."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else json.dumps(body)
    prefix = "" if status == 200 else f"status {status}, "
    return f"answered with no chat completion that has a text: {prefix}{_quoted(text)}"


def _quoted(text: str) -> str:
    return repr(shorten(redact(text)))


def _report_of_length(answer: object, request: Mapping[str, Any]) -> str:
    """Return how many tokens went where, and the option that gives more."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    usage = usage if isinstance(usage, Mapping) else {}
    details = usage.get("completion_tokens_details")
    used = token_count(usage.get("completion_tokens"))
    reasoning = token_count(details.get("reasoning_tokens")) if isinstance(details, Mapping) else 0
    report = f"{_NO_TEXT}, as it ran out of tokens (finish_reason is length"
    if used is not None:
        report += f"; {used} used" + (f", {reasoning} of them for reasoning" if reasoning else "")
    name = next((name for name in _LIMITS if name in request), _LIMITS[0])
    limit = token_count(request.get(name)) or used or 0
    option = option_with({**params_of(request), name: max(2 * limit, _LEAST)})
    return f"{report}); more are given by {option}"
