"""Requests as clients and frameworks send them over HTTP, read into what can be recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.models.apis import path_of


class BadRequest(ValueError):
    """The request can't be recorded; `response` is the answer to its sender."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.response = error_response(status, message)


def request_of(
    method: str, path: str, query: str, headers: Mapping[str, str], content: bytes
) -> ModelRequest:
    """Return the request to a model's server that an HTTP request is.

    Raises:
        BadRequest: it is not a JSON object that is posted.
    """
    if method != "POST":
        raise BadRequest(405, f"only POST requests can be recorded, not {method} {path}")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise BadRequest(400, f"the request to {path} is not a JSON object")
    pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "key"]
    return ModelRequest(path_of(path), body, dict(headers), urlencode(pairs))


def error_response(status: int, message: str) -> ModelResponse:
    """Return an error in a form that clients of OpenAI and of Anthropic read."""
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return ModelResponse(json.dumps(error).encode(), status=status)
