"""Servers and keys: where a request of each API goes, and the key that it gets there."""

from __future__ import annotations

import os
from typing import Any

import openai

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.params import split_url

OPENAI, ANTHROPIC, GEMINI = "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"

_SERVERS = {
    ANTHROPIC: "https://api.anthropic.com/v1",
    GEMINI: "https://generativelanguage.googleapis.com/v1",
}
"""The provider's server for the requests whose key is in a variable; OpenAI's for all others."""


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
        return _variable_of(path) == OPENAI

    def headers(self, path: str) -> dict[str, Any]:
        """Return the headers with the key of a request that `is_openai` is False for.

        Raises:
            UsageError: there is no key, and the server is the provider's.
        """
        variable = _variable_of(path)
        if variable == OPENAI:
            return {}
        key = self._key(variable)
        header = "x-api-key" if variable == ANTHROPIC else "x-goog-api-key"
        # A gateway may take the one or the other.
        bearer = openai.Omit() if self.address is None else f"Bearer {key}"
        return {header: key, "Authorization": bearer}

    def url_of(self, path: str) -> str:
        """Return the address of a request: the server's own path takes the place of `/v1`."""
        server = split_url(self.address or _SERVERS.get(_variable_of(path)))[0] or ""
        if path.startswith("/v1/"):
            return server.rstrip("/") + path.removeprefix("/v1") if server else path[3:]
        return server.rstrip("/").removesuffix("/v1") + path

    def _key(self, variable: str) -> str:
        names = [self._variable] if self._variable else [variable]
        if not self._variable and self.address is not None:
            names.append(OPENAI)  # that of a gateway
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
                f"calling a model needs {variable} in the environment, or a server of your own "
                f"named by OPENAI_BASE_URL or {self._option}"
            )
        return "none"


def _variable_of(path: str) -> str:
    """Return the variable with the key of an API."""
    if path.startswith("/v1/messages"):
        return ANTHROPIC
    if path.startswith("/v1beta/"):
        return GEMINI
    return OPENAI
