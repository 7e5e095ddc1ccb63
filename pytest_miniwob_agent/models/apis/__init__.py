"""APIs of model servers: requests and answers of each form, found by the path of a request.

- `api`: what an API is, any other JSON as one, and event streams.
- `chat_completions`, `responses`: OpenAI's two.
- `messages`: Anthropic's.
- `gemini`: Google's.
- `lenient`: reading of JSON that may have any form.

A recorded answer is parsed JSON, or the text of an event stream.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_miniwob_agent.core.chat import ModelResponse, Usage
from pytest_miniwob_agent.core.data import well_formed
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import lenient
from pytest_miniwob_agent.models.apis.api import API, EVENT_STREAM, Provider, read_events
from pytest_miniwob_agent.models.apis.chat_completions import ChatCompletions
from pytest_miniwob_agent.models.apis.gemini import Gemini
from pytest_miniwob_agent.models.apis.messages import Messages
from pytest_miniwob_agent.models.apis.responses import Responses

CHAT = ChatCompletions.path
"""The path of Chat Completions as cassettes and batch files name it: without a host."""

_APIS: tuple[API, ...] = (ChatCompletions(), Responses(), Messages(), Gemini())
_OTHER = API()


def api_of(path: str) -> API:
    """Return the API that reads requests to a path."""
    return next((api for api in _APIS if api.reads(path)), _OTHER)


def provider_of(path: str) -> Provider:
    """Return the provider of requests to a path, or to one below it such as `count_tokens`."""
    return next((api for api in _APIS if path.startswith(api.path)), _OTHER).provider


def path_of(url_path: str) -> str:
    """Return the path of a request as cassettes name it, from that of its URL.

    The server's own part is left out, so that calls which were recorded through a gateway are
    replayed without one: `/openai/v1/v1/responses` gives `/v1/responses`.
    """
    _, version, rest = url_path.rpartition("/v1/")
    if version:
        # An address that ends in /v1, and a path that begins with a version of its own.
        return f"/{rest}" if rest.startswith(Gemini.path[1:]) else f"/v1/{rest}"
    ends = {f"/{api.path.removeprefix('/v1/')}": api.path for api in _APIS}
    return next((path for end, path in ends.items() if url_path.endswith(end)), url_path)


def answer_of(path: str, content: bytes, content_type: str = "") -> Any:
    """Return the answer in a response's body, as it is recorded; None if it holds none.

    What is no character, such as half of a surrogate pair, becomes U+FFFD.
    """
    try:
        streamed = content_type.partition(";")[0].strip() == EVENT_STREAM
        text = content.decode("utf-8" if streamed else json.detect_encoding(content), "replace")
        answer = text if streamed else well_formed(json.loads(text))
    except (ValueError, RecursionError):
        return None
    return answer if is_answer(path, answer) else None


def is_answer(path: str, answer: Any) -> bool:
    """Return True for what may be recorded as an answer: any but an error or an empty one."""
    api = api_of(path)
    try:
        if isinstance(answer, list):
            return api is _OTHER
        return isinstance(answer, str | Mapping) and api.is_answer(_json_of(api, answer))
    except RecursionError:
        return False


def completion_of(path: str, answer: Any) -> Completion:
    """Return what an answer says, which may be any JSON or text."""
    parsed = _json_of(api_of(path), answer)
    cached, written = lenient.cached_tokens(parsed)
    said = api_of(path).completion(parsed)
    return replace(said, cached_tokens=cached, written_tokens=written)


def response_to(path: str, body: Mapping[str, Any], answer: Any, digest: str = "") -> ModelResponse:
    """Return an answer in the form that its request asks for; its id is made of `digest`."""
    api = api_of(path)
    if isinstance(answer, list):
        return ModelResponse(json.dumps(answer).encode())
    if not isinstance(answer, str):
        answer = api.served(answer, digest)
        if not api.streams(path, body):
            return ModelResponse(json.dumps(answer).encode())
        answer = api.stream(answer)
    return ModelResponse(answer.encode(), EVENT_STREAM)


def usage_of_answer(path: str, answer: Any) -> Usage:
    """Return the usage of one call; its answer may be any JSON or text."""
    return completion_of(path, answer).usage


def _json_of(api: API, answer: Any) -> Mapping[str, Any]:
    """Return an answer as one JSON object, that of a stream put together."""
    if isinstance(answer, str):
        return well_formed(api.collect(read_events(answer)))
    return answer if isinstance(answer, Mapping) else {"answer": answer} if answer else {}
