"""Model calls as agents make them: by `complete` and `chat`, and over HTTP."""

from __future__ import annotations

import json
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from pytest_miniwob_agent.connections import LoopbackServer
from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.data import well_formed
from pytest_miniwob_agent.core.errors import (
    CallRefused,
    LimitReached,
    MiniwobError,
    ModelError,
)
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.api import OPENAI, mappings
from pytest_miniwob_agent.models.apis import (
    CHAT,
    completion_in,
    find_api,
    find_provider,
    parse_answer,
    parse_completion,
    recorded_path,
)

if TYPE_CHECKING:
    import openai

    from pytest_miniwob_agent.models.http import httpx


# Parameters that the client of a live server uses itself.
_NOT_IN_BODY = ("extra_body", "extra_headers", "extra_query", "timeout")

# The paths of the list of models, and of one model.
_MODELS = re.compile(r"/v1/models(?:/(.+))?")

# What `--miniwob-upstream` names, below the address of the server.
_UPSTREAM = re.compile(r"(?:/v1)?/upstream/([a-z][a-z0-9_-]*)(/.+)")

# Paths of calls that are answered later, to GET requests.
_LATER = re.compile(r".*(?:/batches|:batch\w+|/async-invoke)")


class ChatCalls(ABC):
    """Implements `ChatModel` for a model that takes requests.

    Attributes:
        model: the model's id.
        params: further parameters of every call, such as `temperature`.
    """

    model: str
    params: Mapping[str, Any]

    @abstractmethod
    def _ask(
        self, request: ModelRequest, purpose: str, files: Mapping[str, str], text: str | None
    ) -> Completion:
        """Make a call and return its answer, as `read_completion` reads it.

        `files` are the digests of the prompt files, and `text` is the prompt of `complete`.
        """

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Send the prompt as the only message.

        Raises:
            ModelError: the server can't be reached, refuses the call, or its answer has no text.
            TypeError: the prompt is not a string.
        """
        if not isinstance(prompt, str):
            kind = type(prompt).__name__
            raise TypeError(f"llm.complete takes a string, not {kind}: llm.chat takes messages")
        request = chat_request(self.model, [{"role": "user", "content": prompt}], self.params)
        return self._ask(request, purpose, getattr(prompt, "files", {}), well_formed(str(prompt)))

    def chat(
        self,
        messages: Sequence[Any],
        purpose: str,
        *,
        tools: Sequence[Any] | None = None,
        tool_choice: Any = None,
        response_format: Any = None,
        **params: Any,
    ) -> Completion:
        """Send a conversation, as `ChatModel.chat` says.

        Raises:
            ModelError: the server can't be reached or refuses the call, or its answer says nothing.
            TypeError: the messages are not a list of messages, or a parameter is not JSON.
        """
        given = {"tools": tools, "tool_choice": tool_choice, "response_format": response_format}
        given = {name: value for name, value in given.items() if value is not None}
        if params.get("stream"):
            raise TypeError("llm.chat gives whole answers: llm.client streams them")
        if "timeout" in params:
            raise TypeError("llm.chat takes no timeout: --miniwob-llm-params has that of the run")
        plain = _plain_messages(messages)
        files: dict[str, str] = {}  # the prompt files that the messages were made of
        for content in (message.get("content") for message in plain):
            for text in (content, *(part.get("text") for part in mappings(content))):
                files |= getattr(text, "files", {})
        request = chat_request(self.model, plain, {**self.params, **given, **params})
        return self._ask(request, purpose, files, None)


def _plain_messages(messages: Sequence[Any]) -> list[dict[str, Any]]:
    if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence) or not messages:
        raise TypeError(
            'llm.chat takes a list of messages such as {"role": "user", "content": "..."}, not '
            + (type(messages).__name__ if messages else "an empty one")
        )
    plain = []
    for number, message in enumerate(messages):
        if hasattr(message, "model_dump"):
            message = message.model_dump(mode="json", exclude_none=True)
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise TypeError(
                f'message {number} of llm.chat is not a mapping with a "role", but {message!r:.80}'
            )
        plain.append(dict(message))
    return plain


def chat_request(
    model: str, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]
) -> ModelRequest:
    """Return the request of a call, whose body is a copy in plain JSON types."""
    body = {name: params[name] for name in sorted(params) if name not in _NOT_IN_BODY}
    body = {"messages": messages, "model": model, **body, **(params.get("extra_body") or {})}
    headers, query = params.get("extra_headers") or {}, params.get("extra_query") or {}
    plain = well_formed(json.loads(json.dumps(body)))
    return ModelRequest(CHAT, plain, dict(headers), urlencode(query))


def read_completion(response: ModelResponse, *, text_only: bool = False) -> Completion:
    """Return what the answer to a `chat_request` says.

    Raises:
        CallRefused: it is a refusal of the server.
        ModelError: it says nothing; with `text_only`, it has no text.
    """
    if response.status != 200:
        refusal = completion_in(CHAT, response).refusal
        raise CallRefused(f"the model's server refused the call: {refusal}")
    answer = parse_answer(CHAT, response.content, response.content_type)
    if answer is None:
        raise ModelError("the model's answer is not a chat completion with text")
    completion = parse_completion(CHAT, answer)
    reason = ""
    if text_only and completion.refusal:
        reason = f"it refused, {shorten(completion.refusal)!r}"
    elif text_only and completion.tool_calls and not completion.text:
        reason = "it calls a tool, but the agent offers no tools"
    if reason:
        raise ModelError(f"the model answered with no text: {reason}")
    return completion


class NotACall(ValueError):
    """The request is not a model call, so it is not recorded; `response` is the answer to it."""

    def __init__(self, response: ModelResponse) -> None:
        super().__init__(response.content)
        self.response = response


def parse_request(
    method: str, path: str, query: str, headers: Mapping[str, str], content: bytes, model: str
) -> ModelRequest:
    """Return the request to a model's server that an HTTP request is; its path may have escapes.

    Raises:
        NotACall: it is not a JSON object that is posted. `model` is in the list of models.
    """
    upstream = _UPSTREAM.fullmatch(path)
    path = unquote(path)
    asked = _MODELS.fullmatch(path)
    if asked and method in ("GET", "HEAD"):
        raise NotACall(_models(model, asked[1]))
    if method == "OPTIONS":
        raise NotACall(ModelResponse(b""))
    if method != "POST" or _LATER.fullmatch(path) or (asked and find_provider(path) is OPENAI):
        raise _not_at_once(method, path)
    kind = headers.get("content-type", "application/json")
    if kind.startswith("multipart/"):
        raise refusal(
            415,
            f"uploads such as {path} can't be recorded: put the data into the request of the call, "
            "or upload it by a client of your own",
        )
    content = _decoded(content, headers.get("content-encoding", ""))
    try:
        body = well_formed(json.loads(content))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise refusal(400, f"the request to {path} is not a JSON object: no other can be recorded")
    if body.get("background") is True:
        raise _not_at_once(method, path)
    pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "key"]
    asked_of, own = "", recorded_path(path)
    if upstream:
        name, rest = upstream.groups()
        asked_of, own = f"{name}{rest}", recorded_path(unquote(rest))
        # What is known is the same as from any other server.
        own = own if find_api(own).path else f"/{name}{unquote(rest)}"
    return ModelRequest(own, body, dict(headers), urlencode(pairs), asked_of)


def _not_at_once(method: str, path: str) -> NotACall:
    return refusal(
        405,
        f"only POST requests that are answered at once can be recorded, not {method} {path}: ask "
        "without batches and background mode, or use a client of your own",
    )


def _decoded(content: bytes, encoding: str) -> bytes:
    encoding = encoding.lower().replace("x-gzip", "gzip")
    if encoding in ("", "identity"):
        return content
    from pytest_miniwob_agent.models.http import httpx

    try:
        body = httpx.Response(200, headers={"Content-Encoding": encoding}, content=content).content
    except httpx.DecodingError as error:
        raise refusal(400, f"the request's body is not {encoding}: {error}") from None
    if body == content:
        raise refusal(415, f"bodies can't be read as {encoding} here: send gzip, or as they are")
    return body


def _models(model: str, asked: str | None) -> ModelResponse:
    one = {"id": model, "object": "model", "created": 0, "owned_by": "miniwob"}
    if asked not in (None, model):
        return error_response(404, f"there is no model {asked} here: the item's is {model}")
    answer = one if asked else {"object": "list", "data": [one], "has_more": False}
    return ModelResponse(json.dumps(answer).encode())


def refusal(status: int, message: str) -> NotACall:
    """Return what refuses a request."""
    return NotACall(error_response(status, message))


def error_response(status: int, message: str) -> ModelResponse:
    """Return an error in a form that clients of OpenAI, Anthropic, Amazon and Cohere read."""
    error = {"type": "invalid_request_error", "message": message}
    answer = {"type": "error", "message": message, "error": error}
    return ModelResponse(json.dumps(answer).encode(), status=status)


# Paths of calls of a model, and of the list of models; other offers are not for an item.
_SERVED = re.compile(
    r"(?:/v1)*/v1(?:beta1?)?/(?:(?:projects/[\w.-]+/locations/[\w-]+/)?publishers/google/)?"
    r"models/[\w.-]+:\w+|(?:/v1)*/v1beta/interactions"
    # What clients put before it: of Azure's, the deployment is the model.
    r"|(?:/(?:api|openai|anthropic|models|v\d\w*))*(?:/(?:deployments|engines)/(?P<model>.+?))?"
    r"/(?P<path>chat/completions|completions|embeddings|messages(?:/count_tokens)?|models(?:/.+)?"
    r"|moderations|rerank|responses(?:/input_tokens)?)"
)

_OFFER = (
    "It takes JSON that is posted to /chat/completions, /completions, /embeddings, /messages, "
    "/moderations, /rerank and /responses, below /v1 or where clients of Azure have them, and to "
    "/v1beta/models/NAME:generateContent or where Vertex has it; it lists its model at /v1/models; "
    "and it takes any JSON for a server that is named by --miniwob-upstream NAME=URL, below "
    "/upstream/NAME"
)


class ModelServer:
    """A server on the loopback interface that takes the calls of models, as JSON.

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
        } | {"content-type": environ.get("CONTENT_TYPE", "")}
        method, query = environ["REQUEST_METHOD"], environ.get("QUERY_STRING", "")
        try:
            path, model = self._parse_path(environ)
            content = environ["wsgi.input"].read()
            request = parse_request(method, path, query, headers, content, self._model)
            if model:
                request = replace(request, body={"model": model, **request.body})
            answer = _with_usage(request.path, self._post(request))
        except NotACall as error:
            answer = error.response
        except BaseException as error:  # noqa: BLE001 - whatever it is, the item gets it, too
            # After this status no client, nor who calls it, sends the same call again.
            answer = error_response(404, mask(f"{type(error).__name__}: {error}"))
        size = ("Content-Length", str(len(answer.content)))
        status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
        allowed = ("Allow", "GET, HEAD, OPTIONS, POST")
        start(status, [("Content-Type", answer.content_type), size, allowed])
        return [] if method == "HEAD" else [answer.content]

    def _parse_path(self, environ: dict[str, Any]) -> tuple[str, str | None]:
        port, path = self._server.port, urlsplit(environ["REQUEST_URI"]).path
        # A web page could get here with a guess at the port: it sends an Origin, or the Host of its
        # own name.
        known = secrets.compare_digest(path[: len(self._secret)].encode(), self._secret.encode())
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        if not known or environ.get("HTTP_HOST") not in hosts or "HTTP_ORIGIN" in environ:
            raise refusal(403, "this address is not the item's llm.base_url")
        path = path.removeprefix(self._secret).rstrip("/")
        if _UPSTREAM.fullmatch(path) or _LATER.fullmatch(path):
            return path, None
        path = unquote(path)
        served = _SERVED.fullmatch(path)
        own = recorded_path(f"/v1{path}")
        if served is None and not find_api(own).path:
            raise refusal(404, f"{path or '/'} is not served by llm.base_url. {_OFFER}")
        kind = environ.get("CONTENT_TYPE", "").lower()
        if environ["REQUEST_METHOD"] == "POST" and not kind.startswith("application/json"):
            raise refusal(415, f"the request to {path} is not sent as application/json")
        if served is None or served["path"] is None:
            return own, None
        return f"/v1/{served['path']}", served["model"]


