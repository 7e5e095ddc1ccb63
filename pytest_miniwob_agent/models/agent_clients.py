"""The clients and the server that an agent gets for an episode, each made at its first use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse

if TYPE_CHECKING:
    import openai

    from pytest_miniwob_agent.models.server import ModelServer


class Clients:
    """Clients and a server whose requests go through functions.

    Args:
        post: answers a request.
        async_post: answers one of the asynchronous client.
    """

    def __init__(
        self,
        post: Callable[[ModelRequest], ModelResponse],
        async_post: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> None:
        self._post = post
        self._async_post = async_post

    @cached_property
    def client(self) -> openai.OpenAI:
        """A client of OpenAI's library."""
        from pytest_miniwob_agent.models.openai_clients import openai_client

        return openai_client(self._post)

    @cached_property
    def async_client(self) -> openai.AsyncOpenAI:
        """The asynchronous one."""
        from pytest_miniwob_agent.models.openai_clients import async_openai_client

        return async_openai_client(self._async_post)

    @cached_property
    def server(self) -> ModelServer:
        """A server on the loopback interface."""
        from pytest_miniwob_agent.models.server import ModelServer

        return ModelServer(self._post)

    def close(self) -> None:
        """Close what was used."""
        if "client" in self.__dict__:
            self.client.close()
        if "server" in self.__dict__:
            self.server.close()
