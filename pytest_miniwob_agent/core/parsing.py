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

from pytest_miniwob_agent.core.actions import (
    KEYS,
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
    Place,
    Press,
    Release,
    Scroll,
    Select,
    Wait,
)


class Unreadable(Exception):
    """The text is not an action, or lacks more than its element."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line that was parsed: an action, or one that lacks its element.

    Attributes:
        line: the line, without bullets, numbers and code marks.
        on: makes the action on the element with an id.
        action: the action, or None if the line does not name its element.
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
_BARE_ID = re.compile(r"click(?:\s+on)?\s+(\d+)\s*", re.I)
_ENTER = re.compile(r"(?:enter|type)\s+(?:the\s+text\s+)?([\"'])(.*)\1(.*)", re.I)
_PRESS = re.compile(
    r"press\s++(?:the\s++)?[\"']?([a-z_ ]{1,99}?)[\"']?(?:\s++keys?)?"
    r"(?:\s*+(?:[x\u00d7*]\s*+)?(\d++)(?:\s*+times)?)?",
    re.I,
)
_MODIFY = re.compile(
    r"(hold|release)\s+(?:down\s+)?(?:the\s+)?[\"']?([a-z]+)[\"']?(?:\s+key)?", re.I
)
_NUMBER = r"([+-]?\d+(?:\.\d+)?)(?:\s*px)?"
_PAIR = rf"\(?\s*+{_NUMBER}\s*+,\s*+{_NUMBER}"
_AT = re.compile(rf"\bat\s++{_PAIR}", re.I)
_BY = re.compile(rf"\bby\s++{_PAIR}", re.I)
_POINT = re.compile(r"(double[\s-]?click|click|hover)\b(.*)", re.I)
_DRAG = re.compile(r"drag\b(.*?)(?:\b(?:in|on)?to\b(.*))?", re.I)
_SELECT = re.compile(
    r"select\s+(?:the\s+text\s+)?([\"'])(.*)\1(.*)"
    r"|select\s+(?:(?:all|whole|the|text|of|in)\s+)*((?:id\b|#).*)",
    re.I,
)
_CHOOSE = re.compile(r"choose\s+(?:the\s+option\s+)?([\"'])(.*)\1(.*)", re.I)
_SCROLL = re.compile(rf"scroll\b(.*?)(?:\bby\s+)?{_NUMBER}(.*)", re.I)
_CLIPBOARD = re.compile(r"(copy|paste)(?:\s+(?:it|the\s+(?:\w+\s+)?(?:text|selection)))?", re.I)
_ALONE = rf"\s*+(?:on\s++)?(?:at\s++)?(?:the\s++)?(?:point\s++|position\s++)?{_PAIR}\s*+\)?"
_POINT_ALONE = re.compile(rf"(click|hover)\b{_ALONE}\s*+", re.I)
_DRAG_FROM = re.compile(
    rf"drag\s++(?:from\s++)?{_PAIR}\s*+\)?(?:\s*+\bto\s++{_PAIR}\s*+\)?)++\s*+", re.I
)
_PAIRS = re.compile(_PAIR)
_TIME = r"(\d{1,9}+(?:\.\d{1,9}+)?|\.\d{1,9}+)\s*+(ms|milliseconds?|s|secs?|seconds?)?\s*+"
_WAIT = re.compile(rf"wait\s*+(?:for\s++)?(?:about\s++)?{_TIME}", re.I)
_FOLLOW = re.compile(rf"follow\b(.*?)(?:\bfor\s++)?{_TIME}", re.I)
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
    command = _parse_further(plain) if all_actions else None
    if command := command or _parse_paper(plain):
        return command
    raise Unreadable(f"not an action: {quote(line)}")


def quote(text: str) -> str:
    """A text in quotes on one line, cut after 200 characters.

    Not `core.text.shorten`, as it goes into prompts, whose recorded texts must not change.
    """
    text = " ".join(text.split())
    return repr(text if len(text) <= 200 else text[:200] + "...")


def _parse_paper(plain: str) -> Command | None:
    """One of the paper's actions, or None."""
    verb = plain.partition(" ")[0].lower()
    if verb == "click":
        match = ID.search(plain) or _BARE_ID.fullmatch(plain)
        return _command(plain, Click, match)
    if match := _ENTER.match(plain):
        return _command(plain, partial(Enter, match[2]), ID.search(match[3]))
    if match := _PRESS.fullmatch(plain):
        key = re.sub(r"[\s_]", "", match[1]).upper()
        key = _KEY_NAMES.get(key, key)
        if key in KEYS:
            return _whole(plain, Press(key, _integer(match[2] or "1")))
    if match := _MODIFY.fullmatch(plain):
        key = match[2].upper().replace("CONTROL", "CTRL")
        if key in MODIFIERS:
            return _whole(plain, (Hold if match[1].lower() == "hold" else Release)(key))
    return None


