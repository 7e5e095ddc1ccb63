"""BrowserGym's action texts, the set `miniwob_all`, as actions.

The functions and their arguments are those of `browsergym.core.action.functions`. As its parser
does (`browsergym.core.action.parsers`), the one call is found in any text, comments are left out,
quotes may hold line breaks, and a backslash that begins no escape is dropped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lxml.html import HtmlElement

from pytest_miniwob_agent.core.actions import (
    BUTTONS,
    FURTHER_KEYS,
    KEYS,
    MAX_POINTS,
    Action,
    Answer,
    Click,
    ClickAt,
    ClickWith,
    CloseTab,
    DoubleClick,
    DragFrom,
    Enter,
    GoBack,
    GoForward,
    Hold,
    HoverAt,
    Point,
    Press,
    PressKeys,
    Release,
    Scroll,
    Select,
    Type,
    Wait,
)
from pytest_miniwob_agent.core.data import well_formed
from pytest_miniwob_agent.core.observations import Observation

PASS = Wait(0.001)
"""Replaces an action that does nothing on the page, so that it still counts."""

FUNCTIONS = (
    "noop", "mouse_move", "mouse_click", "mouse_dblclick", "mouse_down", "mouse_up", "scroll",
    "click", "keyboard_press", "keyboard_type", "fill",
)  # fmt: skip
"""The functions of `miniwob_all`, methods of `Hand`."""

ANSWER = "send_msg_to_user"
"""The function that answers the task, on apps alone."""

NAVIGATION = ("go_back", "go_forward", "tab_close")
"""The functions that lead to other pages, on pages of your own and apps."""

MODIFIERS = {"Alt": "ALT", "Control": "CTRL", "ControlOrMeta": "CTRL", "Shift": "SHIFT"}
"""Playwright's names of the modifier keys."""

NAMED = {key.lower(): key for key in KEYS} | {" ": "SPACE"}

TYPED = {"date": ("%Y-%m-%d", "%m/%d/%Y"), "time": ("%H:%M", "%I:%M%p")}
"""Types of fields that take no free text: the form of their value, and how it is typed."""

FIRST_PART = (8, 8)
"""A place in the first part of a field of `TYPED`, from which typing goes on to the others."""

UNFILLABLE = {"button", "checkbox", "file", "image", "radio", "reset", "submit"}
"""Types of fields that can't be filled with a text."""

SET = {"color", "datetime-local", "month", "range", "week"}
"""Types of fields that `Enter` sets to a value."""

LONGEST = 20_000
"""The longest text, in characters, that is searched for an action."""

ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
"""What stands behind a backslash, and what both are together."""

_ESCAPE = re.compile(r"\\(x[\da-f]{2}|u[\da-f]{4}|.)", re.S | re.I)
_QUOTED = "|".join(rf"{q}(?:\\.|(?!{q})[^\\])*+{q}" for q in ('"""', "'''", '"', "'"))
_ATOM = re.compile(rf"#[^\n]*+|{_QUOTED}", re.S)
_PARTS = rf"(?:{_ATOM.pattern}|[^()\"'#]"
_CALL = re.compile(
    rf"#[^\n]*+|(?<!\w)([A-Za-z_]\w*+)\s*+\(({_PARTS}|\({_PARTS})*+\))*+)\)", re.S | re.A
)
"""A comment, or a call: its name and its arguments, with at most one level of brackets in them."""


class BadAction(ValueError):
    """The text is no action; the message is for the model that wrote it."""


