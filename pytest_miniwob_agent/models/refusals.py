"""Advice on calls that a server refuses: the option that helps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import openai

from pytest_miniwob_agent.models.params import OPTION


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
    extra = params.get("extra_body")
    given = {**params, **(extra if isinstance(extra, Mapping) else {})}
    named = re.match(r"\w*", str(error.param or ""))[0]  # type: ignore[index]
    if not named:
        named = next((name for name in given if _says(error, name)), "")
    if named in given:
        instead = re.search(r"[Uu]se [`'\"](\w+)[`'\"] instead", str(error))
        if instead:
            return f"name it {instead[1]} in {OPTION}"
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
