"""The API of a request, by its path; what answers say, and those that hold no completion.

A recorded answer is parsed JSON or a string, as `bodies` describes them. `kind` is its type if that
is neither JSON nor an event stream, which only APIs that are not known here have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pytest_miniwob_agent.builtin import without_pytest
from pytest_miniwob_agent.core.chat import ModelResponse, Usage, token_count
from pytest_miniwob_agent.core.data import canonical_json, well_formed
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.api import (
    API,
    Provider,
    cached_tokens,
    mapping,
    mappings,
    string,
)
from pytest_miniwob_agent.models.bodies import (
    EVENT_STREAM,
    events_in,
    media_type,
    other_type,
    read_events,
    record_body,
    sent_body,
    shown_body,
)
from pytest_miniwob_agent.models.openai_apis import ChatCompletions, Responses
from pytest_miniwob_agent.models.params import OPTION

# The variables that the provider's own clients read, where they are named otherwise.
_UPSTREAM_KEYS = {"bedrock": "AWS_BEARER_TOKEN_BEDROCK", "cohere": "CO_API_KEY"}

CHAT = ChatCompletions.path
"""The path of Chat Completions as cassettes and batch files name it: without a host."""

_OWN: tuple[API, ...] = (ChatCompletions(), Responses())
_OTHER = API()


BINARY = re.compile("audio/|image/|video/|application/octet-stream")
"""Media types of answers that are no call's, such as spoken text."""


@cache
def _plugin_apis() -> dict[API, str]:
    # Recordings are read without pytest, too.
    hooks: list[Any] = without_pytest().pytest_miniwob_apis.get_hookimpls()
    return {api: hook.plugin_name for hook in hooks for api in hook.function()}


def _apis() -> Iterator[API]:
    yield from _OWN
    yield from _plugin_apis()


def find_api(path: str) -> API:
    """Return the API that reads requests to a path."""
    return next((api for api in _apis() if api.reads(path)), _OTHER)


def find_plugin(path: str) -> str:
    """Return the name of the plugin that reads requests to a path; empty for the engine."""
    api = find_api(path)
    return "" if api in (*_OWN, _OTHER) else _plugin_apis()[api]


def find_provider(path: str) -> Provider:
    """Return the provider of requests to a path, or to one below it such as `count_tokens`.

    Paths of none begin with the name that `--miniwob-upstream` gives to their server.
    """
    name = path.split("/")[1]
    api = next((api for api in _apis() if api.serves(path)), None)
    if api or name == "v1":
        return (api or _OTHER).provider
    variable = _UPSTREAM_KEYS.get(name) or f"{name.replace('-', '_').upper()}_API_KEY"
    return Provider(name, variable, "Authorization")


def recorded_path(url_path: str) -> str:
    """Return the path of a request as cassettes name it, from that of its URL.

    The server's own part is left out, so that calls which were recorded through a gateway are
    replayed without one: `/openai/v1/v1/responses` gives `/v1/responses`.
    """
    _, version, rest = url_path.rpartition("/v1/")
    if version:
        # An address that ends in /v1, and a path that begins with a version of its own.
        versioned = any(api.serves(f"/{rest}") for api in _apis())
        return f"/{rest}" if versioned else f"/v1/{rest}"
    ends = {f"/{api.path.removeprefix('/v1/')}": api.path for api in _apis()}
    return next((path for end, path in ends.items() if url_path.endswith(end)), url_path)


def parse_answer(path: str, content: bytes, content_type: str = "") -> Any:
    """Return the answer in a response's body, as it is recorded; None if it is not an answer.

    What is not a character, such as half of a surrogate pair, becomes U+FFFD.
    """
    kind = recorded_type(path, content_type)
    try:
        if kind or media_type(content_type) == EVENT_STREAM:
            answer: Any = record_body(content, kind or EVENT_STREAM)
        else:
            text = content.decode(json.detect_encoding(content), "replace")
            answer = well_formed(json.loads(text))
    except (ValueError, RecursionError):
        return None
    return answer if is_answer(path, answer, kind) else None


def recorded_type(path: str, content_type: str) -> str:
    """Return the type of an answer as it is recorded; empty for JSON and event streams."""
    kind = other_type(content_type)
    return kind if find_api(path) is _OTHER and kind != "text/html" else ""


def is_answer(path: str, answer: Any, kind: str = "") -> bool:
    """Return True for what may be recorded as an answer: any but an error or an empty one."""
    api = find_api(path)
    try:
        if isinstance(answer, list):
            return api is _OTHER
        if not isinstance(answer, str | Mapping):
            return False
        whole = _whole_answer(api, answer, kind)
        return api.is_answer(whole) and bool(whole or not isinstance(answer, str))
    except (ValueError, RecursionError):
        return False


def parse_completion(path: str, answer: Any, status: int = 200, kind: str = "") -> Completion:
    """Return what an answer says, which may be any JSON or text; of a refused call, the reason."""
    if status != 200:
        reason = next((string(error.get("message")) for error in _errors_in(answer)), "")
        refusal = f"status {status}: {reason or canonical_json(answer)}"
        return Completion("", 0, 0, refusal=refusal, status=status)
    parsed = _whole_answer(find_api(path), answer, kind)
    cached, written = cached_tokens(parsed)
    said = find_api(path).completion(parsed)
    return replace(said, cached_tokens=cached, written_tokens=written)


