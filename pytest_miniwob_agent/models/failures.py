"""Failed calls: those that every call of the run would fail like, and advice on each.

A wrong key, a parameter that the model refuses, or a server that is not there fails all items
alike, so a run stops at the first such error and does not wait for further attempts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import openai

from pytest_miniwob_agent.core.errors import ModelError, PermanentError
from pytest_miniwob_agent.models.http import httpx
from pytest_miniwob_agent.models.params import OPTION

_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
"""Codes of refusals that last until somebody pays, though their status is that of a rate limit."""


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


def advice_on_refusal(error: openai.APIStatusError, model: str, params: Mapping[str, Any]) -> str:
    """Return the option that helps against a server's refusal; an empty text if none is known.

    Servers name a parameter in the field `param` of their error (OpenAI's form), or only in words.
    """
    if error.status_code == 401:
        return "the key is taken from OPENAI_API_KEY"
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
    """Return True if a refusal has this name as a word."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", f"{error} {error.body}") is not None
