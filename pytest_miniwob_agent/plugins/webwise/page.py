"""The page as scripts see it, its objects, and as they use it, the paper's functions (4.2, 4.3).

An object is an element whose tag or class is in a list (`getSummary`, appendix B.2), read from the
visible page as HTML. Other elements, such as bold type or a heading, give their text to the object
around them. A box that only holds other objects is not an object itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lxml import html

from pytest_miniwob_agent.core.actions import (
    Action,
    Choose,
    Click,
    Hold,
    Hover,
    Press,
    Release,
    Type,
)
from pytest_miniwob_agent.core.protocols import Environment
from pytest_miniwob_agent.plugins.webwise.interpreter import ScriptError
from pytest_miniwob_agent.screen import legal

TAGS = frozenset({
    "button", "text", "input", "textarea", "polygon", "label", "rect", "tt", "circle", "span",
    "tspan", "t", "h3", "ul", "a", "p", "div", "th", "tr", "td",
    "li", "select", "option", "img", "ellipse", "path", "line",
})  # fmt: skip
"""The tags of the paper's listing 2, and in the last line those of tasks that it left out."""

CLASSES = frozenset({"folder"})
"""The classes of the paper's listing 2."""

MAX_OBJECTS = 300
"""Objects that are shown of a page."""

MAX_TEXT = 1000
"""Characters that are shown of a string."""

MAX_CLEARED = 100
"""Characters of a field's value that are deleted before typing: the most key presses."""

# Fields with several parts: how they are typed, and the forms in which they may be given.
_PARTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "input_date": ("%m%d%Y", ["%m/%d/%Y", "%Y-%m-%d"]),
    "input_time": ("%I%M%p", ["%I:%M %p", "%I:%M%p", "%H:%M %p", "%H:%M"]),
}

ASKED_FOR = (Click, Choose, Type, Hover)
"""The actions that scripts ask for; others help, such as clearing a field."""

# Tags of objects that can stand within text, and are part of it.
_INLINE = frozenset({"a", "span", "tspan", "tt"})

# Tags that are objects even without text or with objects inside.
_CONTROLS = frozenset({"button", "a", "label", "select", "textarea", "input"})

# Tags that are not objects without text, id or class.
_ANONYMOUS = frozenset({"div", "span", "p", "ul", "li", "tr", "td", "th", "h3"})


@dataclass(frozen=True, slots=True)
class Object:
    """An element that passes the filter.

    `ref` is the id that actions take, None for an element that can't be acted upon. The `tag` of an
    input includes its type (`input_text`). `checked` is None if nothing can be checked or
    selected. Of an option, `list_ref` is the ref of its list if that drops down; `among_others` is
    True if several options of its list can be selected.
    """

    ref: int | None
    tag: str
    text: str = ""
    dom_id: str = ""
    classes: str = ""
    placeholder: str = ""
    value: str | None = None
    checked: bool | None = None
    list_ref: int | None = None
    among_others: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.tag, self.tag.partition("_")[0], *self.classes.split())

    @property
    def names(self) -> tuple[str, ...]:
        """The strings by which a script may find it."""
        return tuple(filter(None, (self.text, self.dom_id, self.placeholder, self.value)))

    def to_data(self) -> dict[str, str | bool]:
        """Return the object as scripts see it, with empty strings for missing attributes."""
        return {
            "tag": self.tag,
            "text": self.text,
            "id": self.dom_id,
            "class": self.classes,
            "value": self.value or "",
            "checked": bool(self.checked),
        }


def read_objects(page: str, *, whole: bool = False) -> tuple[Object, ...]:
    """Read the objects of a page, in the page's order; empty if the page has judged.

    With `whole`, every visible element is an object (*Whole DOM*, section 5.3).
    """
    if not page.strip():
        return ()
    document = html.document_fromstring(legal(page))
    return tuple(
        _object(element)
        for element in document.iterdescendants("*")
        if (element.tag not in ("head", "body") if whole else _is_object(element))
    )


