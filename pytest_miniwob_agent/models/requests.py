"""Requests of model calls: those of `complete` and `chat`, and those of clients and frameworks."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.data import well_formed
from pytest_miniwob_agent.core.errors import ModelError
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.apis import CHAT, answer_of, completion_of, lenient, path_of

_NOT_IN_BODY = ("extra_body", "extra_headers", "extra_query", "timeout")
"""Parameters that the client of a live server uses itself."""

_MODELS = re.compile(r"/v1/models(?:/(.+))?")
"""The paths of the list of models, and of one model."""


class ChatCalls(ABC):
    """Implements `ChatModel` for a model that takes requests.

    Attributes:
        model: the model's id.
        params: further parameters of every call, such as `temperature`.
    """

    model: str
    params: Mapping[str, Any]

    @abstractmethod
    def _ask(
        self, request: ModelRequest, purpose: str, files: Mapping[str, str], text: str | None
    ) -> Completion:
        """Make a call and return its answer, as `read_completion` reads it.

        `files` are the digests of the prompt files, and `text` is the prompt of `complete`.
        """

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Send the prompt as the only message.

        Raises:
            ModelError: the server can't be reached, refuses the call, or its answer has no text.
            TypeError: the prompt is not a text.
        """
        if not isinstance(prompt, str):
            kind = type(prompt).__name__
            raise TypeError(f"llm.complete takes a text, not {kind}: llm.chat takes messages")
        request = chat_request(self.model, [{"role": "user", "content": prompt}], self.params)
        return self._ask(request, purpose, getattr(prompt, "files", {}), well_formed(str(prompt)))

    def chat(
        self,
        messages: Sequence[Any],
        purpose: str,
        *,
        tools: Sequence[Any] | None = None,
        tool_choice: Any = None,
        response_format: Any = None,
        **params: Any,
    ) -> Completion:
        """Send a conversation, as `ChatModel.chat` says.

        Raises:
            ModelError: the server can't be reached or refuses the call, or its answer says nothing.
            TypeError: the messages are not a list of messages, or a parameter is not JSON.
        """
        given = {"tools": tools, "tool_choice": tool_choice, "response_format": response_format}
        given = {name: value for name, value in given.items() if value is not None}
        if params.get("stream"):
            raise TypeError("llm.chat gives whole answers: llm.client streams them")
        plain = _plain_messages(messages)
        files: dict[str, str] = {}  # the prompt files that texts of the messages were made of
        for content in (message.get("content") for message in plain):
            for text in (content, *(part.get("text") for part in lenient.mappings(content))):
                files |= getattr(text, "files", {})
        request = chat_request(self.model, plain, {**self.params, **given, **params})
        return self._ask(request, purpose, files, None)


def _plain_messages(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return messages as mappings; openai's own types are turned into them."""
    if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence) or not messages:
        raise TypeError(
            'llm.chat takes a list of messages such as {"role": "user", "content": "..."}, not '
            + (type(messages).__name__ if messages else "an empty one")
        )
    plain = []
    for number, message in enumerate(messages):
        if hasattr(message, "model_dump"):
            message = message.model_dump(mode="json", exclude_none=True)
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise TypeError(
                f'message {number} of llm.chat is not a mapping with a "role", but {message!r:.80}'
            )
        plain.append(dict(message))
    return plain


def chat_request(
    model: str, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]
) -> ModelRequest:
    """Return the request of a call, whose body is a copy in plain JSON types."""
    body = {name: params[name] for name in sorted(params) if name not in _NOT_IN_BODY}
    body = {"messages": messages, "model": model, **body, **(params.get("extra_body") or {})}
    headers, query = params.get("extra_headers") or {}, params.get("extra_query") or {}
    plain = well_formed(json.loads(json.dumps(body)))
    return ModelRequest(CHAT, plain, dict(headers), urlencode(query))


def read_completion(response: ModelResponse, *, text_only: bool = False) -> Completion:
    """Return what the answer to a `chat_request` says.

    Raises:
        ModelError: it says nothing; with `text_only`, it has no text.
    """
    answer = answer_of(CHAT, response.content, response.content_type)
    if answer is None:
        raise ModelError("the model answered with no chat completion that has a text")
    completion = completion_of(CHAT, answer)
    reason = ""
    if text_only and completion.refusal:
        reason = f"it refused, {shorten(completion.refusal)!r}"
    elif text_only and completion.tool_calls and not completion.text:
        reason = "it calls a tool, and the agent offers none"
    if reason:
        raise ModelError(f"the model answered with no text: {reason}")
    return completion


class NotACall(ValueError):
    """The request is none to a model, so it is not recorded; `response` is the answer to it."""

    def __init__(self, response: ModelResponse) -> None:
        super().__init__(response.content)
        self.response = response


def request_of(
    method: str, path: str, query: str, headers: Mapping[str, str], content: bytes, model: str
) -> ModelRequest:
    """Return the request to a model's server that an HTTP request is.

    Raises:
        NotACall: it is not a JSON object that is posted. `model` is in the list of models.
    """
    asked = _MODELS.fullmatch(path)
    if asked and method in ("GET", "HEAD"):
        raise NotACall(_models(model, asked[1]))
    if method == "OPTIONS":
        raise NotACall(ModelResponse(b""))
    if asked or method != "POST":
        raise refusal(405, f"only POST requests of calls can be recorded, not {method} {path}")
    content = _decoded(content, headers.get("content-encoding", ""))
    try:
        body = well_formed(json.loads(content))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise refusal(400, f"the request to {path} is not a JSON object")
    pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "key"]
    return ModelRequest(path_of(path), body, dict(headers), urlencode(pairs))


def _decoded(content: bytes, encoding: str) -> bytes:
    """Return a body without its compression, if the HTTP library can take it away."""
    encoding = encoding.lower().replace("x-gzip", "gzip")
    if encoding in ("", "identity"):
        return content
    from pytest_miniwob_agent.models.http import httpx  # takes 0.1 s

    try:
        body = httpx.Response(200, headers={"Content-Encoding": encoding}, content=content).content
    except httpx.DecodingError as error:
        raise refusal(400, f"the request's body is not {encoding}: {error}") from None
    if body == content:
        raise refusal(415, f"bodies can't be read as {encoding} here: send gzip, or as they are")
    return body


def _models(model: str, asked: str | None) -> ModelResponse:
    """Return the list of models, which has one, or that one if it is asked for."""
    one = {"id": model, "object": "model", "created": 0, "owned_by": "miniwob"}
    if asked not in (None, model):
        return error_response(404, f"there is no model {asked} here: the item's is {model}")
    answer = one if asked else {"object": "list", "data": [one], "has_more": False}
    return ModelResponse(json.dumps(answer).encode())


def refusal(status: int, message: str) -> NotACall:
    """Return what refuses a request."""
    return NotACall(error_response(status, message))


def error_response(status: int, message: str) -> ModelResponse:
    """Return an error in a form that clients of OpenAI and of Anthropic read."""
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return ModelResponse(json.dumps(error).encode(), status=status)
