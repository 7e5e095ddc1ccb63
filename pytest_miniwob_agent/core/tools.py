"""Actions as tools of a language model: their JSON schemas, and the reading of its calls.

A tool has the name of its action in snake case (`DoubleClick` is `double_click`), and the fields of
the action as arguments. What a schema says is what is checked: both come from one table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import MISSING, fields, replace
from typing import Any, get_args

from pytest_miniwob_agent.core.actions import (
    KEYS,
    MAX_PIXELS,
    MAX_POINTS,
    MAX_PRESSES,
    MAX_SECONDS,
    MAX_TEXT,
    MODIFIERS,
    Action,
    Choose,
    Click,
    ClickAt,
    Copy,
    DoubleClick,
    Drag,
    DragFrom,
    Enter,
    Follow,
    Hold,
    Hover,
    HoverAt,
    Paste,
    Press,
    Release,
    Scroll,
    Select,
    Type,
    Wait,
)
from pytest_miniwob_agent.core.observations import Transition

MAX_ARGUMENTS = 50_000
"""The longest arguments that are read, in characters of JSON."""

MAX_DEPTH = 20
"""The deepest nesting that is read: how much more Python can read differs between its versions."""


class BadCall(ValueError):
    """A tool call that can't be carried out; the text says why, for the model that made it."""


Schema = Mapping[str, Any]
"""A JSON schema of the few forms that `_read` knows."""

_ELEMENT: Schema = {"type": "integer", "minimum": 1, "maximum": 999_999_999}
_TEXT: Schema = {"type": "string", "maxLength": MAX_TEXT}
_PIXEL: Schema = {"type": "number", "minimum": -MAX_PIXELS, "maximum": MAX_PIXELS}
_PAIR: Schema = {"type": "array", "items": _PIXEL, "minItems": 2, "maxItems": 2}
_POINTS: Schema = {"type": "array", "items": _PAIR, "minItems": 2, "maxItems": MAX_POINTS}
_PIXELS: Schema = {**_PIXEL, "type": "integer"}
_TIMES: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_PRESSES}
_SECONDS: Schema = {"type": "number", "minimum": 0.001, "maximum": MAX_SECONDS}
_KEY: Schema = {"type": "string", "enum": list(KEYS)}
_MODIFIER: Schema = {"type": "string", "enum": list(MODIFIERS)}


def _field(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


_ID = _field(_ELEMENT, "id of the element")
_AT = _field(
    _PAIR,
    "a place in the element instead of its middle: pixels to the right of its top left corner, "
    "and pixels below it",
)
_POINT = _field(
    _PAIR, "pixels to the right of the window's top left corner, and pixels below that corner"
)

_TOOLS: Mapping[type[Action], tuple[str, Mapping[str, Schema]]] = {
    Click: ("Click an element.", {"element": _ID, "at": _AT}),
    Enter: (
        "Click a field and type a text into it. The text is added to what the field holds.",
        {"text": _field(_TEXT, "the text to type"), "element": _field(_ELEMENT, "id of the field")},
    ),
    Press: (
        "Press and release a key. Keys go to the field or list that was used last; in a drop-down "
        "list the arrow keys move to an entry, and ENTER takes it.",
        {"key": _KEY, "times": _field(_TIMES, "how many times; once if left out")},
    ),
    Hold: (
        "Press a modifier key and keep it down until it is released. To select several entries of "
        "a list, hold CTRL, click each of them, and release CTRL.",
        {"key": _MODIFIER},
    ),
    Release: ("Release a modifier key that is held.", {"key": _MODIFIER}),
    Type: (
        "Type a text into the field that was used last.",
        {"text": _field(_TEXT, "the text to type")},
    ),
    DoubleClick: ("Click an element twice at once.", {"element": _ID, "at": _AT}),
    Hover: (
        "Move the mouse onto an element and leave it there.",
        {"element": _ID, "at": _AT},
    ),
    Drag: (
        "Press the mouse on an element, move it, and release it. Give `to`, to move it to another "
        "element, or `end` alone, to move it by a number of pixels.",
        {
            "element": _field(_ELEMENT, "id of the element where the mouse is pressed"),
            "to": _field(_ELEMENT, "id of the element where the mouse is released"),
            "at": _AT,
            "end": _field(
                _PAIR,
                "with `to`, a place in that element instead of its middle; without `to`, the way: "
                "pixels to the right, and pixels down (left and up are negative)",
            ),
        },
    ),
    Select: (
        "Select the text of an element, or a part of it.",
        {"element": _ID, "text": _field(_TEXT, "the part; the whole text if left out")},
    ),
    Scroll: (
        "Turn the mouse wheel over an element.",
        {
            "element": _ID,
            "pixels": _field(_PIXELS, "how far: down if positive, up if negative"),
        },
    ),
    Choose: (
        "Choose an entry of a drop-down list, which need not be open.",
        {
            "option": _field(_TEXT, "the text of the entry"),
            "element": _field(_ELEMENT, "id of the drop-down list"),
        },
    ),
    Copy: ("Copy the selected text.", {}),
    Paste: ("Paste the copied text into the field that was used last.", {}),
    ClickAt: ("Click a point of the window.", {"point": _POINT}),
    HoverAt: ("Move the mouse to a point of the window and leave it there.", {"point": _POINT}),
    DragFrom: (
        "Press the mouse at the first point, move it along the others, and release it at the last.",
        {
            "points": _field(
                _POINTS,
                "points of the window, each as pixels to the right of its top left corner and "
                "pixels below that corner",
            )
        },
    ),
    Wait: ("Let time pass on the page.", {"seconds": _SECONDS}),
    Follow: (
        "Keep the mouse on an element that moves, while time passes on the page.",
        {"element": _ID, "seconds": _SECONDS},
    ),
}
"""Description and arguments of the tool of each action. Models read these texts."""


def tool_name(action_type: type[Action]) -> str:
    """The name of an action's tool: `double_click` for `DoubleClick`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", action_type.__name__).lower()


_BY_NAME: Mapping[str, type[Action]] = {tool_name(each): each for each in _TOOLS}


def tools_of(actions: Iterable[type[Action]] | Any) -> list[dict[str, Any]]:
    """Return the tool definitions of actions, in the form of the Chat Completions API.

    Args:
        actions: types of actions, as `[Click, Enter]`, or a union of them: `Action` for all.

    Raises:
        TypeError: one of them is not a type of action.
    """
    action_types = get_args(actions) or tuple(actions)
    for each in action_types:
        if each not in _TOOLS:
            raise TypeError(f"tools_of() takes types of actions such as Click, not {each!r}")
    return [_tool(each) for each in dict.fromkeys(action_types)]


def action_of_call(name: str, arguments: str | Mapping[str, Any]) -> Action:
    """Return the action of a tool call.

    Args:
        name: the tool's name.
        arguments: the arguments, or their JSON text, which may be blank where there are none. A
            null counts as left out where an argument may be left out.

    Raises:
        BadCall: there is no such tool, or the arguments do not keep to its schema.
    """
    action_type = _BY_NAME.get(name) if isinstance(name, str) else None
    if action_type is None:
        raise BadCall(f"there is no tool {_shown(name)}; the tools are {', '.join(_BY_NAME)}")
    given = parse_arguments(arguments)
    schemas = _TOOLS[action_type][1]
    for key in given:
        if key not in schemas:
            known = f"its arguments are {', '.join(schemas)}" if schemas else "it takes none"
            raise BadCall(f"{name} has no argument {_shown(key)}; {known}")
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
    """Carry out a tool call as `Environment.call` does.

    Args:
        name: the tool's name.
        arguments: its arguments, or their JSON text.
        last: the last transition of the trial, None before the first `reset`.
        step: carries out the action.

    Raises:
        RuntimeError: there is no page yet.
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


def _tool(action_type: type[Action]) -> dict[str, Any]:
    description, schemas = _TOOLS[action_type]
    parameters = {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in schemas.items()},
        "required": _required(action_type),
        "additionalProperties": False,
    }
    function = {
        "name": tool_name(action_type),
        "description": description,
        "parameters": parameters,
    }
    return deepcopy({"type": "function", "function": function})


