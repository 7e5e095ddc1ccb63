"""The server of an item: gives a framework's model calls to a function, over HTTP on loopback."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.loopback import LoopbackServer
from pytest_miniwob_agent.models.apis import api_of
from pytest_miniwob_agent.models.requests import BadRequest, error_response, request_of

CALLS = re.compile(
    r"(?:/v1)+/(?:chat/completions|completions|embeddings|messages(?:/count_tokens)?|moderations"
    r"|rerank|responses(?:/input_tokens)?)|/(?:v1/)?v1beta/models/[\w.-]+:\w+"
)
"""Paths of calls of a model; what else a provider offers is not for an item."""


class ModelServer:
    """A server on the loopback interface that takes the calls of model APIs, as JSON.

    Its address has a secret in its path, so that no other program of the machine and no web page
    can spend the user's money.

    Args:
        post: answers a request; its errors become answers of status 404.
    """

    def __init__(self, post: Callable[[ModelRequest], ModelResponse]) -> None:
        self._post = post
        self._secret = f"/{secrets.token_urlsafe(16)}"
        self._server = LoopbackServer(self._serve, threads=16)  # few frameworks use more
        self.close = self._server.close

    @property
    def base_url(self) -> str:
        """The address, in the form that clients of OpenAI take: it ends in `/v1`."""
        return f"http://127.0.0.1:{self._server.port}{self._secret}/v1"

    def _serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request, as a WSGI application (PEP 3333)."""
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        query = environ.get("QUERY_STRING", "")
        try:
            path = self._path_of(environ)
            content = environ["wsgi.input"].read()
            request = request_of(environ["REQUEST_METHOD"], path, query, headers, content)
            answer = _with_usage(request.path, self._post(request))
        except BadRequest as error:
            answer = error.response
        except BaseException as error:  # noqa: BLE001 - whatever it is, the item gets it, too
            # After this status no client, nor who calls it, sends the same call again.
            answer = error_response(404, redact(f"{type(error).__name__}: {error}"))
        size = ("Content-Length", str(len(answer.content)))
        status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
        start(status, [("Content-Type", answer.content_type), size])
        return [answer.content]

    def _path_of(self, environ: dict[str, Any]) -> str:
        """Return the path of a request without the secret; refuse what is no call of the item."""
        port, path = self._server.port, str(environ["PATH_INFO"])
        known = secrets.compare_digest(path[: len(self._secret)].encode(), self._secret.encode())
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        if not known or environ.get("HTTP_HOST") not in hosts or "HTTP_ORIGIN" in environ:
            raise BadRequest(403, "this address is not the item's llm.base_url")
        path = path.removeprefix(self._secret)
        if not CALLS.fullmatch(path):
            raise BadRequest(404, f"{path} is not the path of a model's call")
        if not environ.get("CONTENT_TYPE", "").startswith("application/json"):
            raise BadRequest(415, f"the request to {path} is not sent as application/json")
        return path


def _with_usage(path: str, answer: ModelResponse) -> ModelResponse:
    """Return an answer; where the model gave no token counts they are 0 in it.

    Some frameworks fail without counts. The item knows that there are none.
    """
    usage = api_of(path).usage(0, 0)
    data = json.loads(answer.content) if answer.content_type == "application/json" else None
    if not usage or not isinstance(data, dict) or data.get("usage") is not None:
        return answer
    return replace(answer, content=json.dumps({**data, "usage": usage}).encode())
