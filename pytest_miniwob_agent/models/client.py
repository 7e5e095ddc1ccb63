"""One chat call through the `openai` client, to any server that speaks its protocol."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import openai

from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.errors import MiniwobError, ModelError, UsageError
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import sanitize_line, shorten
from pytest_miniwob_agent.models.apis import CHAT, api_of
from pytest_miniwob_agent.models.apis.chat_completions import messages_of_text, plain_messages
from pytest_miniwob_agent.models.failures import (
    advice_on_connection,
    advice_on_refusal,
    model_error,
)
from pytest_miniwob_agent.models.keys import Keys
from pytest_miniwob_agent.models.params import OPTION, sent_only_texts, shown_url, split_url

RETRIES = 5
"""Default number of retries of a refused or dropped call; enough for a minute of rate limits."""

_OWN_HEADERS = (
    "accept-encoding", "api-key", "authorization", "connection", "content-length", "content-type",
    "cookie", "host", "proxy-authorization", "transfer-encoding", "user-agent", "x-api-key",
    "x-goog-api-key",
)  # fmt: skip
"""Headers of a request that are not sent on: those of its connection, and keys."""


def http_client() -> httpx2.Client:
    """Return the HTTP client that `openai` makes for itself, for a transport of our own.

    It follows `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, `SSL_CERT_FILE` and
    `SSL_CERT_DIR`, as httpx reads them: https://www.python-httpx.org/environment_variables

    Raises:
        UsageError: one of them has a value that can't be used.
    """
    with checked_environment():
        return openai.DefaultHttpxClient()


@contextmanager
def checked_environment() -> Iterator[None]:
    """Name the variables for proxies and certificates that keep a client from being made.

    Raises:
        UsageError: one of them has a value that can't be used.
    """
    try:
        yield
    except ImportError:
        raise UsageError(
            "the environment names a SOCKS proxy (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY), which "
            "needs: pip install 'httpx2[socks]'"
        ) from None
    except OSError as error:  # ssl.SSLError is one
        raise UsageError(
            f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names can't be read: {error}"
        ) from None
    except (ValueError, httpx2.InvalidURL) as error:
        raise UsageError(
            f"HTTPS_PROXY, HTTP_PROXY or ALL_PROXY does not name a proxy: {redact(str(error))}"
        ) from None


class OpenAILLM:
    """A model behind a server that speaks OpenAI's Chat Completions, or another API over `post`.

    Args:
        model: the model's id.
        params: further parameters of every chat call, such as `temperature`.
        base_url: the server; None leaves it to `OPENAI_BASE_URL` or the client's default.
        transport: carries the requests, for instance `cassettes.transport.CassetteTransport`.
        live: True if calls may reach a server; otherwise no key is needed and nothing is retried.
        retries: number of times to send a refused or dropped call again, with the client's own
            back-off.
        key_variable: the environment variable with the key; None for that of the API.
    """

    def __init__(
        self,
        model: str,
        params: Mapping[str, Any],
        *,
        base_url: str | None = None,
        transport: httpx2.BaseTransport | None = None,
        live: bool = True,
        retries: int = RETRIES,
        key_variable: str | None = None,
    ) -> None:
        self.model = model
        self.live = live
        self._params = dict(params)
        self._keys = Keys(base_url or os.environ.get("OPENAI_BASE_URL") or None, key_variable)
        self._sent_only = sent_only_texts(params, self._keys.address)
        server, query = split_url(self._keys.address)
        self._client = openai.OpenAI(
            api_key=self._keys.openai_key if live else "none",
            base_url=server,
            default_query=query,
            max_retries=retries if live else 0,
            http_client=openai.DefaultHttpxClient(transport=transport) if transport else None,
        )

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Send the prompt as the only message.

        Raises:
            ModelError: the server can't be reached, refuses the call, or its answer has no text.
            TypeError: the prompt is not a text.
            UsageError: the client does not know a parameter, or there is no key.
            MiniwobError: any other that the transport raises.
        """
        completion = self.chat(messages_of_text(prompt), purpose)
        if completion.refusal:
            refusal = repr(shorten(completion.refusal))
            error = ModelError(f"answered with no text: the model refused, {refusal}")
            raise self._failed(purpose, str(error), error)
        if completion.tool_calls and not completion.text:
            reason = "answered with no text: the model calls a tool, and the agent offers none"
            raise self._failed(purpose, reason, ModelError(reason))
        return completion

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
        """Send a conversation, in the Chat Completions form.

        Args:
            messages: mappings such as `{"role": "user", "content": "..."}`, or openai's own types.
            purpose: what the call is for.
            tools: the functions that the model may call.
            tool_choice: which of them it must call, in the server's words.
            response_format: the form of the answer, such as `{"type": "json_object"}`.
            params: further parameters, which replace those of the option.

        Raises:
            ModelError: the server can't be reached or refuses the call, or its answer says nothing.
            TypeError: the messages are not a list of messages.
            UsageError: the client does not know a parameter.
            MiniwobError: any other that the transport raises.
        """
        given = {"tools": tools, "tool_choice": tool_choice, "response_format": response_format}
        params |= {name: value for name, value in given.items() if value is not None}
        if params.get("stream"):
            raise TypeError("llm.chat gives whole answers: llm.client streams them")
        plain: Any = plain_messages(messages)
        with self._errors(purpose):
            answer = self._client.chat.completions.with_raw_response.create(
                model=self.model, messages=plain, **{**self._params, **params}
            )
        return self._completion(answer.content, purpose)

    def _completion(self, content: bytes, purpose: str) -> Completion:
        """Return what an answer says; that of a transport of one's own may be anything."""
        api = api_of(CHAT)
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, Mapping) or not api.is_answer(answer):
            unusable = ModelError("answered with no chat completion that has a text")
            raise self._failed(purpose, str(unusable), unusable)
        return api.completion(answer)

    def post(self, request: ModelRequest) -> ModelResponse:
        """Send a request of any API to the server, and return its answer as a whole.

        Raises:
            ModelError: the server can't be reached or refuses the call.
            UsageError: there is no key for the server.
            MiniwobError: any other that the transport raises.
        """
        purpose = request.path.removeprefix("/v1/")
        query = dict(parse_qsl(request.query)) | (self._params.get("extra_query") or {})
        options: Any = {"headers": self._headers(request), "params": query}
        if "timeout" in self._params:
            options["timeout"] = self._params["timeout"]
        client = self._client
        if self.live and not self._keys.is_openai(request.path):
            client = client.with_options(api_key="none")  # the key of the API is in the headers
        with self._errors(purpose):
            answer = client.post(
                self._keys.url_of(request.path),
                cast_to=httpx2.Response,
                body=dict(request.body),
                options=options,
            )
            kind = answer.headers.get("content-type", "application/json")
            return ModelResponse(answer.content, kind, answer.status_code)

    def _headers(self, request: ModelRequest) -> dict[str, Any]:
        """Return the headers of a request as they are sent on: with the key of the environment."""
        headers: dict[str, Any] = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in _OWN_HEADERS
        }
        headers |= self._params.get("extra_headers") or {}
        return headers | (self._keys.headers(request.path) if self.live else {})

    @contextmanager
    def _errors(self, purpose: str) -> Iterator[None]:
        """Turn the errors of a call into those of this package."""
        try:
            yield
        except ModelError as error:
            raise self._failed(purpose, str(error), error) from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, MiniwobError):
                raise error.__cause__ from None
            cause = error.__cause__ or error
            raise self._failed(
                purpose, f"can't be reached: {cause}{advice_on_connection(cause)}", cause
            ) from None
        except openai.APIStatusError as error:
            advice = advice_on_refusal(error, self.model, self._params)
            reason = f"refused the call: {sanitize_line(error)}" + (f"; {advice}" if advice else "")
            raise self._failed(purpose, reason, error) from None
        except TypeError as error:
            unknown = "unexpected keyword" in str(error)
            hint = (
                '; put a parameter that only this server knows into "extra_body"' if unknown else ""
            )
            reason = redact(str(error), self._sent_only)
            raise UsageError(f"{OPTION}: {reason}{hint}") from None
        except (openai.OpenAIError, ValueError) as error:
            raise self._failed(purpose, f"gave no completion: {error}", error) from None

    def _failed(self, purpose: str, reason: str, cause: BaseException) -> ModelError:
        """An error without keys, even if the server's message contains one."""
        server = shown_url(str(self._client.base_url))
        text = f"{purpose} call: {server} {redact(reason, self._sent_only)}"
        return model_error(text, cause)
