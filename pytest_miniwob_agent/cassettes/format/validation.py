"""The checks of a cassette's YAML, after it was parsed."""

from __future__ import annotations

from typing import Any

import yaml

from pytest_miniwob_agent.models.apis import CHAT, is_answer

SCHEMA = 1
"""The schema of cassettes."""

_ORIGIN_FIELDS = {
    "purpose": str, "trial": int, "step": int, "prompts": dict, "actions": str, "page": str,
}  # fmt: skip


class InvalidCassette(ValueError):
    """The data is not a cassette; `call` is the index of the call that is damaged, if one is."""

    def __init__(self, problem: str, call: int | None = None) -> None:
        super().__init__(problem)
        self.call = call


def check_cassette(data: Any) -> None:
    """Check that parsed YAML is a cassette of this package.

    Raises:
        InvalidCassette: it is not.
    """
    if not isinstance(data, dict) or not isinstance(data.get("interactions"), list):
        raise InvalidCassette("it has no list of interactions")
    for key, expected in (("version", 1), ("schema", SCHEMA)):
        if data.get(key) != expected:
            raise InvalidCassette(f"its {key} is {data.get(key)!r} instead of {expected}")
    if not data["interactions"]:
        raise InvalidCassette("it holds no calls")
    for index, interaction in enumerate(data["interactions"]):
        if problem := _problem_of(interaction):
            raise InvalidCassette(f"call {index + 1} {problem}", index)


def _problem_of(interaction: Any) -> str:
    if not isinstance(interaction, dict):
        return "is not a mapping"
    request, response = interaction.get("request"), interaction.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        return "lacks its request or its response"
    path, body = request.get("uri"), request.get("body")
    if not isinstance(path, str) or not isinstance(body, dict):
        return "has no uri or no body of its request"
    if path == CHAT and not _is_list_of(body.get("messages"), dict):
        return "has no chat messages"
    if not is_answer(path, response.get("body")):
        return "has a response that is not an answer of a model"
    return "" if _is_origin(interaction.get("call", {})) else "has no valid origin"


def _is_origin(data: Any) -> bool:
    if not isinstance(data, dict) or not _is_list_of(data.get("normalized", []), str):
        return False
    fields = data.keys() - {"normalized"}
    return (not fields or fields == _ORIGIN_FIELDS.keys()) and all(
        isinstance(data[name], _ORIGIN_FIELDS[name]) for name in fields
    )


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(part, kind) for part in value)


def line_of_call(text: str, index: int) -> int:
    """Return the line, from 1 up, where a call begins in the text of a cassette."""
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    calls = next(value for key, value in node.value if key.value == "interactions")
    return int(calls.value[index].start_mark.line) + 1
