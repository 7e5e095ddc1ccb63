"""The server of an item: gives a framework's model calls to a function, over HTTP on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from waitress import wasyncore
from waitress.server import create_server

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.models.requests import BadRequest, error_response, request_of

_THREADS = 16
"""Calls that may be under way at once; a framework rarely makes more."""

_REFUSED = 422
"""The status of an answer to a call that fails: no client sends the same call again after it."""


class ModelServer:
    """A server on the loopback interface that takes any JSON that is posted.

    Args:
        post: answers a request; its errors become answers of status 422.
    """

    def __init__(self, post: Callable[[ModelRequest], ModelResponse]) -> None:
        self._post = post
        self._sockets: dict[int, Any] = {}
        self._closing = False
        self._server: Any = create_server(
            self._answer, self._sockets, host="127.0.0.1", port=0, threads=_THREADS, ident=None
        )
        self._thread = threading.Thread(target=self._run, name="miniwob-model-server", daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """The address, in the form that clients of OpenAI take: it ends in `/v1`."""
        return f"http://127.0.0.1:{self._server.effective_port}/v1"

    def close(self) -> None:
        """Stop the server and close its connections."""
        self._closing = True
        self._server.pull_trigger()
        self._thread.join()
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=1)

    def _run(self) -> None:
        while not self._closing:
            wasyncore.loop(timeout=1, map=self._sockets, count=1)
        wasyncore.close_all(self._sockets)

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request, as a WSGI application (PEP 3333)."""
        answer = self._outcome(environ)
        size = str(len(answer.content))
        start(
            f"{answer.status} {HTTPStatus(answer.status).phrase}",
            [("Content-Type", answer.content_type), ("Content-Length", size)],
        )
        return [answer.content]

    def _outcome(self, environ: dict[str, Any]) -> ModelResponse:
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        try:
            content = environ["wsgi.input"].read()
            return self._post(request_of(environ["REQUEST_METHOD"], path, query, headers, content))
        except BadRequest as error:
            return error.response
        except BaseException as error:  # noqa: BLE001 - whatever it is, the item gets it, too
            return error_response(_REFUSED, redact(f"{type(error).__name__}: {error}"))
