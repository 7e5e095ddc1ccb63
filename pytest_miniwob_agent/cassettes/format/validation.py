"""The checks of a cassette's YAML, after it was parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from pytest_miniwob_agent.models.apis import CHAT
from pytest_miniwob_agent.models.apis.recorded import is_answer

SCHEMA = 1
"""The schema of cassettes of texts; older files lack the key and the origins of their calls."""

OTHER_CALLS = 2
"""The schema of cassettes with other calls: tools, other APIs, streams, normalized requests."""

WITH_PICTURES = 3
"""The schema of cassettes that refer to pictures, which earlier versions do not know."""

SCHEMAS = (SCHEMA, OTHER_CALLS, WITH_PICTURES)

_ORIGIN_FIELDS = {
    "purpose": str,
    "trial": int,
    "step": int,
    "prompts": dict,
    "actions": str,
    "page": str,
}


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
    if data.get("version") != 1:
        raise InvalidCassette(
            f"vcrpy cassettes have version 1, not {data.get('version')!r}", "version"
        )
    if data.get("schema", SCHEMA) not in SCHEMAS:
        raise InvalidCassette(
            f"its schema is {data['schema']!r}, but this version of pytest-miniwob-agent reads "
            f"{SCHEMA} to {SCHEMAS[-1]}",
            "schema",
        )
    if not data["interactions"]:
        raise InvalidCassette("it holds no calls", "interactions")
    for index, interaction in enumerate(data["interactions"]):
        _check_interaction(interaction, index)


def _check_interaction(interaction: Any, index: int) -> None:
    call = f"call {index + 1}"
    keys = ("interactions", index)
    if not isinstance(interaction, dict):
        raise InvalidCassette(f"{call} must be a mapping", *keys)
    request, response = interaction.get("request"), interaction.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        raise InvalidCassette(f"{call} lacks its request or its response", *keys)
    path, body = request.get("uri", CHAT), request.get("body")
    if not isinstance(path, str):
        raise InvalidCassette(f"the path of {call} is not a text", *keys, "request", "uri")
    messages = body.get("messages") if isinstance(body, dict) else None
    if path == CHAT and not (
        isinstance(messages, list) and all(isinstance(each, dict) for each in messages)
    ):
        raise InvalidCassette(
            f"the request of {call} has no chat messages", *keys, "request", "body"
        )
    if not isinstance(body, dict):
        raise InvalidCassette(f"the request of {call} has no body", *keys, "request")
    if not is_answer(path, response.get("body")):
        raise InvalidCassette(
            f"the response of {call} is not an answer of a model", *keys, "response", "body"
        )
    if "call" in interaction and not _is_origin(interaction["call"]):
        raise InvalidCassette(f"the origin of {call} is not valid", *keys, "call")


def is_text_answer(answer: Any) -> bool:
    """Return True for a chat completion whose first choice is a text and nothing else."""
    try:
        message = answer["choices"][0]["message"]
        return isinstance(message["content"], str) and not message.get("tool_calls")
    except (KeyError, IndexError, TypeError, AttributeError):
        return False


def _is_origin(data: Any) -> bool:
    if isinstance(data, dict) and isinstance(normalized := data.get("normalized"), list):
        data = {name: value for name, value in data.items() if name != "normalized"}
        if not all(isinstance(each, str) for each in normalized):
            return False
    return (
        isinstance(data, dict)
        and (data.keys() == _ORIGIN_FIELDS.keys() or not data)
        and all(isinstance(data[name], _ORIGIN_FIELDS[name]) for name in data)
    )


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
