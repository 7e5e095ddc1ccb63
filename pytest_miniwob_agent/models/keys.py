"""The server of a request, and the key that it takes there."""

from __future__ import annotations

import os
from typing import Any

import openai

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.apis import provider_of
from pytest_miniwob_agent.models.apis.api import OPENAI, Provider
from pytest_miniwob_agent.models.params import split_url


class Keys:
    """The server and the keys of a run.

    Args:
        address: the server that the user names; None for the provider of each API.
        variable: the environment variable with the key of all requests; None for that of the API.
        option: the option that names a server, for messages.
    """

    def __init__(
        self, address: str | None, variable: str | None = None, option: str = "--miniwob-base-url"
    ) -> None:
        self.address = address
        self._variable = variable
        self._option = option

    def openai_key(self) -> str:
        """Return the key for OpenAI's client, or "none" for your own server, which may need none.

        Raises:
            UsageError: there is no key, and the server is OpenAI's.
        """
        return self._key(OPENAI)

    def is_openai(self, path: str) -> bool:
        """Return True for a request whose key OpenAI's client adds."""
        return provider_of(path) is OPENAI

    def headers(self, path: str) -> dict[str, Any]:
        """Return the headers that carry the key; none if `is_openai`.

        Raises:
            UsageError: there is no key, and the server is the provider's.
        """
        provider = provider_of(path)
        if provider.key_header is None:
            return {}
        key = self._key(provider)
        # A gateway may take the one or the other.
        bearer = openai.Omit() if self.address is None else f"Bearer {key}"
        return {provider.key_header: key, "Authorization": bearer}

    def url_of(self, path: str) -> str:
        """Return the address of a request: the server's own path takes the place of `/v1`."""
        server = (split_url(self.address or provider_of(path).url)[0] or "").rstrip("/")
        if path.startswith("/v1/"):
            return server + path.removeprefix("/v1")
        return server.removesuffix("/v1") + path

    def _key(self, provider: Provider) -> str:
        names = [self._variable or provider.key_variable]
        if not self._variable and self.address is not None:
            names.append(OPENAI.key_variable)  # that of a gateway
        for name in names:
            if key := os.environ.get(name):
                return key
        if self._variable:
            raise UsageError(
                f"calling a model needs {self._variable} in the environment, which "
                "--miniwob-key-variable names"
            )
        if self.address is None:
            raise UsageError(
                f"calling a model needs {provider.key_variable} in the environment, or a server of "
                f"your own named by OPENAI_BASE_URL or {self._option}"
            )
        return "none"