def render_objects(objects: Iterable[Object], flags: Mapping[int | None, str]) -> str:
    """List objects, one per line; `flags` are marks by ref, such as `clicked`."""
    lines = [_line(obj, flags.get(obj.ref, "")) for obj in objects]
    if len(lines) > MAX_OBJECTS:
        lines[MAX_OBJECTS:] = [f"... and {len(lines) - MAX_OBJECTS} more"]
    return "\n".join(lines) or "(none)"


def find_objects(objects: Iterable[Object], kind: str, name: str) -> list[Object]:
    """Find the objects of a tag or class whose text, id, placeholder or value fits a name best.

    Equal names go before those that differ in case and spaces, and these before names that only
    contain the given one. An empty name fits every object.
    """
    fitting = [obj for obj in objects if _plain(kind) in map(_plain, obj.kinds)]
    if not (plain := _plain(name)):
        return fitting
    return (
        [obj for obj in fitting if name in obj.names]
        or [obj for obj in fitting if plain in map(_plain, obj.names)]
        or [obj for obj in fitting if any(plain in _plain(other) for other in obj.names)]
    )


def _plain(text: str) -> str:
    return _squeeze(text).casefold()


def _line(obj: Object, flag: str) -> str:
    attributes = {
        "id": obj.dom_id or None,
        "class": obj.classes or None,
        "placeholder": obj.placeholder or None,
        "value": obj.value,
    }
    parts = [obj.tag, *([_quote(obj.text)] if obj.text else [])]
    parts += [f"{name}={_quote(value)}" for name, value in attributes.items() if value is not None]
    if obj.checked is not None:
        word = "selected" if obj.tag == "option" else "checked"
        parts.append(f"{word}={'yes' if obj.checked else 'no'}")
    return " ".join([*parts, *([f"[{flag}]"] if flag else [])])


def _quote(text: str) -> str:
    return json.dumps(text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…", ensure_ascii=False)


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _tag(element: html.HtmlElement) -> str:
    tag = str(element.tag)
    return f"input_{element.get('type', 'text').lower()}" if tag == "input" else tag


def _is_listed(element: html.HtmlElement) -> bool:
    return element.tag in TAGS or not CLASSES.isdisjoint(element.get("class", "").split())


def _is_object(element: html.HtmlElement) -> bool:
    if not _is_listed(element):
        return False
    if element.tag in _CONTROLS or _text(element):
        return True
    if any(_is_listed(inner) for inner in element.iterdescendants("*")):
        return False
    return element.tag not in _ANONYMOUS or bool(element.get("id") or element.get("class"))


def _object(element: html.HtmlElement) -> Object:
    tag = _tag(element)
    state: dict[str, Any] = {}
    if tag in ("input_checkbox", "input_radio"):
        state["checked"] = element.get("checked") is not None
    elif tag == "option":
        state["checked"] = element.get("selected") is not None
        for owner in element.iterancestors("select"):
            state["among_others"] = owner.get("multiple") is not None
            if not state["among_others"] and owner.get("size", "1") in ("0", "1"):
                state["list_ref"] = _ref(owner)
    elif tag.startswith("input_"):
        state["value"] = element.get("value", "")
    elif tag == "textarea":
        state["value"] = element.text or ""
    return Object(
        _ref(element),
        tag,
        _text(element),
        dom_id=_squeeze(element.get("id", "")),
        classes=_squeeze(element.get("class", "")),
        placeholder=_squeeze(element.get("placeholder", "")),
        **state,
    )


def _ref(element: html.HtmlElement) -> int | None:
    ref = element.get("data-ref", "")
    return int(ref) if ref.isdecimal() else None


def _text(element: html.HtmlElement) -> str:
    """Return an object's text, or its title if it has none; a field has a value instead."""
    if element.tag in ("textarea", "input"):
        return ""
    text = _squeeze("".join(_pieces(element, frozenset())))
    if text:  # then objects within it are part of it
        text = _squeeze("".join(_pieces(element, _INLINE)))
    return text or _squeeze(element.get("title", "") or element.get("alt", ""))


def _pieces(element: html.HtmlElement, through: frozenset[str]) -> Iterator[str]:
    """Yield the pieces of text in an element, without those of objects of other tags in it."""
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str) and (child.tag in through or not _is_listed(child)):
            yield from _pieces(child, through)
        yield child.tail or ""