def _with_usage(path: str, answer: ModelResponse) -> ModelResponse:
    # Some frameworks fail without counts. The item knows that there are none.
    usage = find_api(path).usage(0, 0)
    data = json.loads(answer.content) if answer.content_type == "application/json" else None
    if (
        answer.status != 200
        or not usage
        or not isinstance(data, dict)
        or data.get("usage") is not None
    ):
        return answer
    return replace(answer, content=json.dumps({**data, "usage": usage}).encode())


# Stands for the server, which the function knows.
_BASE_URL = "http://model.invalid/v1"

# A client tells this address where it can't open a WebSocket, as for `realtime`.
_NO_SOCKET = "sessions-over-websockets-are-not-recorded://use-a-client-of-your-own"

_GIVEN: dict[str, Any] = {
    "api_key": "none",
    "base_url": _BASE_URL,
    "websocket_base_url": _NO_SOCKET,
    "max_retries": 0,
}


def openai_client(post: Callable[[ModelRequest], ModelResponse], model: str) -> openai.OpenAI:
    """Return a client whose requests go through `post`, which also retries.

    `model` is the only one in its list of models.
    """
    import openai

    from pytest_miniwob_agent.models.http import httpx

    class Transport(httpx.BaseTransport):  # MockTransport would be mocked by a user's vcrpy
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            request.read()
            try:
                return _to_httpx(post(_from_httpx(request, model)))
            except NotACall as error:
                return _to_httpx(error.response)
            except (MiniwobError, LimitReached) as error:
                raise _failed(request, error) from error

    client = openai.DefaultHttpxClient(transport=Transport())
    return openai.OpenAI(**_GIVEN, http_client=client)