def _required(action_type: type[Action]) -> list[str]:
    return [each.name for each in fields(action_type) if each.default is MISSING]


def parse_arguments(arguments: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call, whatever tool it is for. A blank text stands for none.

    The errors have texts of our own, because Python's differ between its versions.

    Raises:
        BadCall: they are not a JSON object, or too long or too deep.
    """
    given = _parsed(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(given, Mapping):
        raise BadCall(f"the arguments must be a JSON object, not {_shown(given)}")
    return given


def _parsed(text: str) -> Any:
    if len(text) > MAX_ARGUMENTS:
        raise BadCall(
            f"the arguments have {len(text):,} characters; there may be {MAX_ARGUMENTS:,}"
        )
    depth = 0
    for sign in re.findall(r'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', text, re.DOTALL):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(sign, 0)
        if depth > MAX_DEPTH:
            raise BadCall("the arguments are nested too deeply")
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:  # also a number of thousands of digits
        raise BadCall("the arguments are not valid JSON") from None


def _read(value: Any, schema: Schema, name: str) -> Any:
    """Return a value that keeps to a schema, with tuples for lists.

    Raises:
        BadCall: it does not keep to the schema, or is a text that can't be written down.
    """
    kind = schema["type"]
    if kind == "array" and isinstance(value, list | tuple):
        if schema["minItems"] <= len(value) <= schema["maxItems"]:
            return tuple(_read(each, schema["items"], name) for each in value)
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
    """The values that a schema allows, in words."""
    match schema:
        case {"type": "array", "items": {"type": "array"}, "minItems": least, "maxItems": most}:
            return f"a list of {least} to {most} points, each a list of 2 numbers"
        case {"type": "array", "items": items}:
            return f"a list of 2 numbers, each {_wanted(items)}"
        case {"enum": names}:
            return f"one of {', '.join(names)}"
        case {"maxLength": most}:
            return f"a text of up to {most:,} characters"
    kind = "an integer" if schema["type"] == "integer" else "a number"
    return f"{kind} from {schema['minimum']:,} to {schema['maximum']:,}"


def _shown(value: Any) -> str:
    """A value of any kind in a few words, without a sign that can't be sent."""
    match value:
        case None | True | False:
            return json.dumps(value)
        case str() if len(value) > 60:
            return f"a text of {len(value):,} characters that begins with {value[:40]!a}"
        case str():
            return ascii(value)
        case int() | float() if -1e15 < value < 1e15:
            return f"{value:.15g}"
        case float() if value != value:
            return "NaN"
        case int() | float():
            return "a number that is far too large or too small"
        case list() | tuple():
            return f"a list of {len(value):,}"
        case Mapping():
            return "an object"
    return "something that is not JSON"
