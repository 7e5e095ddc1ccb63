"""`openai` clients whose requests go through a function, as those of `llm.client` do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import httpx2
import openai

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.models.requests import BadRequest, request_of

Post = Callable[[ModelRequest], ModelResponse]
AsyncPost = Callable[[ModelRequest], Awaitable[ModelResponse]]

_BASE_URL = "http://model.invalid/v1"
"""Stands for the server, which the function knows."""


def openai_client(post: Post) -> openai.OpenAI:
    """Return a client whose requests go through `post`, which also retries."""
    return openai.OpenAI(
        api_key="none",
        base_url=_BASE_URL,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(transport=_Transport(post)),
    )


def async_openai_client(post: AsyncPost) -> openai.AsyncOpenAI:
    """Return an asynchronous client whose requests go through `post`."""
    client = openai.AsyncOpenAI(
        api_key="none",
        base_url=_BASE_URL,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(transport=_AsyncTransport(post)),
    )
    # Otherwise the first calls wait for a thread that finds it out, and go on in any order.
    client._platform = "Unknown"
    return client


class _Transport(httpx2.BaseTransport):
    def __init__(self, post: Post) -> None:
        self._post = post

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return _response_of(self._post(_request_of(request, request.read())))
        except BadRequest as error:
            return _response_of(error.response)


class _AsyncTransport(httpx2.AsyncBaseTransport):
    def __init__(self, post: AsyncPost) -> None:
        self._post = post

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return _response_of(await self._post(_request_of(request, await request.aread())))
        except BadRequest as error:
            return _response_of(error.response)


def _request_of(request: httpx2.Request, content: bytes) -> ModelRequest:
    url = request.url
    return request_of(request.method, url.path, url.query.decode(), request.headers, content)


def _response_of(response: ModelResponse) -> httpx2.Response:
    headers = {"Content-Type": response.content_type}
    return httpx2.Response(response.status, headers=headers, content=response.content)