class PageJudged(Exception):
    """The page has judged, in the transition given: the rest of the script is not run."""


class ScriptPage:
    """The page and the functions of scripts. `str(page)` lists its objects, one per line.

    The functions raise `ScriptError` if they can't do what is asked, and `PageJudged` after
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
        """Actions that scripts asked for so far."""
        self.functions: Mapping[str, Callable[..., Any]] = {
            "click": self._click,
            "enter_text": self._enter_text,
            "scroll": self._scroll,
            "objects": lambda: [obj.to_data() for obj in self._objects],
        }

    def __str__(self) -> str:
        return render_objects(self._objects, self._flags)

    def _click(self, kind: Any, name: Any = "", nth: Any = 1) -> None:
        """Click the nth of the objects of a tag or class with a text or id; choose an option."""
        kind, name = _argument("click", kind), _argument("click", name)
        if type(nth) is not int or nth < 1:
            raise ScriptError("nth is a number from 1 up")
        found = find_objects(self._objects, kind, name)
        called = kind + (f" {name!r}" if name else "")
        if not found:
            raise ScriptError(f"there is no {called} among the objects")
        if nth > len(found):
            raise ScriptError(f"there are only {len(found)} objects that fit {called}")
        clicked, problem = found[nth - 1], f"{called} can't be clicked"
        if clicked.ref is None:
            raise ScriptError(problem)
        if clicked.list_ref is not None:
            self._act(Choose(clicked.text, clicked.list_ref), problem)
        elif clicked.among_others:  # without CTRL a click deselects the other options
            self._act(Hold("CTRL"))
            try:
                self._act(Click(clicked.ref), problem)
            except ScriptError:
                self._act(Release("CTRL"))
                raise
            self._act(Release("CTRL"))
        else:
            self._act(Click(clicked.ref), problem)
        self._flags.setdefault(clicked.ref, "clicked")
        self._clicked, self._just_clicked = clicked, True

    def _enter_text(self, text: Any) -> None:
        """Type into the object that was clicked last, in place of the value that it had then."""
        text = _argument("enter_text", text)
        if self._clicked is None:
            raise ScriptError("nothing was clicked that the text could be typed into")
        tag, ref = self._clicked.tag, self._clicked.ref
        if self._just_clicked and tag in _PARTS:  # the click was on any of its parts
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
        """Move the mouse onto the object with the text, which scrolls it into sight."""
        text = _argument("scroll", text)
        found = [obj for obj in self._objects if text.casefold() in obj.text.casefold()]
        if not found:
            raise ScriptError(f"there is no text {text!r} among the objects")
        ref = min(found, key=lambda obj: len(obj.text)).ref
        if ref is None:
            raise ScriptError(f"{text!r} can't be scrolled to")
        self._act(Hover(ref), f"{text!r} can't be scrolled to")

    def _act(self, action: Action, problem: str = "") -> None:
        transition = self._env.step(action)
        if transition.error:  # which names elements by ids that scripts do not see
            raise ScriptError(problem or transition.error)
        self.actions += isinstance(action, ASKED_FOR)
        if transition.done:
            raise PageJudged(transition)
        self._objects = read_objects(self._env.html(), whole=self._whole)


def _keys(tag: str, text: str) -> str:
    """Return the keys to type for a string: dates and times in the parts that their fields have."""
    keys, forms = _PARTS.get(tag, ("", ()))
    for form in forms:
        with suppress(ValueError):
            return datetime.strptime(text.strip(), form).strftime(keys)
    return text


def _argument(function: str, value: Any) -> str:
    """Return an argument of a function as a string; an integer may stand for its digits."""
    if type(value) in (str, int):
        return str(value)
    raise ScriptError(f"{function}() takes texts")
