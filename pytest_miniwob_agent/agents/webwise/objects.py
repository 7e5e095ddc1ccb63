"""The objects of a page, as WebWISE's `getSummary` filters its elements (appendix B.2).

Read from the visible page as HTML. An object is an element whose tag or class is in a list. Other
elements, such as bold type or a heading, give their text to the object around them. A box that only
holds other objects is not an object itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lxml import html

from pytest_miniwob_agent.screen import legal

TAGS = frozenset({
    "button", "text", "input_time", "textarea", "polygon", "label", "input_password", "rect", "tt",
    "circle", "span", "input_text", "input_number", "input_date", "input_radio", "tspan",
    "input_checkbox", "t", "h3", "ul", "a", "p", "div", "th", "tr", "td",
    "li", "select", "option", "img", "ellipse", "path", "line",
})  # fmt: skip
"""The tags of the paper's listing 2, and in the last line those of tasks that the paper left out.
Inputs of all types are objects too."""

CLASSES = frozenset({"folder"})
"""The classes of the paper's listing 2."""

MAX_OBJECTS = 300
"""Objects that are shown of a page."""

MAX_TEXT = 1000
"""Characters that are shown of a text."""

_INLINE = frozenset({"a", "span", "tspan", "tt"})
"""Tags of objects that can stand within a text; their text is part of it."""

_CONTROLS = frozenset({"button", "a", "label", "select", "textarea"})
"""Tags that are objects even without a text or with objects inside."""

_ANONYMOUS = frozenset({"div", "span", "p", "ul", "li", "tr", "td", "th", "h3"})
"""Tags that are not objects without a text, id or class."""


@dataclass(frozen=True, slots=True)
class Object:
    """An element that passes the filter.

    `ref` is the id that actions take, None for an element that can't be acted upon. The `tag` of an
    input includes its type (`input_text`). `checked` is None where nothing can be checked or
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
        """What a program may call it: its tag, also without the type of an input, or a class."""
        return (self.tag, self.tag.partition("_")[0], *self.classes.split())

    @property
    def names(self) -> tuple[str, ...]:
        """The texts by which a program may find it."""
        return tuple(filter(None, (self.text, self.dom_id, self.placeholder, self.value)))

    def to_data(self) -> dict[str, str | bool]:
        """Return the object as programs see it, with empty texts for missing attributes."""
        return {
            "tag": self.tag,
            "text": self.text,
            "id": self.dom_id,
            "class": self.classes,
            "value": self.value or "",
            "checked": bool(self.checked),
        }


def read_objects(page: str, *, whole: bool = False) -> tuple[Object, ...]:
    """Read the objects of a page, in the page's order; none of a page that has judged.

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


def render_objects(objects: Iterable[Object], flags: Mapping[int | None, str] | None = None) -> str:
    """List objects, one per line; `flags` are marks by ref, such as `clicked`."""
    lines = [_line(obj, (flags or {}).get(obj.ref, "")) for obj in objects]
    if len(lines) > MAX_OBJECTS:
        lines[MAX_OBJECTS:] = [f"... and {len(lines) - MAX_OBJECTS} more"]
    return "\n".join(lines) or "(none)"


def find_objects(objects: Iterable[Object], kind: str, name: str) -> list[Object]:
    """Find the objects of a tag or class whose text, id, placeholder or value fits a name best.

    Equal names go before those that differ in case and spaces, and these before names that only
    contain the given one. An empty name fits every object.
    """
    fitting = [obj for obj in objects if _plain(kind) in map(_plain, obj.kinds)]
    plain = _plain(name)
    if not plain:
        return fitting
    return (
        [obj for obj in fitting if name in obj.names]
        or [obj for obj in fitting if plain in map(_plain, obj.names)]
        or [obj for obj in fitting if any(plain in _plain(other) for other in obj.names)]
    )


def _plain(text: str) -> str:
    return _squeeze(text).casefold()


def _line(obj: Object, flag: str) -> str:
    parts = [obj.tag]
    if obj.text:
        parts.append(_quote(obj.text))
    attributes = {
        "id": obj.dom_id or None,
        "class": obj.classes or None,
        "placeholder": obj.placeholder or None,
        "value": obj.value,
    }
    parts += [f"{name}={_quote(value)}" for name, value in attributes.items() if value is not None]
    if obj.checked is not None:
        word = "selected" if obj.tag == "option" else "checked"
        parts.append(f"{word}={'yes' if obj.checked else 'no'}")
    if flag:
        parts.append(f"[{flag}]")
    return " ".join(parts)


def _quote(text: str) -> str:
    """Quote a text on one line."""
    return json.dumps(text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…", ensure_ascii=False)


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _tag(element: html.HtmlElement) -> str:
    tag = str(element.tag)
    return f"input_{element.get('type', 'text').lower()}" if tag == "input" else tag


def _is_listed(element: html.HtmlElement) -> bool:
    tag = _tag(element)
    listed = tag in TAGS or tag.startswith("input_")
    return listed or not CLASSES.isdisjoint(element.get("class", "").split())


def _is_object(element: html.HtmlElement) -> bool:
    if not _is_listed(element):
        return False
    tag = _tag(element)
    if tag in _CONTROLS or tag.startswith("input_") or _text(element):
        return True
    if any(_is_listed(inner) for inner in element.iterdescendants("*")):
        return False
    return tag not in _ANONYMOUS or bool(element.get("id") or element.get("class"))


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
