"""One chat call through the `openai` client, to any server that speaks its protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2
import openai

from pytest_miniwob_agent.core.errors import MiniwobError, ModelError, UsageError
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.core.usage import token_count
from pytest_miniwob_agent.models.params import OPTION, sent_only_texts, shown_url, split_url
from pytest_miniwob_agent.models.permanent import advice_on_connection, model_error
from pytest_miniwob_agent.models.refusals import advice_on_refusal

RETRIES = 5
"""Default number of retries of a refused or dropped call; enough for a minute of rate limits."""


def api_key(base_url: str | None, option: str) -> str:
    """The key in `OPENAI_API_KEY`, or "none" for your own server, which may not need one.

    Args:
        base_url: the server, if the caller names one.
        option: the option that names a server, for the message.

    Raises:
        UsageError: there is no key, and the server is OpenAI's.
    """
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not (base_url or os.environ.get("OPENAI_BASE_URL")):
        raise UsageError(
            "calling a model needs OPENAI_API_KEY in the environment, or a server of your own "
            f"named by OPENAI_BASE_URL or {option}"
        )
    return key or "none"


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
    """A model behind an OpenAI-compatible chat completions server.

    Args:
        model: the model's id.
        params: further parameters of every request, such as `temperature`.
        base_url: the server; None leaves it to `OPENAI_BASE_URL` or the client's default.
        transport: carries the requests, for instance `cassettes.item.CassetteTransport`.
        live: True if calls may reach a server; otherwise no key is needed and nothing is retried.
        retries: number of times to send a refused or dropped call again, with the client's own
            back-off.

    Raises:
        UsageError: the model is live on OpenAI's server, and there is no `OPENAI_API_KEY`.
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
    ) -> None:
        self.model = model
        self._params = dict(params)
        address = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._sent_only = sent_only_texts(params, address)
        server, query = split_url(address)
        self._client = openai.OpenAI(
            api_key=api_key(base_url, "--miniwob-base-url") if live else "none",
            base_url=server,
            default_query=query,
            max_retries=retries if live else 0,
            http_client=openai.DefaultHttpxClient(transport=transport) if transport else None,
        )

    def complete(self, prompt: str, purpose: str) -> Completion:
        """Send the prompt as the only message.

        Raises:
            ModelError: the server can't be reached, refuses the call, or its answer has no text.
            UsageError: the client does not know a parameter.
            MiniwobError: any other that the transport raises.
        """
        try:
            answer = self._client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": prompt}],
                **self._params,
            )
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
        try:
            text = answer.choices[0].message.content
        except (AttributeError, IndexError, TypeError):  # the client does not check what it reads
            text = None
        if not isinstance(text, str):
            unusable = ModelError("answered with no chat completion that has a text")
            raise self._failed(purpose, str(unusable), unusable)
        return Completion(
            text,
            _count(answer, "prompt_tokens"),
            _count(answer, "completion_tokens"),
            _name(answer, "model"),
            _name(answer, "system_fingerprint"),
        )

    def _failed(self, purpose: str, reason: str, cause: BaseException) -> ModelError:
        """An error without keys, even if the server's message contains one."""
        server = shown_url(str(self._client.base_url))
        text = f"{purpose} call: {server} {redact(reason, self._sent_only)}"
        return model_error(text, cause)


def _count(answer: Any, name: str) -> int | None:
    """A token count, or None where the server reports none, or not as a number."""
    return token_count(getattr(getattr(answer, "usage", None), name, None))


def _name(answer: Any, field: str) -> str | None:
    """A name that the server gives itself, or None where it gives none, or not as a text."""
    name = getattr(answer, field, None)
    return name if isinstance(name, str) and name else None
