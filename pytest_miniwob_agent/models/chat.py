"""`complete` and `chat`: model calls as requests of the Chat Completions API."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.errors import ModelError
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.apis import CHAT
from pytest_miniwob_agent.models.apis.chat_completions import (
    messages_of_text,
    plain_messages,
    prompt_files,
)
from pytest_miniwob_agent.models.apis.recorded import answer_of, completion_of

_NOT_IN_BODY = ("extra_body", "extra_headers", "extra_query", "timeout")
"""Parameters that the client of a live server uses itself."""


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
        messages = messages_of_text(prompt)
        request = chat_request(self.model, messages, self.params)
        return self._ask(request, purpose, getattr(prompt, "files", {}), str(prompt))

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
        """Send a conversation; the arguments are those of `ChatModel.chat`.

        Raises:
            ModelError: the server can't be reached or refuses the call, or its answer says nothing.
            TypeError: the messages are not a list of messages, or a parameter is not JSON.
        """
        given = {"tools": tools, "tool_choice": tool_choice, "response_format": response_format}
        given = {name: value for name, value in given.items() if value is not None}
        if params.get("stream"):
            raise TypeError("llm.chat gives whole answers: llm.client streams them")
        plain = plain_messages(messages)
        request = chat_request(self.model, plain, {**self.params, **given, **params})
        return self._ask(request, purpose, prompt_files(plain), None)


def chat_request(
    model: str, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]
) -> ModelRequest:
    """Return the request of a call, whose body is a copy in plain JSON types."""
    body = {name: params[name] for name in sorted(params) if name not in _NOT_IN_BODY}
    body = {"messages": messages, "model": model, **body, **(params.get("extra_body") or {})}
    return ModelRequest(
        CHAT,
        json.loads(json.dumps(body)),
        dict(params.get("extra_headers") or {}),
        urlencode(params.get("extra_query") or {}),
    )


def read_completion(response: ModelResponse, *, text_only: bool = False) -> Completion:
    """Return what the answer to a `chat_request` says.

    Raises:
        ModelError: it says nothing; with `text_only`, it has no text.
    """
    answer = answer_of(CHAT, response.content, response.content_type)
    if answer is None:
        raise ModelError("the model answered with no chat completion that has a text")
    completion = completion_of(CHAT, answer)
    if text_only and completion.refusal:
        refusal = repr(shorten(completion.refusal))
        raise ModelError(f"the model answered with no text: it refused, {refusal}")
    if text_only and completion.tool_calls and not completion.text:
        raise ModelError(
            "the model answered with no text: it calls a tool, and the agent offers none"
        )
    return completion
