"""The objects of a page, as WebWISE's `getSummary` filters its elements (appendix B.2).

Read from the visible page as HTML. An object is an element whose tag or class is in a list. Other
elements, such as bold type or a heading, give their text to the object around them. A box that only
holds other objects is not an object itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lxml import html

from pytest_miniwob_agent.screen import legal

TAGS = frozenset({
    "button", "text", "input_time", "textarea", "polygon", "label", "input_password", "rect", "tt",
    "circle", "span", "input_text", "input_number", "input_date", "input_radio", "tspan",
    "input_checkbox", "t", "h3", "ul", "a", "p", "div", "th", "tr", "td",
})  # fmt: skip
"""The tags of the paper's listing 2. Its `t` is text beside elements, which is part of the object
around it here."""

MORE_TAGS = frozenset({"li", "select", "option", "img", "ellipse", "path", "line"})
"""Tags of tasks that the paper left out: lists and shapes. Inputs of all types are objects too."""

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


def render_objects(objects: Iterable[Object], flags: Mapping[int, str] | None = None) -> str:
    """List objects, one a line; `flags` are marks by ref, such as `clicked`."""
    lines = [_line(each, (flags or {}).get(each.ref or 0, "")) for each in objects]
    if len(lines) > MAX_OBJECTS:
        lines[MAX_OBJECTS:] = [f"... and {len(lines) - MAX_OBJECTS} more"]
    return "\n".join(lines) or "(none)"


def find_objects(objects: Iterable[Object], kind: str, name: str) -> list[Object]:
    """Find the objects of a tag or class whose text, id, placeholder or value fits a name best.

    Equal names go before those that differ in case and spaces, and these before names that only
    contain the given one. An empty name fits every object.
    """
    plain_kind, plain_name = _plain(kind), _plain(name)
    fitting = [each for each in objects if plain_kind in _kinds(each)]
    if not plain_name:
        return fitting
    return (
        [each for each in fitting if name in _names(each)]
        or [each for each in fitting if plain_name in map(_plain, _names(each))]
        or [
            each
            for each in fitting
            if any(plain_name in _plain(each_name) for each_name in _names(each))
        ]
    )


def _kinds(each: Object) -> tuple[str, ...]:
    return tuple(map(_plain, (each.tag, each.tag.partition("_")[0], *each.classes.split())))


def _names(each: Object) -> tuple[str, ...]:
    return tuple(filter(None, (each.text, each.dom_id, each.placeholder, each.value)))


def _plain(text: str) -> str:
    return _squeeze(text).casefold()


def _line(each: Object, flag: str) -> str:
    parts = [each.tag]
    if each.text:
        parts.append(_quote(each.text))
    for name, value in (
        ("id", each.dom_id or None),
        ("class", each.classes or None),
        ("placeholder", each.placeholder or None),
        ("value", each.value),
    ):
        if value is not None:
            parts.append(f"{name}={_quote(value)}")
    if each.checked is not None:
        word = "selected" if each.tag == "option" else "checked"
        parts.append(f"{word}={'yes' if each.checked else 'no'}")
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
    listed = tag in TAGS or tag in MORE_TAGS or tag.startswith("input_")
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
    value = checked = list_ref = None
    among_others = False
    if tag in ("input_checkbox", "input_radio"):
        checked = element.get("checked") is not None
    elif tag == "option":
        checked = element.get("selected") is not None
        for owner in element.iterancestors("select"):
            among_others = owner.get("multiple") is not None
            if not among_others and owner.get("size", "1") in ("0", "1"):
                list_ref = _ref(owner)
    elif tag.startswith("input_"):
        value = element.get("value", "")
    elif tag == "textarea":
        value = element.text or ""
    return Object(
        _ref(element),
        tag,
        _text(element),
        _squeeze(element.get("id", "")),
        _squeeze(element.get("class", "")),
        _squeeze(element.get("placeholder", "")),
        value,
        checked,
        list_ref,
        among_others,
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
