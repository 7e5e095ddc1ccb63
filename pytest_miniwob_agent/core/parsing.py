"""Actions as models write them: lines of text (`parse_action`), and calls of tools (`tools_of`).

The form of a line is that of `str(action)`, read leniently about case, numbering, code marks,
quotes and a final stop. The five actions of the reflective agent's paper are always read, the
others only for agents that ask for all actions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from typing import Any, get_args, get_type_hints

from pytest_miniwob_agent.core import actions
from pytest_miniwob_agent.core.actions import (
    KEYS,
    MODIFIERS,
    Action,
    Answer,
    DialogAction,
    InputAction,
    NavigationAction,
    Place,
    Schema,
    Upload,
    parse_keys,
)
from pytest_miniwob_agent.core.observations import Transition


class ParseError(Exception):
    """The text is not an action, or lacks more than its element."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line that was parsed: an action, or one that lacks its element.

    `line` is without bullets, numbers and code marks. `on` makes the action on the element with an
    id; `action` is None if the line does not name its element.
    """

    line: str
    on: Callable[[int], Action]
    action: Action | None = None


# Repetitions beside similar ones are possessive (`*+`) or bounded: otherwise a long reply could
# take minutes.
_QUOTES = str.maketrans("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019", '""""""\'\'')
_LEAD = re.compile(
    r"(?:[\s\-*\u2022>`#]|\(?\d+\s*[.):](?=\s)|(?:step|action)\s*\d+\s*[:.)-])+", re.I
)
_VERBS = r"click|enter|type|press|hold|release|answer(?=\s+[\"'])"
_ALL_VERBS = (
    rf"{_VERBS}|double|hover|drag|select|scroll|choose|copy|paste"
    r"|wait(?=(?:\s+for)?\s*+[.\d])|follow(?=.{0,99}\bid\b|.{0,99}#)"  # prose begins like them
    r"|(?:ctrl|control|shift|alt|meta|cmd)(?=\s*+\+)"
    r"|(?:right|middle|triple|long)(?=[ -](?:click|press)\b)"
    r"|go(?=\s+(?:back|forward)\W*$)|reload(?=\W*$)|close(?=\s+(?:the\s+)?tab\W*$)"
)
VERB = re.compile(rf"\b({_VERBS})\b", re.I)
ANY_VERB = re.compile(rf"\b({_ALL_VERBS})\b", re.I)
ID = re.compile(r"\bid(?:\s*+(?:[=:]|is)|\s)\s*+[\"'#]?(\d+)|#(\d+)\b", re.I)

# The rest of a line, after its verb.
_FIRST = re.compile(r"wait(?=\d)|double[ -]?click\b|[a-z]+\b", re.I)
_BARE_ID = re.compile(r"(?:\s+on)?\s+(\d+)\s*", re.I)
_QUOTED = re.compile(r"\s+(?:the\s+(?:text|option)\s+)?([\"'])(.*)\1(.*)", re.I)
_NAMED = re.compile(  # the quotes after the first pair are those of the element's name
    r"\s+(?:the\s+(?:text|option)\s+)?([\"'])((?:(?!\1).)*+)\1(\s+(?:(?:in)?to|in|on|from)\s.*)",
    re.I,
)
_UNQUOTED = re.compile(r"\s+(?:(?:all|whole|the|text|of|in)\s+)*((?:id\b|#).*)", re.I)
_KEY = re.compile(
    r"\s++(?:the\s++)?[\"']?([a-z_ ]{1,99}?)[\"']?(?:\s++keys?)?"
    r"(?:\s*+(?:[x\u00d7*]\s*+)?(\d++)(?:\s*+times)?)?",
    re.I,
)
_MODIFIER = re.compile(r"\s+(?:down\s+)?(?:the\s+)?[\"']?([a-z]+)[\"']?(?:\s+key)?", re.I)
_NUMBER = r"([+-]?\d+(?:\.\d+)?)(?:\s*px)?"
_PAIR = rf"\(?\s*+{_NUMBER}\s*+,\s*+{_NUMBER}"
_PAIRS = re.compile(_PAIR)
_AT = re.compile(rf"\bat\s++{_PAIR}", re.I)
_BY = re.compile(rf"\bby\s++{_PAIR}", re.I)
_POINT = re.compile(
    rf"\s*+(?:on\s++)?(?:at\s++)?(?:the\s++)?(?:point\s++|position\s++)?{_PAIR}\s*+\)?\s*+", re.I
)
_PATH = re.compile(rf"\s++(?:from\s++)?{_PAIR}\s*+\)?(?:\s*+\bto\s++{_PAIR}\s*+\)?)++\s*+", re.I)
_DRAG = re.compile(r"(.*?)(?:\b(?:in|on)?to\b(.*))?", re.I)
_SCROLL = re.compile(rf"(.*?)(?:\bby\s+)?{_NUMBER}(.*)", re.I)
_SELECTION = re.compile(r"(?:\s+(?:it|the\s+(?:\w+\s+)?(?:text|selection)))?", re.I)
_ACCEPT = re.compile(r"(?:\s+the\s+dialog)?(?:\s+with\s+([\"'])(.*)\1)?", re.I)
_HELD = r"((?:(?:ctrl|control|shift|alt|meta|cmd)\s*+\+\s*+)*+)"
_WITH = re.compile(
    rf"{_HELD}(?:(left|right|middle|double|triple)[ -])?"
    r"(click|scroll|press\s+and\s+hold|long[ -]press)\b(.*)",
    re.I,
)
_OFTEN = re.compile(r"(?:\bx|\u00d7|\*)\s*+(\d++)", re.I)
_KEYS = re.compile(
    r"\s++(?:the\s++)?[\"']?([^\s\"']++)[\"']?(?:\s++keys?)?(?:\s*+[x\u00d7*]\s*+(\d++))?", re.I
)
_NAVIGATION: Mapping[str, type[NavigationAction]] = {
    "go back": actions.GoBack, "go forward": actions.GoForward, "reload": actions.Reload,
    "reload the page": actions.Reload, "close tab": actions.CloseTab,
    "close the tab": actions.CloseTab,
}  # fmt: skip
_TIME = r"(\d{1,9}+(?:\.\d{1,9}+)?|\.\d{1,9}+)\s*+(ms|milliseconds?|s|secs?|seconds?)?\s*+"
_WAIT = re.compile(rf"\s*+(?:for\s++)?(?:about\s++)?{_TIME}", re.I)
_FOR = re.compile(rf"\bfor\s++{_TIME}", re.I)
_FOLLOW = re.compile(rf".*?(?:\bfor\s++)?{_TIME}", re.I)
_KEY_NAMES = {"RETURN": "ENTER", "ESC": "ESCAPE", "DEL": "DELETE", "SPACEBAR": "SPACE"} | {
    name: f"ARROW{way}"
    for way in ("UP", "DOWN", "LEFT", "RIGHT")
    for name in (way, f"{way}ARROW")
}  # fmt: skip


def parse_action(line: str, all_actions: bool = False) -> Command:
    """Parse one action, such as `1. click id=3`.

    With `all_actions`, those beyond the five of the reflective agent's paper are read, too.

    Raises:
        ParseError: the line is not an action, or lacks more than its element.
    """
    straight = line.translate(_QUOTES)
    before = line.partition('"')[0]
    if straight.startswith(before) and line.count('"') > 1:
        straight = line  # its text is in straight quotes, and other ones are part of it
    plain = strip_marks(straight).rstrip(" .,;!`*")
    if all_actions and (parsed := _parse_input(plain)):
        return _command(plain, *parsed)
    if first := _FIRST.match(plain):
        verb, rest = first[0].lower(), plain[first.end() :]
        further = _parse_further(verb, rest) if all_actions else None
        if parsed := further or _parse_paper(verb, rest):
            return _command(plain, *parsed)
    raise ParseError(f"not an action: {quote(line)}")


def quote(text: str) -> str:
    """Text in quotes on one line, cut after 200 characters."""
    # Not core.text.shorten(): it goes into prompts, whose recorded text must not change.
    text = " ".join(text.split())
    return repr(text if len(text) <= 200 else text[:200] + "...")


# An action and None, or what makes it of its element and the match of the element's id.
_Parsed = tuple[Action | Callable[[int], Action], re.Match[str] | None] | None


def _parse_paper(verb: str, rest: str) -> _Parsed:
    match verb:
        case "click" if not rest or rest.startswith(" "):
            return actions.Click, ID.search(rest) or _BARE_ID.fullmatch(rest)
        case "enter" | "type" if match := _quoted(rest):
            return partial(actions.Enter, match[2]), ID.search(match[3])
        case "press" if match := _KEY.fullmatch(rest):
            key = re.sub(r"[\s_]", "", match[1]).upper()
            key = _KEY_NAMES.get(key, key)
            times = _integer(match[2] or "1")
            return (actions.Press(key, times), None) if key in KEYS else None
        case "hold" | "release" if match := _MODIFIER.fullmatch(rest):
            key = match[1].upper().replace("CONTROL", "CTRL")
            action = actions.Hold if verb == "hold" else actions.Release
            return (action(key), None) if key in MODIFIERS else None
        case "answer" if match := _QUOTED.match(rest):
            return actions.Answer(match[2]), None
    return None


def _quoted(rest: str) -> re.Match[str] | None:
    whole = _QUOTED.match(rest)
    return whole if whole and ID.search(whole[3]) else _NAMED.match(rest) or whole


def _parse_further(verb: str, rest: str) -> _Parsed:
    where, at = ID.search(rest), _place(_AT, rest)
    numbers = ID.sub(" ", rest)
    match verb:
        case "click" | "hover" if point := _POINT.fullmatch(rest):
            return (actions.ClickAt if verb == "click" else actions.HoverAt)(_pair(point)), None
        case "click":
            return (partial(actions.Click, at=at), where) if at else None
        case "hover":
            return partial(actions.Hover, at=at), where
        case "drag" if _PATH.fullmatch(rest):
            return actions.DragFrom(tuple(map(_pair, _PAIRS.finditer(rest)))), None
        case "drag" if match := _DRAG.fullmatch(rest):
            start, end = match[1], match[2] or ""
            element, to = ID.search(start), ID.search(end)
            at, way = _place(_AT, start), _place(_BY, rest)
            if element and to:
                return actions.Drag(matched_id(element), matched_id(to), at, _place(_AT, end)), None
            if element and way:
                return actions.Drag(matched_id(element), at=at, end=way), None
        case "select" if match := _quoted(rest):
            return partial(actions.Select, text=match[2]), ID.search(match[3])
        case "select" if match := _UNQUOTED.match(rest):
            return actions.Select, ID.search(match[1])
        case "choose" if match := _quoted(rest):
            return partial(actions.Choose, match[2]), ID.search(match[3])
        case "scroll" if match := _SCROLL.fullmatch(numbers):
            pixels = round(_decimal(match[2]))
            up = re.search(r"\bup\b", match[1] + match[3], re.I)
            return partial(actions.Scroll, pixels=-abs(pixels) if up else pixels), where
        case "upload" if match := _quoted(rest):
            return partial(actions.Upload, match[2]), ID.search(match[3])
        case "accept" if match := _ACCEPT.fullmatch(rest):
            return actions.Accept(match[2]), None
        case "dismiss" if re.fullmatch(r"(?:\s+the\s+dialog)?", rest, re.I):
            return actions.Dismiss(), None
        case "copy" | "paste" if _SELECTION.fullmatch(rest):
            return (actions.Copy() if verb == "copy" else actions.Paste()), None
        case "wait" if match := _WAIT.fullmatch(rest):
            return actions.Wait(_seconds(match)), None
        case "follow" if match := _FOLLOW.fullmatch(numbers):
            return partial(actions.Follow, seconds=_seconds(match)), where
        case "double click" | "double-click" | "doubleclick":
            return partial(actions.DoubleClick, at=at), where
    return None


def _parse_input(line: str) -> _Parsed:
    if way := _NAVIGATION.get(line.lower()):
        return way(), None
    if match := _WITH.fullmatch(line):
        held, how, verb, rest = match[1], (match[2] or "left").lower(), match[3].lower(), match[4]
        # Any key makes a combination of those that are held.
        keys = (parse_keys(held + "a") or ())[:-1] if held else ()
        where, time = ID.search(rest), _FOR.search(rest)
        if verb == "scroll":
            parsed = _parse_further(verb, rest) if keys else None
            if parsed is None or not isinstance(parsed[0], partial):
                return None
            return partial(actions.ScrollWith, keys=keys, **parsed[0].keywords), where
        times = _OFTEN.search(rest)
        clicks = _integer(times[1]) if times else {"double": 2, "triple": 3}.get(how, 1)
        held_down = (_seconds(time) if time else float(verb != "click")) or None
        button = how if how in actions.BUTTONS else "left"
        # Plain clicks are other actions: Click and DoubleClick.
        plain = button == "left" and not keys and held_down is None
        if plain and (clicks == 1 or how == "double"):
            return None
        made = partial(
            actions.ClickWith, button=button, times=clicks, seconds=held_down, keys=keys,
            at=_place(_AT, rest),
        )  # fmt: skip
        return made, where
    verb, rest = line[:5].lower(), line[5:]
    if verb != "press" or _parse_paper(verb, rest):
        return None
    if not (match := _KEYS.fullmatch(rest)) or not parse_keys(match[1]):
        return None
    return actions.PressKeys(match[1], _integer(match[2] or "1")), None


def _command(line: str, action: Any, where: re.Match[str] | None) -> Command:
    if not callable(action):
        return Command(line, lambda _: action, action)
    return Command(line, action, action(matched_id(where)) if where else None)


def strip_marks(line: str) -> str:
    """The line without the bullets, numbers and code marks before an action."""
    lead = _LEAD.match(line)
    return line[lead.end() :] if lead else line


def matched_id(match: re.Match[str]) -> int:
    """The id in a match of `ID`."""
    return _integer(next(group for group in match.groups() if group))


def _place(form: re.Pattern[str], text: str) -> Place | None:
    match = form.search(text)
    return _pair(match) if match else None


def _pair(match: re.Match[str]) -> Place:
    return _decimal(match[1]), _decimal(match[2])


def _seconds(match: re.Match[str]) -> float:
    """The seconds of a number and its unit, to the millisecond."""
    number = _decimal(match[1])
    return round(number / 1000 if (match[2] or "s").lower().startswith("m") else number, 3)


def _integer(digits: str) -> int:
    # Python refuses to convert thousands of digits.
    return int(digits[:100])


def _decimal(digits: str) -> float:
    # Many digits would be infinite.
    return max(-1e9, min(1e9, float(digits)))


class InvalidToolCall(ValueError):
    """A tool call that can't be carried out; the text says why, for the model that made it."""


