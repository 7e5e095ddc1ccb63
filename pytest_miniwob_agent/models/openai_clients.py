"""`openai` clients whose requests go through a function, as those of `llm.client` do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import openai

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.models.http import httpx
from pytest_miniwob_agent.models.requests import NotACall, request_of

_BASE_URL = "http://model.invalid/v1"
"""Stands for the server, which the function knows."""


def openai_client(post: Callable[[ModelRequest], ModelResponse], model: str) -> openai.OpenAI:
    """Return a client whose requests go through `post`, which also retries.

    `model` is the only one in its list of models.
    """

    def answer(request: httpx.Request) -> httpx.Response:
        try:
            return _response_of(post(_request_of(request, model)))
        except NotACall as error:
            return _response_of(error.response)

    client = openai.DefaultHttpxClient(transport=httpx.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url=_BASE_URL, max_retries=0, http_client=client)


def async_openai_client(
    post: Callable[[ModelRequest], Awaitable[ModelResponse]], model: str
) -> openai.AsyncOpenAI:
    """Return an asynchronous client of this kind."""

    async def answer(request: httpx.Request) -> httpx.Response:
        try:
            return _response_of(await post(_request_of(request, model)))
        except NotACall as error:
            return _response_of(error.response)

    http = openai.DefaultAsyncHttpxClient(transport=httpx.MockTransport(answer))
    client = openai.AsyncOpenAI(api_key="none", base_url=_BASE_URL, max_retries=0, http_client=http)
    # Otherwise the first calls wait for a thread that finds it out, and go on in any order.
    client._platform = "Unknown"
    return client


def _request_of(request: httpx.Request, model: str) -> ModelRequest:
    url, content = request.url, request.content
    query = url.query.decode()
    return request_of(request.method, url.path, query, request.headers, content, model)


def _response_of(response: ModelResponse) -> httpx.Response:
    headers = {"Content-Type": response.content_type}
    return httpx.Response(response.status, headers=headers, content=response.content)
