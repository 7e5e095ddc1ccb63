"""Actions as tools of a language model: their JSON schemas, and the reading of its calls.

A tool has the name of its action in snake case (`DoubleClick` is `double_click`), and the fields of
the action as arguments; see `actions`. Calls are checked against the schema that the model was
given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import MISSING, fields, replace
from typing import Any, get_args, get_type_hints

from pytest_miniwob_agent.core.actions import Action, DialogAction, Schema, Upload
from pytest_miniwob_agent.core.observations import Transition


class BadCall(ValueError):
    """A tool call that can't be carried out; the text says why, for the model that made it."""


_BY_NAME: Mapping[str, type[Action]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", action_type.__name__).lower(): action_type
    for action_type in get_args(Action)
}

_USUAL = [one for one in get_args(Action) if one not in (*get_args(DialogAction), Upload)]
"""The actions that are possible on any page."""

_SCHEMAS: Mapping[type[Action], Mapping[str, Schema]] = {
    action_type: {
        name: {**schema, **({"description": description[0]} if description else {})}
        for name, hint in get_type_hints(action_type, include_extras=True).items()
        for schema, *description in [hint.__metadata__]
    }
    for action_type in get_args(Action)
}
"""The schemas of each action's arguments, from the annotations of its fields."""


def tools_of(actions: Iterable[type[Action]] | Any) -> list[dict[str, Any]]:
    """Return the tool definitions of actions, in the form of the Chat Completions API.

    Args:
        actions: types of actions, as `[Click, Enter]`, or a union of them: `Action` for all but
            `Upload` and answers to dialogs, `DialogAction` for those.

    Raises:
        TypeError: one of them is not a type of action.
    """
    names = {action_type: name for name, action_type in _BY_NAME.items()}
    tools = []
    wanted = _USUAL if actions == Action else get_args(actions) or actions
    for action_type in dict.fromkeys(wanted):
        if action_type not in names:
            raise TypeError(f"tools_of() takes types of actions such as Click, not {action_type!r}")
        parameters = {
            "type": "object",
            "properties": deepcopy(_SCHEMAS[action_type]),
            "required": _required(action_type),
            "additionalProperties": False,
        }
        description = " ".join((action_type.__doc__ or "").split())
        function = {"name": names[action_type], "description": description}
        tools.append({"type": "function", "function": function | {"parameters": parameters}})
    return tools


def _names(action_types: Iterable[type[Action]]) -> str:
    return ", ".join(name for name, one in _BY_NAME.items() if one in action_types)


def _required(action_type: type[Action]) -> list[str]:
    return [field.name for field in fields(action_type) if field.default is MISSING]


def action_of_call(name: str, arguments: str | Mapping[str, Any]) -> Action:
    """Return the action of a tool call.

    The arguments, or their JSON text, may be blank where there are none. A null counts as left out
    where an argument may be left out.

    Raises:
        BadCall: there is no such tool, or the arguments do not keep to its schema.
    """
    action_type = _BY_NAME.get(name) if isinstance(name, str) else None
    if action_type is None:
        raise BadCall(f"there is no tool {_shown(name)}; the tools are {_names(_USUAL)}")
    given = parse_arguments(arguments)
    schemas = _SCHEMAS[action_type]
    for key in given:
        if key not in schemas:
            known = ", ".join(schemas) or "none"
            raise BadCall(f"{name} has no argument {_shown(key)}; its arguments are: {known}")
    required = _required(action_type)
    values = {}
    for key, schema in schemas.items():
        if key in required and key not in given:
            raise BadCall(f"{name} lacks its argument {key}: {_wanted(schema)}")
        if key in required or given.get(key) is not None:
            values[key] = _read(given[key], schema, key)
    return action_type(**values)


def carry_out_call(
    name: str,
    arguments: str | Mapping[str, Any],
    last: Transition | None,
    step: Callable[[Action], Transition],
) -> Transition:
    """Carry out a tool call as `Environment.call` does, an action by `step`.

    `last` is the last transition of the trial, None before the first `reset`.
    """
    if last is None:
        raise RuntimeError("the agent must reset() the environment before its first call()")
    if last.done:
        return replace(last, error="the page has judged this trial: nothing more can be done in it")
    try:
        action = action_of_call(name, arguments)
    except BadCall as error:
        return Transition(last.observation, error=str(error))
    return step(action)


def parse_arguments(arguments: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call, whatever tool it is for. A blank text stands for none.

    Raises:
        BadCall: they are not a JSON object.
    """
    given: Any = arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):  # Python's own texts differ between its versions
            raise BadCall("the arguments are not valid JSON") from None
    if not isinstance(given, Mapping):
        raise BadCall(f"the arguments must be a JSON object, not {_shown(given)}")
    return given


def _read(value: Any, schema: Schema, name: str) -> Any:
    """Return a value that keeps to a schema, with tuples for lists; a `BadCall` if it does not."""
    kind = schema["type"]
    if kind == "array" and isinstance(value, list | tuple):
        if schema["minItems"] <= len(value) <= schema["maxItems"]:
            return tuple(_read(item, schema["items"], name) for item in value)
    elif kind == "string" and isinstance(value, str):
        if re.search("[\ud800-\udfff]", value):
            raise BadCall(f"{name} has half of a surrogate pair, which is not a character")
        if value in schema["enum"] if "enum" in schema else len(value) <= schema["maxLength"]:
            return value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        whole = kind == "integer"
        fits = kind in ("integer", "number") and schema["minimum"] <= value <= schema["maximum"]
        if fits and not (whole and value != int(value)):
            return int(value) if whole else value
    raise BadCall(f"{name} must be {_wanted(schema)}, not {_shown(value)}")


def _wanted(schema: Schema) -> str:
    """The values that a schema allows, as the model knows it."""
    return json.dumps({key: part for key, part in schema.items() if key != "description"})


def _shown(value: Any) -> str:
    """A value as JSON, shortened."""
    try:
        shown = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return "something that is not JSON"
    return shown if len(shown) <= 60 else f"{shown[:60]}..."