_BY_NAME: Mapping[str, type[Action]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", action_type.__name__).lower(): action_type
    for action_type in get_args(Action)
}

_UNUSUAL = (*get_args(DialogAction | InputAction | NavigationAction), Upload, Answer)
# The actions that are possible on any page.
_USUAL = [one for one in get_args(Action) if one not in _UNUSUAL]

# The schemas of each action's arguments, from the annotations of its fields.
_SCHEMAS: Mapping[type[Action], Mapping[str, Schema]] = {
    action_type: {
        name: {**schema, **({"description": description[0]} if description else {})}
        for name, hint in get_type_hints(action_type, include_extras=True).items()
        for schema, *description in [hint.__metadata__]
    }
    for action_type in get_args(Action)
}


def tools_of(actions: Iterable[type[Action]] | Any) -> list[dict[str, Any]]:
    """Return the tool definitions of actions, in the form of the Chat Completions API.

    Args:
        actions: types of actions, as `[Click, Enter]`, or a union of them: `Action` for all that
            are possible on any page, and `DialogAction`, `InputAction` and `NavigationAction`
            for others.

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

    The arguments, or their JSON, may be blank if there are none. A null counts as left out if the
    argument may be left out.

    Raises:
        InvalidToolCall: there is no such tool, or the arguments do not keep to its schema.
    """
    action_type = _BY_NAME.get(name) if isinstance(name, str) else None
    if action_type is None:
        raise InvalidToolCall(f"there is no tool {_shown(name)}; the tools are {_names(_USUAL)}")
    given = parse_arguments(arguments)
    schemas = _SCHEMAS[action_type]
    for key in given:
        if key not in schemas:
            known = ", ".join(schemas) or "none"
            raise InvalidToolCall(
                f"{name} has no argument {_shown(key)}; its arguments are: {known}"
            )
    required = _required(action_type)
    values = {}
    for key, schema in schemas.items():
        if key in required and key not in given:
            raise InvalidToolCall(f"{name} lacks its argument {key}: {_wanted(schema)}")
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
    except InvalidToolCall as error:
        return Transition(last.observation, error=str(error))
    return step(action)