def _parse_further(plain: str) -> Command | None:
    """One of the other actions, or a click at a place, or None."""
    if action := _parse_point_or_time(plain):
        return action
    if match := _POINT.match(plain):
        place = _place(_AT, match[2])
        where = ID.search(match[2])
        verb = match[1].lower()
        if verb == "hover":
            return _command(plain, partial(Hover, at=place), where)
        if verb != "click":
            return _command(plain, partial(DoubleClick, at=place), where)
        return _command(plain, partial(Click, at=place), where) if place else None
    if match := _DRAG.fullmatch(plain):
        start, end = match[1], match[2] or ""
        element, to = ID.search(start), ID.search(end)
        way = _place(_BY, plain)
        if element and to:
            return _whole(
                plain,
                Drag(id_of(element), id_of(to), _place(_AT, start), _place(_AT, end)),
            )
        if element and way:
            return _whole(plain, Drag(id_of(element), at=_place(_AT, start), end=way))
    if match := _SELECT.match(plain):
        where = ID.search(match[3] if match[1] else match[4])
        return _command(plain, partial(Select, text=match[2]), where)
    if match := _CHOOSE.match(plain):
        return _command(plain, partial(Choose, match[2]), ID.search(match[3]))
    if match := _SCROLL.fullmatch(ID.sub(" ", plain)):
        pixels = round(_decimal(match[2]))
        if re.search(r"\bup\b", match[1] + match[3], re.I):
            pixels = -abs(pixels)
        return _command(plain, partial(Scroll, pixels=pixels), ID.search(plain))
    if match := _CLIPBOARD.fullmatch(plain):
        return _whole(plain, Copy() if match[1].lower() == "copy" else Paste())
    return None


def _parse_point_or_time(plain: str) -> Command | None:
    """An action at a point of the page, or one that lets time pass, or None."""
    if match := _POINT_ALONE.fullmatch(plain):
        point = _decimal(match[2]), _decimal(match[3])
        return _whole(plain, (ClickAt if match[1].lower() == "click" else HoverAt)(point))
    if _DRAG_FROM.fullmatch(plain):
        pairs = _PAIRS.findall(plain)
        return _whole(plain, DragFrom(tuple((_decimal(x), _decimal(y)) for x, y in pairs)))
    if match := _WAIT.fullmatch(plain):
        return _whole(plain, Wait(_time(match[1], match[2])))
    if match := _FOLLOW.fullmatch(ID.sub(" ", plain)):
        seconds = _time(match[2], match[3])
        return _command(plain, partial(Follow, seconds=seconds), ID.search(plain))
    return None


def _time(digits: str, unit: str | None) -> float:
    """The seconds of a number and its unit, to the millisecond."""
    number = _decimal(digits)
    return round(number / 1000 if (unit or "s").lower().startswith("m") else number, 3)


def strip_marks(line: str) -> str:
    """The line without the bullets, numbers and code marks before an action."""
    lead = _LEAD.match(line)
    return line[lead.end() :] if lead else line


def _command(line: str, on: Callable[[int], Action], where: re.Match[str] | None) -> Command:
    return Command(line, on, on(id_of(where)) if where else None)


def _whole(line: str, action: Action) -> Command:
    """The command of a complete action."""
    return Command(line, lambda _: action, action)


def id_of(match: re.Match[str]) -> int:
    """The id in a match of `ID`."""
    return _integer(next(group for group in match.groups() if group))


def _place(form: re.Pattern[str], text: str) -> Place | None:
    match = form.search(text)
    return (_decimal(match[1]), _decimal(match[2])) if match else None


def _integer(digits: str) -> int:
    """The number, cut to 100 digits: Python refuses to convert thousands of digits."""
    return int(digits[:100])


def _decimal(digits: str) -> float:
    """The number, clamped to ±1e9, so that it is never infinite."""
    return max(-1e9, min(1e9, float(digits)))
