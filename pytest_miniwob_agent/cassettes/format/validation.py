"""The checks of a cassette's YAML, after it was parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from pytest_miniwob_agent.models.apis import CHAT
from pytest_miniwob_agent.models.apis.recorded import is_answer

SCHEMA = 1
"""The schema of cassettes."""

_ORIGIN_FIELDS = {
    "purpose": str, "trial": int, "step": int, "prompts": dict, "actions": str, "page": str,
}  # fmt: skip


class InvalidCassette(ValueError):
    """A part of a cassette is missing or has the wrong form.

    Args:
        problem: the error, for people.
        keys: the keys and list indexes that lead to the part.
    """

    def __init__(self, problem: str, *keys: str | int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.keys = keys


def check_cassette(data: Any) -> None:
    """Check that parsed YAML is a cassette of this package.

    Raises:
        InvalidCassette: it is not.
    """
    if not isinstance(data, dict) or not isinstance(data.get("interactions"), list):
        raise InvalidCassette("it has no list of interactions")
    for key, expected in (("version", 1), ("schema", SCHEMA)):
        if data.get(key) != expected:
            raise InvalidCassette(f"its {key} is {data.get(key)!r} instead of {expected}", key)
    if not data["interactions"]:
        raise InvalidCassette("it holds no calls", "interactions")
    for index, interaction in enumerate(data["interactions"]):
        _check_interaction(interaction, f"call {index + 1}", ("interactions", index))


def _check_interaction(interaction: Any, call: str, keys: tuple[str | int, ...]) -> None:
    if not isinstance(interaction, dict):
        raise InvalidCassette(f"{call} must be a mapping", *keys)
    request, response = interaction.get("request"), interaction.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        raise InvalidCassette(f"{call} lacks its request or its response", *keys)
    path, body = request.get("uri"), request.get("body")
    if not isinstance(path, str) or not isinstance(body, dict):
        raise InvalidCassette(f"the request of {call} has no uri or no body", *keys, "request")
    problem = ""
    where: tuple[str, ...] = ("request", "body")
    if path == CHAT and not _is_list_of(body.get("messages"), dict):
        problem = f"the request of {call} has no chat messages"
    elif not is_answer(path, response.get("body")):
        problem, where = f"the response of {call} is not an answer of a model", ("response", "body")
    elif not _is_origin(interaction.get("call", {})):
        problem, where = f"the origin of {call} is not valid", ("call",)
    if problem:
        raise InvalidCassette(problem, *keys, *where)


def _is_origin(data: Any) -> bool:
    if not isinstance(data, dict) or not _is_list_of(data.get("normalized", []), str):
        return False
    fields = data.keys() - {"normalized"}
    return (not fields or fields == _ORIGIN_FIELDS.keys()) and all(
        isinstance(data[name], _ORIGIN_FIELDS[name]) for name in fields
    )


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(part, kind) for part in value)


def line_of(text: str, keys: Sequence[str | int]) -> int | None:
    """Return the line, from 1 up, of the part that the keys lead to.

    If a key is missing, it is the line of the last part that was found; None if there is none.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = None
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            pairs = [(k, value) for k, value in node.value if k.value == key]
            if not pairs:
                break
            line, node = pairs[0][0].start_mark.line + 1, pairs[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
            line = node.start_mark.line + 1
    return line


def line_at(text: str, position: int) -> int:
    """Return the line, from 1 up, of a position in a text."""
    return text.count("\n", 0, position) + 1
