"""The client of a live model server: sends requests, retries them, and keeps to the budget.

A wrong key, a parameter that the model refuses, or a server that is not there fails all items
alike, so a run stops at the first such error and does not wait for further attempts.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import openai
from openai.resources.chat.completions import Completions

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse, Usage
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import MiniwobError, ModelError, PermanentError, UsageError
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.secrets import mask
from pytest_miniwob_agent.core.text import sanitize_line, shorten
from pytest_miniwob_agent.models.api import OPENAI, Provider
from pytest_miniwob_agent.models.apis import (
    describe_unusable,
    find_api,
    find_error_status,
    find_provider,
    parse_answer,
    parse_usage,
    parsed_json,
    recorded_path,
)
from pytest_miniwob_agent.models.bodies import events_in
from pytest_miniwob_agent.models.budget import Budget, Payment
from pytest_miniwob_agent.models.http import httpx
from pytest_miniwob_agent.models.params import OPTION, sent_only_strings, shown_url, split_url
from pytest_miniwob_agent.models.requests import error_response

RETRIES = 5
"""Default number of retries of a refused or dropped call; enough for a minute of rate limits."""

# Headers of a request that are not sent on: those of its connection, and keys.
_OWN_HEADERS = (
    "accept-encoding", "api-key", "authorization", "connection", "content-encoding",
    "content-length", "content-type", "cookie", "expect", "host", "proxy-authorization",
    "transfer-encoding", "user-agent", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token",
    "x-api-key", "x-goog-api-key", "x-stainless-retry-count",
)  # fmt: skip

# How Amazon's signatures begin; here, with the region and the service that one is made for.
_SIGNED = "AWS4-HMAC-SHA256"
_SCOPE = re.compile(rf"{_SIGNED} Credential=[^/]+/\d+/([\w-]+)/([\w-]+)/aws4_request")
_AMAZON = re.compile(r"https://([\w-]+?)(?:-runtime)?\.([\w-]+)\.amazonaws\.com")

# Codes of refusals that last until somebody pays, though their status is that of a rate limit.
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")

# How servers say that a prompt is too long: OpenAI's and Azure's code, vLLM's, llama.cpp's,
# Mistral's, Anthropic's, Google's, Amazon's and Groq's words.
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|(?:prompt|input) is too long|input token count|"
    r"reduce the length",
    re.I,
)

OnUnusable = Callable[[str, Usage], None]
"""Counts an answer that was paid for and can't be used, by a reason of a few words."""


@contextmanager
def checked_environment() -> Iterator[None]:
    """Name the variables for proxies and certificates if they keep a client from being made."""
    try:
        yield
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        # https://www.python-httpx.org/environment_variables
        raise UsageError(
            "a proxy or certificates from the environment can't be used (HTTPS_PROXY, HTTP_PROXY, "
            f"ALL_PROXY, SSL_CERT_FILE, SSL_CERT_DIR): {mask(str(error))}"
        ) from None


