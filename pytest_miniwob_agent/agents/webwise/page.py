"""The page as programs use it: the paper's functions, acting at once (4.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_miniwob_agent.agents.webwise.language import ProgramError
from pytest_miniwob_agent.agents.webwise.objects import (
    Object,
    find_objects,
    read_objects,
    render_objects,
)
from pytest_miniwob_agent.core.actions import Action, Choose, Click, Hold, Press, Release, Type
from pytest_miniwob_agent.core.protocols import Environment

MAX_CLEARED = 100
"""Characters of a field's value that are deleted before a text is typed: the most key presses."""

_FIELDS_WITH_PARTS = ("input_date", "input_time")
_DATE = re.compile(
    r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})|(?P<m2>\d{1,2})/(?P<d2>\d{1,2})/(?P<y2>\d{4})"
)
_TIME = re.compile(r"(?P<h>\d{1,2}):(?P<m>\d{2})\s*(?P<half>[ap]m)?", re.I)


def is_asked_for(action: Action) -> bool:
    """True for an action that a program asks for, False for a helper such as clearing a field."""
    return isinstance(action, Click | Choose | Type)


class PageJudged(Exception):
    """The page has judged, in the transition given: the rest of the program is not run."""


class ProgramPage:
    """The page and the functions of programs. `str(page)` lists its objects, one per line.

    The functions raise `ProgramError` where they can't do what is asked, and `PageJudged` after
    the action that made the page judge. With `whole`, every visible element is an object.
    """

    def __init__(self, env: Environment, *, whole: bool = False) -> None:
        self._env = env
        self._whole = whole
        self._clicked: Object | None = None
        self._just_clicked = False
        self._flags: dict[int | None, str] = {}
        self._objects = read_objects(env.html(), whole=whole)
        self.actions = 0
        """Actions that programs asked for so far."""
        self.functions: Mapping[str, Callable[..., Any]] = {
            "click": self._click,
            "enter_text": self._enter_text,
            "scroll": self._scroll,
            "objects": self._list_objects,
        }

    def __str__(self) -> str:
        return render_objects(self._objects, self._flags)

    def _click(self, kind: Any, name: Any = "", nth: Any = 1) -> None:
        """Click the nth of the objects of a tag or class with a text or id; choose an option."""
        kind, name = _argument("click", kind), _argument("click", name)
        if type(nth) is not int or nth < 1:
            raise ProgramError("nth is a number from 1 up")
        found = find_objects(self._objects, kind, name)
        called = kind + (f" {name!r}" if name else "")
        if not found:
            raise ProgramError(f"there is no {called} among the objects")
        if nth > len(found):
            raise ProgramError(f"there are only {len(found)} objects that fit {called}")
        clicked = found[nth - 1]
        if clicked.ref is None:
            raise ProgramError(f"{called} can't be clicked")
        if clicked.list_ref is not None:
            self._act(Choose(clicked.text, clicked.list_ref), called)
        elif clicked.among_others:  # without CTRL a click deselects the other options
            self._act(Hold("CTRL"))
            try:
                self._act(Click(clicked.ref), called)
            except ProgramError:
                self._act(Release("CTRL"))
                raise
            self._act(Release("CTRL"))
        else:
            self._act(Click(clicked.ref), called)
        self._flags.setdefault(clicked.ref, "clicked")
        self._clicked, self._just_clicked = clicked, True

    def _enter_text(self, text: Any) -> None:
        """Type into the object that was clicked last, in place of the value that it had then."""
        text = _argument("enter_text", text)
        if self._clicked is None:
            raise ProgramError("nothing was clicked that the text could be typed into")
        tag, ref = self._clicked.tag, self._clicked.ref
        if self._just_clicked and tag in _FIELDS_WITH_PARTS:  # the click was on any of its parts
            self._act(Press("ARROWLEFT", 3))
        elif self._just_clicked and text.strip("\n"):
            values = [obj.value for obj in self._objects if obj.ref == ref and obj.value]
            if values:
                self._act(Press("END"))
                self._act(Press("BACKSPACE", min(len(values[0]), MAX_CLEARED)))
        self._just_clicked = False
        self._act(Type(_keys(tag, text)))
        self._flags[ref] = "text entered"

    def _scroll(self, text: Any) -> None:
        """Check that an object has the text; actions scroll to their objects by themselves."""
        text = _argument("scroll", text)
        if not any(text.casefold() in obj.text.casefold() for obj in self._objects):
            raise ProgramError(f"there is no text {text!r} among the objects")

    def _list_objects(self) -> list[dict[str, str | bool]]:
        return [obj.to_data() for obj in self._objects]

    def _act(self, action: Action, called: str = "") -> None:
        transition = self._env.step(action)
        if transition.error:  # which names elements by ids that programs do not see
            raise ProgramError(f"{called} can't be clicked" if called else transition.error)
        self.actions += is_asked_for(action)
        if transition.done:
            raise PageJudged(transition)
        self._objects = read_objects(self._env.html(), whole=self._whole)


def _keys(tag: str, text: str) -> str:
    """Return the keys to type for a text: dates and times in the parts that their fields have."""
    if tag == "input_date" and (match := _DATE.fullmatch(text.strip())):
        year, month, day = match["y"], match["m"], match["d"]
        if year is None:
            month, day, year = match["m2"], match["d2"], match["y2"]
        return f"{month:0>2}{day:0>2}{year}"
    if tag == "input_time" and (match := _TIME.fullmatch(text.strip())):
        hour, half = int(match["h"]), (match["half"] or "").upper()
        half = half or ("PM" if hour >= 12 else "AM")
        return f"{(hour - 1) % 12 + 1:02}{match['m']}{half}"
    return text


def _argument(function: str, value: Any) -> str:
    """Return an argument of a function as a text; an integer may stand for its digits."""
    if type(value) in (str, int):
        return str(value)
    raise ProgramError(f"{function}() takes texts")