class Hand:
    """Reads action texts; remembers the mouse, which some of them do not name.

    Attributes:
        page: what the page looks like now, and its HTML as a tree; None once it has judged.
    """

    def __init__(self) -> None:
        self.page: tuple[Observation, HtmlElement] | None = None
        self._at: Point = (0.0, 0.0)
        self._over: int | None = None
        """The element that was acted on last, unless the mouse has moved to a point since."""
        self._path: list[Point] = []
        """Where the mouse has been since its button went down; it is up where this is empty."""

    def parse(self, text: str) -> Sequence[Action]:
        """Return the actions of a text such as `click("12")`; the first is the one that counts.

        Raises:
            BadAction: the text is not one call of one of `FUNCTIONS`, or its arguments are wrong.
        """
        name, arguments, named = _read(text)
        seen = None if self.page is None else self.page[0]
        known = [*FUNCTIONS]
        known += NAVIGATION if seen and seen.further else ()
        known += [ANSWER] if seen and seen.answers else []
        if name not in known:
            raise BadAction(f"there is no action {name}; there are {', '.join(known)}")
        try:
            return tuple(getattr(self, name)(*arguments, **named))
        except BadAction:
            raise
        except (ArithmeticError, TypeError, ValueError) as error:
            raise BadAction(f"{name}: {error}".replace("Hand.", "")) from None

    def send_msg_to_user(self, text: str) -> Sequence[Action]:
        """End the trial with an answer."""
        return [Answer(str(text))]

    def go_back(self) -> Sequence[Action]:
        """Go back to the page before."""
        return [GoBack()]

    def go_forward(self) -> Sequence[Action]:
        """Go forward to the page after this one."""
        return [GoForward()]

    def tab_close(self) -> Sequence[Action]:
        """Close the tab that is shown."""
        return [CloseTab()]

    def noop(self, wait_ms: float = 1000) -> Sequence[Action]:
        """Let so many milliseconds pass on the page's clock."""
        return [Wait(wait_ms / 1000) if wait_ms else PASS]

    def mouse_move(self, x: float, y: float) -> Sequence[Action]:
        """Move the mouse to a point; with its button down, that shows at `mouse_up`."""
        if not self._path:
            return [HoverAt(self._move(x, y))]
        if len(self._path) >= MAX_POINTS - 1:
            raise BadAction(f"a drag has at most {MAX_POINTS} points")
        self._path.append(self._move(x, y))
        return [PASS]

    def mouse_click(self, x: float, y: float, button: str = "left") -> Sequence[Action]:
        """Click a point."""
        point = self._move(x, y)
        return [ClickAt(point)] if button == "left" else [self._click_root(button, 1)]

    def mouse_dblclick(self, x: float, y: float, button: str = "left") -> Sequence[Action]:
        """Click a point twice at once."""
        point = self._move(x, y)
        if button != "left":
            return [self._click_root(button, 2)]
        return [DoubleClick(self._root(), point)]

    def mouse_down(self, x: float, y: float, button: str = "left") -> Sequence[Action]:
        """Begin a drag, which happens as a whole at `mouse_up`."""
        _check_left(button)
        self._path = [self._move(x, y)]
        return [PASS]

    def mouse_up(self, x: float, y: float, button: str = "left") -> Sequence[Action]:
        """End a drag, or only move the mouse where none has begun."""
        _check_left(button)
        path, self._path = self._path, []
        end = self._move(x, y)
        return [DragFrom((*path, end)) if path else HoverAt(end)]

    def scroll(self, delta_x: float, delta_y: float) -> Sequence[Action]:
        """Turn the wheel where the mouse is: over the element acted on last, or the nearest."""
        if delta_x:
            raise BadAction("scroll: only up and down, so delta_x must be 0")
        if self._over is None:
            x, y = self._at
            elements = self.page[0].elements if self.page else ()
            found = [(abs(e.x - x) + abs(e.y - y), e.id) for e in elements if e.id is not None]
            if not found:
                raise BadAction("scroll: there is nothing to scroll")
            return [Scroll(min(found)[1], round(delta_y))]
        return [Scroll(self._over, round(delta_y))]

    def click(
        self, bid: str, button: str = "left", modifiers: Sequence[str] = ()
    ) -> Sequence[Action]:
        """Click an element, with modifier keys held."""
        element = self._element(bid)
        if button != "left":
            return self._holding(modifiers, ClickWith(element, _button(button)))
        return self._holding(modifiers, Click(element))

    def keyboard_press(self, key: str) -> Sequence[Action]:
        """Press a key such as `Enter` or `a`, or several together, such as `Control+a`."""
        *modifiers, last = key.split("+") if len(key) > 1 else [key]
        if last in MODIFIERS:
            return self._holding([*modifiers, last])
        last = re.sub(r"^(Key|Digit)(?=\w$)", "", last) if last.lower() not in NAMED else last
        if last.lower() in NAMED:
            return self._holding(modifiers, Press(NAMED[last.lower()]))
        if last in FURTHER_KEYS:
            return self._holding(modifiers, PressKeys(last))
        if len(last) != 1:
            raise BadAction(f"keyboard_press: there is no key {last!r}")
        return self._holding(modifiers, Type(last.lower() if modifiers else last))

    def keyboard_type(self, text: str) -> Sequence[Action]:
        """Type a text where the focus is."""
        return [Type(_text(text))]

    def fill(
        self, bid: str, value: str, enable_autocomplete_menu: bool = False
    ) -> Sequence[Action]:
        """Replace what a field holds by a text, with keys, so that menus open as for a person."""
        element = self._element(bid)
        [field] = self._tree().xpath(f"descendant-or-self::*[@data-ref={element}]") or [None]
        if field is None:
            raise BadAction(f"fill: there is no element with bid {bid!r}")
        kind = field.get("type", "text").lower() if field.tag == "input" else ""
        if field.tag not in ("input", "textarea") or kind in UNFILLABLE:
            raise BadAction(f"fill: the {kind or field.tag} with bid {bid!r} takes no text")
        if kind in TYPED:
            form, typed = TYPED[kind]
            keys = datetime.strptime(value, form).strftime(typed)
            return [Click(element, FIRST_PART), Type(keys)]
        if kind in SET:
            return [Enter(_text(value), element)]
        if field.tag == "input":  # which drops them
            value = _text(value).replace("\n", "")
        text = [Type(value)] if _text(value) else []
        return [Select(element), Press("BACKSPACE"), *text]

    def _root(self) -> int:
        return int(self._tree().get("data-ref", "0"))

    def _click_root(self, button: str, times: int) -> Action:
        """A click where the mouse is, as one at a place of the root."""
        return ClickWith(self._root(), _button(button), times, at=self._at)

    def _move(self, x: float, y: float) -> Point:
        if isinstance(x, str) or isinstance(y, str):
            raise BadAction("x and y must be numbers")
        self._over, self._at = None, (float(x), float(y))
        return self._at

    def _element(self, bid: str) -> int:
        if not re.fullmatch(r"[1-9][0-9]{0,8}", str(bid)):
            raise BadAction(f"there is no element with bid {bid!r}")
        self._over = int(bid)
        return self._over

    def _tree(self) -> HtmlElement:
        assert self.page is not None  # no action comes after the page has judged
        return self.page[1]

    @staticmethod
    def _holding(modifiers: Sequence[str], *actions: Action) -> Sequence[Action]:
        for modifier in modifiers:
            if modifier not in MODIFIERS:
                raise BadAction(f"there is no modifier key {modifier!r}")
        keys = list(dict.fromkeys(MODIFIERS[modifier] for modifier in modifiers))
        return [*map(Hold, keys), *actions, *map(Release, reversed(keys))]