def async_openai_client(
    post: Callable[[ModelRequest], Awaitable[ModelResponse]], model: str
) -> openai.AsyncOpenAI:
    """Return an asynchronous client of this kind."""
    import openai

    from pytest_miniwob_agent.models.http import httpx

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await request.aread()
            try:
                return _to_httpx(await post(_from_httpx(request, model)))
            except NotACall as error:
                return _to_httpx(error.response)
            except (MiniwobError, LimitReached) as error:
                raise _failed(request, error) from error

    http = openai.DefaultAsyncHttpxClient(transport=Transport())
    client = openai.AsyncOpenAI(**_GIVEN, http_client=http)
    # Otherwise the first calls wait for a thread that finds it out, and go on in any order.
    client._platform = "Unknown"
    return client


def _failed(request: Any, error: BaseException) -> openai.APIConnectionError:
    import openai

    # Of other errors the client says "Connection error." alone.
    return openai.APIConnectionError(message=mask(str(error)), request=request)


def _from_httpx(request: httpx.Request, model: str) -> ModelRequest:
    path, _, query = request.url.raw_path.decode().partition("?")
    return parse_request(request.method, path, query, request.headers, request.content, model)


def _to_httpx(response: ModelResponse) -> httpx.Response:
    from pytest_miniwob_agent.models.http import httpx

    headers = {"Content-Type": response.content_type}
    return httpx.Response(response.status, headers=headers, content=response.content)
