"""Parsing of actions from lines of text, as models write them: `parse_action`.

The form is that of `str(action)`, read leniently about case, numbering, code marks, quotes and a
final stop. The five actions of the reflective agent's paper are always read, the others only for
agents that ask for all actions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pytest_miniwob_agent.core import actions
from pytest_miniwob_agent.core.actions import KEYS, MODIFIERS, Action, Place


class Unreadable(Exception):
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
_VERBS = "click|enter|type|press|hold|release"
_ALL_VERBS = (
    rf"{_VERBS}|double|hover|drag|select|scroll|choose|copy|paste"
    r"|wait(?=(?:\s+for)?\s*+[.\d])|follow(?=.{0,99}\bid\b|.{0,99}#)"  # prose begins like them
)
VERB = re.compile(rf"\b({_VERBS})\b", re.I)
ANY_VERB = re.compile(rf"\b({_ALL_VERBS})\b", re.I)
ID = re.compile(r"\bid(?:\s*+(?:[=:]|is)|\s)\s*+[\"'#]?(\d+)|#(\d+)\b", re.I)

# What stands behind the verb of a line.
_FIRST = re.compile(r"wait(?=\d)|double[ -]?click\b|[a-z]+\b", re.I)
_BARE_ID = re.compile(r"(?:\s+on)?\s+(\d+)\s*", re.I)
_QUOTED = re.compile(r"\s+(?:the\s+(?:text|option)\s+)?([\"'])(.*)\1(.*)", re.I)
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
_TIME = r"(\d{1,9}+(?:\.\d{1,9}+)?|\.\d{1,9}+)\s*+(ms|milliseconds?|s|secs?|seconds?)?\s*+"
_WAIT = re.compile(rf"\s*+(?:for\s++)?(?:about\s++)?{_TIME}", re.I)
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
        Unreadable: the line is not an action, or lacks more than its element.
    """
    plain = strip_marks(line.translate(_QUOTES)).rstrip(" .,;!`*")
    if first := _FIRST.match(plain):
        verb, rest = first[0].lower(), plain[first.end() :]
        further = _parse_further(verb, rest) if all_actions else None
        if parsed := further or _parse_paper(verb, rest):
            action, where = parsed
            if not callable(action):
                return Command(plain, lambda _: action, action)
            return Command(plain, action, action(id_of(where)) if where else None)
    raise Unreadable(f"not an action: {quote(line)}")


def quote(text: str) -> str:
    """A text in quotes on one line, cut after 200 characters.

    Not `core.text.shorten`, as it goes into prompts, whose recorded texts must not change.
    """
    text = " ".join(text.split())
    return repr(text if len(text) <= 200 else text[:200] + "...")


_Parsed = tuple[Action | Callable[[int], Action], re.Match[str] | None] | None
"""An action and None, or what makes it of its element and the match of the element's id."""


def _parse_paper(verb: str, rest: str) -> _Parsed:
    """Read one of the paper's actions."""
    match verb:
        case "click" if not rest or rest.startswith(" "):
            return actions.Click, ID.search(rest) or _BARE_ID.fullmatch(rest)
        case "enter" | "type" if match := _QUOTED.match(rest):
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
    return None


def _parse_further(verb: str, rest: str) -> _Parsed:
    """Read one of the other actions, or a click at a place."""
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
                return actions.Drag(id_of(element), id_of(to), at, _place(_AT, end)), None
            if element and way:
                return actions.Drag(id_of(element), at=at, end=way), None
        case "select" if match := _QUOTED.match(rest):
            return partial(actions.Select, text=match[2]), ID.search(match[3])
        case "select" if match := _UNQUOTED.match(rest):
            return actions.Select, ID.search(match[1])
        case "choose" if match := _QUOTED.match(rest):
            return partial(actions.Choose, match[2]), ID.search(match[3])
        case "scroll" if match := _SCROLL.fullmatch(numbers):
            pixels = round(_decimal(match[2]))
            up = re.search(r"\bup\b", match[1] + match[3], re.I)
            return partial(actions.Scroll, pixels=-abs(pixels) if up else pixels), where
        case "upload" if match := _QUOTED.match(rest):
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


def strip_marks(line: str) -> str:
    """The line without the bullets, numbers and code marks before an action."""
    lead = _LEAD.match(line)
    return line[lead.end() :] if lead else line


def id_of(match: re.Match[str]) -> int:
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
    """The number, cut to 100 digits: Python refuses to convert thousands of digits."""
    return int(digits[:100])


def _decimal(digits: str) -> float:
    """The number, clamped to ±1e9, so that it is never infinite."""
    return max(-1e9, min(1e9, float(digits)))
