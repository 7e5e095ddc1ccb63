"""`openai` clients whose requests go through a function, as those of `llm.client` do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import httpx2
import openai

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.models.apis import path_of

Post = Callable[[ModelRequest], ModelResponse]

_BASE_URL = "http://model.invalid/v1"
"""Stands for the server, which the function knows."""


def openai_client(post: Post) -> openai.OpenAI:
    """Return a client whose requests go through `post`."""
    return openai.OpenAI(
        api_key="none",
        base_url=_BASE_URL,
        max_retries=0,  # `post` retries
        http_client=openai.DefaultHttpxClient(transport=_Transport(post)),
    )


def async_openai_client(post: Post, *, live: bool) -> openai.AsyncOpenAI:
    """Return an asynchronous client whose requests go through `post`.

    Live calls are made in threads, so that several can be under way. Replayed ones are answered at
    once, so that calls which were begun together are answered in the order of their beginning.
    """
    transport = _AsyncTransport(post, live=live)
    return openai.AsyncOpenAI(
        api_key="none",
        base_url=_BASE_URL,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(transport=transport),
    )


class _Transport(httpx2.BaseTransport):
    def __init__(self, post: Post) -> None:
        self._post = post

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return _response_of(self._post(_request_of(request, request.read())))


class _AsyncTransport(httpx2.AsyncBaseTransport):
    def __init__(self, post: Post, *, live: bool) -> None:
        self._post = post
        self._live = live

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = _request_of(request, await request.aread())
        if self._live:
            return _response_of(await asyncio.to_thread(self._post, asked))
        return _response_of(self._post(asked))


def _request_of(request: httpx2.Request, content: bytes) -> ModelRequest:
    return ModelRequest(path_of(request.url.path), json.loads(content), dict(request.headers))


def _response_of(response: ModelResponse) -> httpx2.Response:
    return httpx2.Response(
        response.status,
        headers={"Content-Type": response.content_type},
        content=response.content,
    )