def parse_arguments(arguments: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call, whatever tool it is for; a blank string is no arguments.

    Raises:
        InvalidToolCall: they are not a JSON object.
    """
    given: Any = arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):  # Python's own messages differ between its versions
            raise InvalidToolCall("the arguments are not valid JSON") from None
    if not isinstance(given, Mapping):
        raise InvalidToolCall(f"the arguments must be a JSON object, not {_shown(given)}")
    return given


def _read(value: Any, schema: Schema, name: str) -> Any:
    """Return a value that keeps to a schema, with tuples for lists, or raise `InvalidToolCall`."""
    kind = schema["type"]
    if kind == "array" and isinstance(value, list | tuple):
        if schema["minItems"] <= len(value) <= schema["maxItems"]:
            return tuple(_read(item, schema["items"], name) for item in value)
    elif kind == "string" and isinstance(value, str):
        if re.search("[\ud800-\udfff]", value):
            raise InvalidToolCall(f"{name} has half of a surrogate pair, which is not a character")
        if value in schema["enum"] if "enum" in schema else len(value) <= schema["maxLength"]:
            return value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        whole = kind == "integer"
        fits = kind in ("integer", "number") and schema["minimum"] <= value <= schema["maximum"]
        if fits and not (whole and value != int(value)):
            return int(value) if whole else value
    raise InvalidToolCall(f"{name} must be {_wanted(schema)}, not {_shown(value)}")


def _wanted(schema: Schema) -> str:
    return json.dumps({key: part for key, part in schema.items() if key != "description"})


def _shown(value: Any) -> str:
    try:
        shown = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return "something that is not JSON"
    return shown if len(shown) <= 60 else f"{shown[:60]}..."
