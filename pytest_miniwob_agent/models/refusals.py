"""Advice on calls that a server refuses: the option that helps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import openai

from pytest_miniwob_agent.models.params import OPTION, option_with


def advice_on_refusal(error: openai.APIStatusError, model: str, params: Mapping[str, Any]) -> str:
    """Return the option that helps against a server's refusal; an empty text if none is known.

    Servers name a parameter in the field `param` of their error (OpenAI's form), or only in words.

    Args:
        error: the refusal.
        model: the model that was asked for.
        params: the parameters that were given by the option.
    """
    if error.status_code == 401:
        return "the key is taken from OPENAI_API_KEY"
    if error.status_code not in (400, 404, 422):
        return ""
    given = {**params, **_extra_body(params)}
    named = re.match(r"\w*", str(error.param or ""))[0]  # type: ignore[index]
    if not named:
        named = next((name for name in given if _says(error, name)), "")
    if named in given:
        return _advice_on_given(named, error, params)
    if named == "model" or error.code == "model_not_found" or _says(error, model):
        return "name another model with --miniwob-model"
    if named and named not in ("messages", "stream"):
        return f'give "{named}" with {OPTION}'
    if error.status_code == 404:
        return "check --miniwob-base-url: most servers' addresses end in /v1"
    return ""


def _advice_on_given(name: str, error: openai.APIStatusError, params: Mapping[str, Any]) -> str:
    """Advise to leave a parameter out, or to use the one that the server suggests instead."""
    others = {key: value for key, value in params.items() if key != name}
    if name not in params:
        extra = {key: value for key, value in _extra_body(params).items() if key != name}
        others = {**others, "extra_body": extra}
        if not extra:
            del others["extra_body"]
    instead = re.search(r"[Uu]se [`'\"](\w+)[`'\"] instead", str(error))
    if instead and name in params:
        return f"{option_with({**others, instead[1]: params[name]})} gives that one"
    return f"{option_with(others)} leaves {name} out"


def _extra_body(params: Mapping[str, Any]) -> dict[str, Any]:
    extra = params.get("extra_body")
    return dict(extra) if isinstance(extra, Mapping) else {}


def _says(error: openai.APIStatusError, name: str) -> bool:
    """Return True if a refusal has this name as a word."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", f"{error} {error.body}") is not None
