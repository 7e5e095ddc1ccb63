"""The HTTP library of the installed `openai`: httpx2 since its version 3, httpx before that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partialmethod
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2 as httpx
else:
    httpx = import_module("httpx" if version("openai").startswith("2.") else "httpx2")

__all__ = ["PastMocks", "httpx"]


class PastMocks:
    """Sends requests past what mocks the HTTP library in a user's test, as pytest-httpx and respx.

    They replace methods of its classes, and are known by that: make this before they do.
    """

    def __init__(self) -> None:
        core: Any = import_module(httpx.__name__.replace("httpx", "httpcore"))
        sending = (httpx.HTTPTransport, core.ConnectionPool, core.HTTPProxy, core.HTTPConnection)
        methods: list[tuple[Any, str]] = [(owner, "handle_request") for owner in sending]
        methods.append((httpx.Client, "_transport_for_url"))
        self._methods = [(owner, name, getattr(owner, name)) for owner, name in methods]
        self._sending = ContextVar("sending", default=False)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Send the requests of this block, and of no other thread or task, past all mocks."""

        def choose(sender: Any, real: Any, mock: Any, *args: Any) -> Any:
            return (real if self._sending.get() else mock)(sender, *args)

        for owner, name, real in self._methods:
            mock = vars(owner).get(name, real)
            if mock is not real and not isinstance(mock, partialmethod):
                setattr(owner, name, partialmethod(choose, real, mock))  # until the mock goes
        token = self._sending.set(True)
        try:
            yield
        finally:
            self._sending.reset(token)