def _read(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, the arguments and the named arguments of the one call in a text."""
    calls = []
    at = 0
    while len(text) <= LONGEST and (match := _CALL.search(text, at)):
        at = match.end()
        name, arguments = match.groups()
        if name:
            try:
                call: Any = ast.parse(f"f({_ATOM.sub(_literal, arguments)})").body
                given = call[0].value
                named = {str(word.arg): ast.literal_eval(word.value) for word in given.keywords}
                calls.append((name, list(map(ast.literal_eval, given.args)), named))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                at = match.end(1)  # words with brackets; a call may be inside of them
    if not calls:
        raise BadAction(f"not an action: {text!r}")
    if len(calls) > 1:
        raise BadAction(f"one action is expected, not {len(calls)}: {text!r}")
    return calls[0]


def _literal(found: re.Match[str]) -> str:
    """A text as Python has it in one line; nothing for a comment."""
    atom = found[0]
    if atom[0] == "#":
        return ""
    mark = 3 if atom[:3] in ('"""', "'''") else 1
    text = _ESCAPE.sub(_unescaped, atom[mark:-mark])
    return repr(re.sub("\r\n?", "\n", well_formed(text)))


def _unescaped(found: re.Match[str]) -> str:
    what = found[1]
    return chr(int(what[1:], 16)) if len(what) > 1 else ESCAPES.get(what, what)


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise BadAction("a text must be a string")
    return text


def _button(button: str) -> str:
    if button not in BUTTONS:
        raise BadAction(f"there is no button {button!r}")
    return button


def _check_left(button: str) -> None:
    if button != "left":
        raise BadAction(f"only the left button can be used, not {button!r}")