class Keys:
    """The server and the keys of a run.

    Args:
        address: the server that the user names by an option; None for the provider of each API.
        variable: the environment variable with the key of all requests; None for that of the API.
        option: the option, for messages.
        upstreams: the servers that the user names for other APIs and for providers, by name.
    """

    def __init__(
        self,
        address: str | None,
        variable: str | None = None,
        option: str = "--miniwob-base-url",
        upstreams: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self._variable = variable
        self._option = option
        self._upstreams = upstreams or {}

    def headers(self, request: ModelRequest) -> dict[str, Any]:
        """Return the headers that carry the key; empty if OpenAI's client adds it."""
        known = find_provider(request.path)
        if request.upstream:
            key = os.environ.get(self.provider(request).key_variable, "")
            if not key and (scope := self._find_scope(request)):
                return {"Authorization": f"{_SIGNED} {scope}"}
        elif known.key_header is None:
            return {}
        else:
            key = self.key(known)
        # A gateway may take the one or the other.
        gateway = key and (self.address is not None or self.named(request))
        keys = {"Authorization": f"Bearer {key}" if gateway else openai.Omit()}
        own = key and known.key_header not in (None, "Authorization")
        return {str(known.key_header): key, **keys} if own else keys

    def _find_scope(self, request: ModelRequest) -> str:
        """Return region and service for which Amazon has a request signed; empty if it has not."""
        given = {name.lower(): value for name, value in request.headers.items()}
        signed = _SCOPE.match(given.get("authorization", ""))
        host = _AMAZON.match(self.server(request))
        return f"{host[2]} {host[1]}" if host else f"{signed[1]} {signed[2]}" if signed else ""

    def provider(self, request: ModelRequest) -> Provider:
        """Return the provider of a request, or of the upstream that it is for."""
        return find_provider(f"/{request.upstream}" if request.upstream else request.path)

    def named(self, request: ModelRequest) -> str | None:
        """Return the address that `--miniwob-upstream` gives for a request, if it does."""
        return self._upstreams.get(_name_of(self.provider(request)))

    def server(self, request: ModelRequest) -> str:
        """Return the server of a request; empty for OpenAI's, which its client knows.

        Raises:
            UsageError: it is for an upstream that is not named.
        """
        named = self.named(request)
        if request.upstream and named is None:
            name = request.upstream.partition("/")[0]
            raise UsageError(
                f"a call of {request.path} can't be made, as no server is named for it: give "
                f"--miniwob-upstream={name}=URL"
            )
        address = named or self.address or find_provider(request.path).url
        return (split_url(address)[0] or "").rstrip("/")

    def url(self, request: ModelRequest) -> str:
        """Return the address of a request: the server's own path takes the place of `/v1`."""
        server, path = self.server(request), request.path
        if request.upstream:
            path = f"/{request.upstream.partition('/')[2]}"
            return (server.removesuffix("/v1") if path.startswith("/v1/") else server) + path
        if path.startswith("/v1/") and not self.named(request):
            return server + path.removeprefix("/v1")
        return server.removesuffix("/v1") + path

    def variables(self, provider: Provider) -> list[str]:
        """Return the environment variables that may have the key for a provider."""
        if self._variable:
            return [self._variable]
        gateway = [] if self.address is None else [OPENAI.key_variable]
        return list(dict.fromkeys([provider.key_variable, *gateway]))

    def key(self, provider: Provider = OPENAI) -> str:
        """Return the key for a provider, or "none" for your own server, which may need none.

        Raises:
            UsageError: there is no key, and the server is the provider's.
        """
        names = self.variables(provider)
        if key := next(filter(None, map(os.environ.get, names)), None):
            return key
        own = self.address is not None or _name_of(provider) in self._upstreams
        if own and not self._variable:
            return "none"
        hint = f", or a server of your own named by OPENAI_BASE_URL or {self._option}"
        if self._variable:
            hint = ", which --miniwob-key-variable names"
        raise UsageError(f"calling a model needs {names[0]} in the environment{hint}")


def _name_of(provider: Provider) -> str:
    return provider.name.rpartition(".")[2]


class LiveModel:
    """A model behind a server that speaks any HTTP API with JSON.

    Args:
        model: the model's id.
        params: further parameters; headers and the query go with every call.
        base_url: the server; None leaves it to `OPENAI_BASE_URL` or the client's default.
        retries: how often a refused or dropped call is sent again, with the client's own back-off.
        key_variable: the environment variable with the key; None for that of the API.
        upstreams: further servers, by the names that requests have for them.
        budget: limits the calls.
        on_unusable: counts answers that were paid for and can't be used.
        past_mocks: a context in which the HTTP library is as it was before a user's test mocked it.

    Raises:
        UsageError: the client does not know a parameter, or a variable for proxies is not valid.
    """

    def __init__(
        self,
        model: str,
        params: Mapping[str, Any],
        *,
        base_url: str | None = None,
        retries: int = RETRIES,
        key_variable: str | None = None,
        upstreams: Mapping[str, str] | None = None,
        budget: Budget | None = None,
        on_unusable: OnUnusable = lambda reason, usage: None,
        past_mocks: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        known = inspect.signature(Completions.create).parameters
        if unknown := next((name for name in params if name not in known), None):
            raise UsageError(
                f"{OPTION}: the client knows no {unknown!r}; put a parameter that only this server "
                'knows into "extra_body"'
            )
        self._model = model
        self._params = params
        self._on_unusable = on_unusable
        self._past_mocks = past_mocks
        self._budget = budget
        address = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._keys = Keys(address, key_variable, upstreams=upstreams)
        self._sent_only = sent_only_strings(params, address)
        for url in (upstreams or {}).values():
            self._sent_only += sent_only_strings({}, url)
        server, query = split_url(self._keys.address)
        with checked_environment():
            attempts = _Attempts(openai.DefaultHttpxClient(), budget, on_unusable)
        self._client = openai.OpenAI(
            api_key=self._keys.key,
            base_url=server,
            default_query=query,
            max_retries=retries,
            http_client=openai.DefaultHttpxClient(transport=attempts),
        )
        self.close = self._client.close

    def post(self, request: ModelRequest, origin: Origin) -> ModelResponse:
        """Send a request of any API to the server, and return its answer as a whole.

        A call is repeated only if no answer arrived, as each answer may have been paid for. A
        refusal for what this call holds is an answer, with its status.

        Raises:
            ModelError: the server can't be reached, refuses the call, or gives no completion.
            UsageError: there is no key for the server.
            BudgetReached: the run may make no more calls.
            RecordingStopped: a completion could not be kept, here or in another worker.
        """
        named = self._keys.named(request)
        if request.upstream and named is None and find_api(request.path).path:
            request = replace(request, upstream="")  # the usual server has this API, too
        # Those of the run replace those of the request.
        extra = {} if named else self._params
        query = dict(parse_qsl(request.query)) | (extra.get("extra_query") or {})
        query |= split_url(named)[1]
        sent = {k: v for k, v in request.headers.items() if k.lower() not in _OWN_HEADERS}
        keys = self._keys.headers(request)
        headers = sent | (extra.get("extra_headers") or {}) | keys
        options: Any = {"headers": headers, "params": query}
        if "timeout" in self._params:
            options["timeout"] = self._params["timeout"]
        client = self._client
        if keys:
            client = client.with_options(api_key="none")  # the key of the API is in the headers
        if named:
            client = client.with_options(set_default_query={})
        known = {*self._sent_only, *sent_only_strings({"extra_headers": sent}, None)}
        with self._errors(origin.purpose, request, known), self._past_mocks():
            url, body = self._keys.url(request), dict(request.body)
            try:
                answer = client.post(url, cast_to=httpx.Response, body=body, options=options)
            except openai.APIStatusError as error:
                if not self._is_of_call(error):
                    raise
                return _refusal(error.response)
            kind, content = answer.headers.get("content-type", "application/json"), answer.content
            if answer.status_code != 200 or parse_answer(request.path, content, kind) is None:
                unusable = describe_unusable(
                    request.path, answer.status_code, content, request.body, kind
                )
                usage = parse_usage(request.path, parsed_json(content))
                self._on_unusable(unusable.reason, usage)
                if unusable.foreign:
                    raise PermanentError(unusable.report, of_call=True)
                raise ModelError(unusable.report)
        return ModelResponse(content, kind, answer.status_code)

    def _is_of_call(self, error: openai.APIStatusError) -> bool:
        """True if a server refuses one call, and has accepted others or says that it is too long.

        Before the first answer of a run a refusal may have its reason in the run's parameters.
        """
        refused = model_error("", error)
        if not isinstance(refused, PermanentError) or not refused.of_call:
            return False
        too_long = error.status_code == 413 or _TOO_LONG.search(
            f"{error.code} {error.type} {error}"
        )
        return bool(too_long or (self._budget and self._budget.recorded().calls))

    @contextmanager
    def _errors(
        self, purpose: str, request: ModelRequest, known: Collection[str]
    ) -> Iterator[None]:
        """Turn the errors of a call into those of this package.

        They hold no keys and no string that is `known`, even if the server's message does.
        """

        def failed(reason: str, cause: BaseException) -> ModelError:
            server = self._keys.server(request) or str(self._client.base_url).rstrip("/")
            server = shown_url(server)
            if self._keys.named(request):
                reason = reason.replace(": most servers' addresses end in /v1", " and the path")
                reason = reason.replace("--miniwob-base-url", "--miniwob-upstream")
            return model_error(f"{purpose} call: {server} {mask(reason, known)}", cause)

        try:
            try:
                yield
            except _Ended as ended:
                raise ended.__cause__ or ended from None
        except ModelError as error:
            raise failed(str(error), error) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            reason = f"can't be reached: {cause}{advice_on_connection(cause)}"
            if isinstance(cause, httpx.TimeoutException):
                part = "connect" if isinstance(cause, httpx.ConnectTimeout) else "read"
                seconds = error.request.extensions["timeout"][part]
                reason = f"gave no answer within {seconds:g} s"
                reason += f'; raise "timeout" in {OPTION}' if part == "read" else ""
            raise failed(reason + _times(error.request), cause) from None
        except openai.APIStatusError as error:
            names = self._keys.variables(self._keys.provider(request))
            advice = _advice_on_refusal(error, self._model, self._params, names)
            reason = f"refused the call: {_refusal_text(error, known)}{_times(error.request)}"
            reason += f"; {advice}" if advice else ""
            raise failed(reason, error) from None
        except TypeError as error:
            raise UsageError(f"{OPTION}: {mask(str(error), known)}") from None
        except (openai.OpenAIError, ValueError) as error:
            raise failed(f"gave no completion: {error}", error) from None


def _refusal(response: httpx.Response) -> ModelResponse:
    status, content = response.status_code, response.content
    # The recording keeps it as JSON.
    if isinstance(parsed_json(content), dict):
        return ModelResponse(content, status=status)
    return error_response(status, shorten(response.text))


def _refusal_text(error: openai.APIStatusError, known: Collection[str]) -> str:
    text = sanitize_line(error)
    # The client leaves out what is not in OpenAI's form, such as Ollama's and FastAPI's.
    if error.body and text == f"Error code: {error.status_code}":
        said = error.body if isinstance(error.body, str) else canonical_json(error.body)
        text += f" - {shorten(mask(said, known))}"
    return text


def _times(request: httpx.Request) -> str:
    retries = int(request.headers.get("x-stainless-retry-count", 0))
    return f" (sent {retries + 1} times)" if retries else ""


class _Ended(openai.OpenAIError):
    """An error of ours is the cause. Version 2 of `openai` would repeat the call after others."""


class _Attempts(httpx.BaseTransport):
    """Sends each attempt of a call within the budget, and reads its answer to the end."""

    def __init__(
        self, server: httpx.Client, budget: Budget | None, on_unusable: OnUnusable
    ) -> None:
        self._server = server
        self._budget = budget
        self._on_unusable = on_unusable

    def close(self) -> None:
        self._server.close()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            if request.headers.get("authorization", "").startswith(_SIGNED):
                _sign(request)
            return self._handle(request)
        except MiniwobError as error:
            raise _Ended from error

    def _handle(self, request: httpx.Request) -> httpx.Response:
        with nullcontext(Payment()) if self._budget is None else self._budget.call() as payment:
            response = self._send(request, payment)
            if payment.answered:
                path, kind = (
                    recorded_path(request.url.path),
                    response.headers.get("content-type", ""),
                )
                answer = parse_answer(path, response.content, kind) or parsed_json(response.content)
                payment.usage = parse_usage(path, answer)
            return response

    def _send(self, request: httpx.Request, payment: Payment) -> httpx.Response:
        complete = False
        try:
            response = self._server.send(request, stream=True, follow_redirects=False)
        except httpx.TransportError as error:
            # Another attempt may help against the restart of a server that has worked before.
            hopeless = isinstance(error, httpx.UnsupportedProtocol | httpx.ConnectError)
            if not hopeless or (self._budget and self._budget.recorded().calls):
                raise
            advice = advice_on_connection(error)
            raise PermanentError(f"can't be reached: {error}{advice}") from None
        payment.answered = response.is_success
        try:
            response.read()
            complete = True
        except httpx.RequestError as error:
            if not payment.answered:
                raise
            raise ModelError(f"answered with a body that can't be read: {error}") from None
        finally:
            response.close()
            if payment.answered and not complete:
                self._on_unusable("cut off or not decodable", payment.usage)
        if payment.answered and (status := find_error_status(_parsed(response))):
            payment.answered, response.status_code = False, status
        # After these a client asks for a page, and does not repeat the call.
        if response.status_code in (301, 302, 303) and "location" in response.headers:
            there = shown_url(str(request.url.join(response.headers["location"])))
            raise PermanentError(f"redirects calls to {there}; name it with --miniwob-base-url")
        return response


def _sign(request: httpx.Request) -> None:
    """Sign a request with the credentials of the environment; its header names what it is for."""
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.session import Session
    except ImportError:
        raise UsageError(
            "a call of Amazon's is to be signed, which needs botocore: pip install "
            "'pytest-miniwob-agent[amazon]', or give a key by AWS_BEARER_TOKEN_BEDROCK"
        ) from None
    credentials = Session().get_credentials()
    if credentials is None:
        raise UsageError(
            "a call of Amazon's is to be signed, and there are no credentials: give them as for "
            "its own clients, or a key by AWS_BEARER_TOKEN_BEDROCK"
        )
    _, region, service = request.headers.pop("authorization").split()
    kind = {"Content-Type": request.headers["content-type"]}
    signed = AWSRequest(request.method, str(request.url), kind, request.content)
    SigV4Auth(credentials, service, region).add_auth(signed)
    request.headers.update(dict(signed.headers.items()))


def _parsed(response: httpx.Response) -> Any:
    kind = response.headers.get("content-type", "")
    return events_in(response.content, kind) or parsed_json(response.content)


def model_error(text: str, cause: BaseException) -> ModelError:
    """Return the error of a call, a `PermanentError` if other calls would fail by its cause too."""
    match cause:
        case PermanentError():
            return PermanentError(text, of_call=cause.of_call)
        case openai.APIStatusError(status_code=401 | 402 | 403 | 404 | 405 | 410):
            return PermanentError(text)  # the key, the account, the address or the model
        case openai.APIStatusError() if cause.code in _NO_CREDIT or cause.type in _NO_CREDIT:
            return PermanentError(text)
        case openai.APIStatusError(status_code=400 | 413 | 422):
            return PermanentError(text, of_call=True)  # maybe its content, such as its length
        case httpx.ConnectError() | httpx.ProxyError() | httpx.UnsupportedProtocol():
            return PermanentError(text)
    return ModelError(text)


def advice_on_connection(cause: BaseException, option: str = "--miniwob-base-url") -> str:
    """Return what helps against a failed connection to the server that an option names."""
    if isinstance(cause, httpx.ProxyError):
        return (
            " (by the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names; NO_PROXY lists hosts "
            "that are reached without it)"
        )
    if "CERTIFICATE_VERIFY_FAILED" in str(cause):
        return " (SSL_CERT_FILE names a file of further certificates to trust)"
    if isinstance(cause, httpx.UnsupportedProtocol):
        return f" (give the whole address, such as {option}=http://127.0.0.1:8000/v1)"
    if isinstance(cause, httpx.ConnectError):
        return f" (start the server, or name another with {option} or OPENAI_BASE_URL)"
    return ""


def _advice_on_refusal(
    error: openai.APIStatusError, model: str, params: Mapping[str, Any], key_variables: list[str]
) -> str:
    if error.status_code == 401:
        return f"the key is taken from {' or '.join(key_variables)}"
    if error.status_code not in (400, 404, 422):
        return ""
    extra = params.get("extra_body")
    given = {**params, **(extra if isinstance(extra, Mapping) else {})}
    named = re.match(r"\w*", str(error.param or ""))[0]  # type: ignore[index]
    if not named:
        named = next((name for name in given if _says(error, name)), "")
    if named in given:
        return f"leave {named} out of {OPTION}"
    if named == "model" or error.code == "model_not_found" or _says(error, model):
        return "name another model with --miniwob-model"
    if named and named not in ("messages", "stream"):
        return f'give "{named}" with {OPTION}'
    if error.status_code == 404:
        return "check --miniwob-base-url: most servers' addresses end in /v1"
    return ""


def _says(error: openai.APIStatusError, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", f"{error} {error.body}") is not None