def completion_in(path: str, response: ModelResponse) -> Completion:
    """Return what a response says."""
    if response.status != 200:
        return parse_completion(path, parsed_json(response.content), response.status)
    answer = parse_answer(path, response.content, response.content_type)
    return parse_completion(path, answer, kind=recorded_type(path, response.content_type))


def response_to(
    path: str,
    body: Mapping[str, Any],
    answer: Any,
    digest: str = "",
    status: int = 200,
    kind: str = "",
) -> ModelResponse:
    """Return an answer in the form that its request asks for; its id is made of `digest`."""
    api = find_api(path)
    if isinstance(answer, list) or status != 200:
        return ModelResponse(json.dumps(answer).encode(), status=status)
    if kind:
        return ModelResponse(sent_body(answer, kind), kind)
    if not isinstance(answer, str):
        answer = api.served(answer, digest)
        if not api.streams(path, body):
            return ModelResponse(json.dumps(answer).encode())
        answer = api.stream(answer)
    return ModelResponse(answer.encode(), EVENT_STREAM)


def parse_usage(path: str, answer: Any) -> Usage:
    """Return the usage of one call; its answer may be any JSON or text."""
    return parse_completion(path, answer).usage


def _whole_answer(api: API, answer: Any, kind: str) -> Mapping[str, Any]:
    if isinstance(answer, str):
        events = read_events(answer, kind or EVENT_STREAM)
        known = bool(events) or not kind
        return well_formed(api.collect(events)) if known else shown_body(answer, kind)
    return answer if isinstance(answer, Mapping) else {"answer": answer} if answer else {}


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer without a completion.

    `reason` is a few words, by which such answers are counted, and `report` is one line: what came
    back, and the option that helps. A `foreign` one is a web page, as from a wrong address.
    """

    reason: str
    report: str
    foreign: bool = False


def describe_unusable(
    path: str, status: int, answer: object, body: Mapping[str, Any], content_type: str = ""
) -> Unusable:
    """Describe an answer for which `parse_answer` returns None.

    Args:
        path: the path of the request.
        status: the status of the response.
        answer: its body, as bytes or as parsed JSON.
        body: the body of the request, for the limits that it sets.
        content_type: that of the response, for a stream.
    """
    if BINARY.match(content_type):
        report = f"answered with {content_type}, but only JSON and streams of events are recorded"
        return Unusable("not JSON", f"{report}: call it by a client that is not llm.client")
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else json.dumps(answer)
    parsed = parsed_json(answer) if isinstance(answer, bytes) else answer
    if isinstance(answer, bytes) and (events := events_in(answer, content_type)):
        parsed = find_api(path).collect(events)
        if errors := _errors_in(events):
            text = canonical_json(errors[0])
        elif events and not parsed:
            report = "answered with a stream that was cut off before its end: no reason for it came"
            return Unusable("cut off or not decodable", report)
    choice = next(iter(mappings(mapping(parsed).get("choices"))), {})
    message = choice.get("message")
    no_text = status == 200 and isinstance(message, Mapping) and not message.get("content")
    if no_text and choice.get("finish_reason") == "length":
        limit = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
        usage = mapping(mapping(parsed).get("usage"))
        used = token_count(usage.get("completion_tokens"))
        spent = f", {used} used" if used else ""
        report = f"answered with no text, as it ran out of tokens (finish_reason is length{spent})"
        report += f'; raise "{limit}" in {OPTION}, or in the request of a client'
        return Unusable("out of tokens before any text", report)
    if no_text and choice.get("finish_reason") == "content_filter":
        report = "answered with no text: the server's content filter held it back"
        return Unusable("held back by a content filter", report)
    prefix = "" if status == 200 else f"status {status}, "
    foreign = isinstance(answer, bytes) and answer.lstrip().startswith(b"<")
    hint = "; check --miniwob-base-url: most servers' addresses end in /v1" if foreign else ""
    wanted = "no chat completion with text" if path == CHAT else "nothing to be recorded"
    return Unusable(
        "no text" if no_text else "no chat completion" if path == CHAT else "no answer",
        f"answered with {wanted}: {prefix}{shorten(mask(text))!r}{hint}",
        foreign,
    )


# For errors without a number: the words in them.
_STATUSES = {
    "rate_limit": 429, "throttl": 429, "overloaded": 529, "timeout": 504, "unavailable": 503,
    "server_error": 500, "api_error": 500, "internal": 500,
}  # fmt: skip


def find_error_status(answer: Any) -> int | None:
    """Return the status that an error in an answer of status 200 means, or None.

    Args:
        answer: parsed JSON, or the list of a stream's events.
    """
    # OpenRouter reports errors of its providers so, and every API those after a stream's start.
    for error in _errors_in(answer):
        words = " ".join(str(error.get(name)) for name in ("code", "type", "status")).lower()
        if number := re.search(r"\b[45]\d\d\b", words):
            return int(number[0])
        if status := next((_STATUSES[word] for word in _STATUSES if word in words), None):
            return status
    return None


def _errors_in(answer: Any) -> list[Mapping[str, Any]]:
    found: list[Any] = []
    for part in mappings(answer if isinstance(answer, list) else [answer]):
        choices, response = mappings(part.get("choices")), part.get("response")
        errors = [each.get("error") for each in (part, mapping(response), *choices)]
        found += [{"message": one} if isinstance(one, str) and one else one for one in errors]
        found += [part] if part.get("type") == "error" else []
    return mappings(found)


def parsed_json(content: bytes) -> Any:
    """Return parsed JSON; None if it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
