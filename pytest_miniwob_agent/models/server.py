"""The server of an item: gives a framework's model calls to a function, over HTTP on loopback."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

from waitress import wasyncore
from waitress.server import create_server

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.models.apis import CHAT, path_of

_THREADS = 16
"""Calls that may be under way at once; a framework rarely makes more."""

_COUNTS = {
    CHAT: ("prompt_tokens", "completion_tokens", "total_tokens"),
    "/v1/messages": ("input_tokens", "output_tokens"),
}
"""The token counts in the answers of an API."""

_REFUSED = "422 Unprocessable Entity"
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
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=1)
        self._closing = True
        with contextlib.suppress(OSError):  # the loop has just seen it and closed the trigger
            self._server.pull_trigger()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing:
            wasyncore.loop(timeout=1, map=self._sockets, count=1)
        wasyncore.close_all(self._sockets)

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request, as a WSGI application (PEP 3333)."""
        status, kind, content = self._outcome(environ)
        start(status, [("Content-Type", kind), ("Content-Length", str(len(content)))])
        return [content]

    def _outcome(self, environ: dict[str, Any]) -> tuple[str, str, bytes]:
        if environ["REQUEST_METHOD"] != "POST":
            return _error("405 Method Not Allowed", "only POST requests can be recorded")
        try:
            body = json.loads(environ["wsgi.input"].read())
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return _error("400 Bad Request", "the request is not a JSON object")
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        path = path_of(environ["PATH_INFO"])
        try:
            answer = self._post(ModelRequest(path, body, headers))
        except Exception as error:  # noqa: BLE001 - whatever it is, the item gets it, too
            return _error(_REFUSED, redact(f"{type(error).__name__}: {error}"))
        return f"{answer.status} OK", answer.content_type, _with_usage(path, answer)


def _with_usage(path: str, answer: ModelResponse) -> bytes:
    """Return the body of an answer; where the model gave no token counts they are 0 in it.

    Some frameworks fail without counts. The item knows that there are none.
    """
    names = _COUNTS.get(path)
    if names is None or answer.content_type != "application/json":
        return answer.content
    data = json.loads(answer.content)
    if not isinstance(data, dict) or data.get("usage") is not None:
        return answer.content
    return json.dumps({**data, "usage": dict.fromkeys(names, 0)}).encode()


def _error(status: str, message: str) -> tuple[str, str, bytes]:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return status, "application/json", json.dumps(error).encode()
