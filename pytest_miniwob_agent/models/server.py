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
from pytest_miniwob_agent.models.requests import NotACall, error_response, refusal, request_of

_SERVED = re.compile(
    r"(?:/v1)*(?P<gemini>/v1beta/models/[\w.-]+:\w+)"
    # What clients put before it: of Azure's, the deployment is the model.
    r"|(?:/(?:api|openai|anthropic|models|v\d\w*))*(?:/(?:deployments|engines)/(?P<model>.+?))?"
    r"/(?P<path>chat/completions|completions|embeddings|messages(?:/count_tokens)?|models(?:/.+)?"
    r"|moderations|rerank|responses(?:/input_tokens)?)"
)
"""Paths of calls of a model, and of the list of models; other offers are not for an item."""

_OFFER = (
    "It takes JSON that is posted to /chat/completions, /completions, /embeddings, /messages, "
    "/moderations, /rerank and /responses, below /v1 or where clients of Azure have them, and to "
    "/v1beta/models/NAME:generateContent; and it lists its model at /v1/models"
)


class ModelServer:
    """A server on the loopback interface that takes the calls of model APIs, as JSON.

    Its address has a secret in its path, so that no other program of the machine and no web page
    can spend the user's money.

    Args:
        post: answers a request; its errors become answers of status 404.
        model: the model's id, for clients that ask which there are.
    """

    def __init__(self, post: Callable[[ModelRequest], ModelResponse], model: str) -> None:
        self._post = post
        self._model = model
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
        method, query = environ["REQUEST_METHOD"], environ.get("QUERY_STRING", "")
        try:
            path, model = self._path_of(environ)
            content = environ["wsgi.input"].read()
            request = request_of(method, path, query, headers, content, self._model)
            if model:
                request = replace(request, body={"model": model, **request.body})
            answer = _with_usage(request.path, self._post(request))
        except NotACall as error:
            answer = error.response
        except BaseException as error:  # noqa: BLE001 - whatever it is, the item gets it, too
            # After this status no client, nor who calls it, sends the same call again.
            answer = error_response(404, redact(f"{type(error).__name__}: {error}"))
        size = ("Content-Length", str(len(answer.content)))
        status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
        allowed = ("Allow", "GET, HEAD, OPTIONS, POST")
        start(status, [("Content-Type", answer.content_type), size, allowed])
        return [] if method == "HEAD" else [answer.content]

    def _path_of(self, environ: dict[str, Any]) -> tuple[str, str | None]:
        """Return a request's path without what is before it, and the model that this names."""
        port, path = self._server.port, str(environ["PATH_INFO"])
        known = secrets.compare_digest(path[: len(self._secret)].encode(), self._secret.encode())
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        if not known or environ.get("HTTP_HOST") not in hosts or "HTTP_ORIGIN" in environ:
            raise refusal(403, "this address is not the item's llm.base_url")
        path = path.removeprefix(self._secret).rstrip("/")
        served = _SERVED.fullmatch(path)
        if served is None:
            raise refusal(404, f"{path or '/'} is not served by llm.base_url. {_OFFER}")
        kind = environ.get("CONTENT_TYPE", "").lower()
        if environ["REQUEST_METHOD"] == "POST" and not kind.startswith("application/json"):
            raise refusal(415, f"the request to {path} is not sent as application/json")
        return served["gemini"] or f"/v1/{served['path']}", served["model"]


def _with_usage(path: str, answer: ModelResponse) -> ModelResponse:
    """Return an answer; where the model gave no token counts they are 0 in it.

    Some frameworks fail without counts. The item knows that there are none.
    """
    usage = api_of(path).usage(0, 0)
    data = json.loads(answer.content) if answer.content_type == "application/json" else None
    if not usage or not isinstance(data, dict) or data.get("usage") is not None:
        return answer
    return replace(answer, content=json.dumps({**data, "usage": usage}).encode())
