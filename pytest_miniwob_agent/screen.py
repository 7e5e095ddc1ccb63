"""The page as text for a language model: compact pseudo-HTML, one line per visible leaf, or a tree.

As in section 3.2 of the reflective agent's paper: a leaf keeps its id, class, text, placeholder,
value and its cell of a 3 x 3 grid. lxml writes it, so no text of a page breaks out of its line.

A line of the tree has role, name, id, value and states: `checkbox "Accept" id=4 checked required`.
Texts are in quotes, as in JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from itertools import pairwise

from lxml import etree

from pytest_miniwob_agent.core.observations import Element

AREA = (160, 210)
"""Width and height in CSS pixels of a task's area, which is divided into the grid."""

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def cell(x: float, y: float) -> str:
    """The grid cell of a point in CSS pixels, such as `top-left`; outside the area the nearest."""
    column = min(2, max(0, int(x * 3 / AREA[0])))
    row = min(2, max(0, int(y * 3 / AREA[1])))
    names = ["top", "", "bottom"][row], ["left", "", "right"][column]
    return "-".join(filter(None, names)) or "center"


def render(elements: Iterable[Element], disabled: Collection[int] = ()) -> str:
    """Render elements, one per line, without the ids that are `disabled` (5.2)."""
    return "\n".join(
        _tree_line(element, element.id in disabled, after.depth > element.depth)
        if element.role
        else _line(element, element.id in disabled)
        for element, after in pairwise([*elements, Element(None, "end")])
    )


def _tree_line(element: Element, disabled: bool, has_lines: bool) -> str:
    parts = [element.role, *([_quoted(element.text)] if element.text else [])]
    if element.id is not None and not disabled:
        parts.append(f"id={element.id}")
    written = None if has_lines else element.value  # what an editor has is below it
    value = [("value", written)] if isinstance(written, str) else []
    for name, detail in [*value, *element.details]:
        plain = re.fullmatch(r"[\w.,%/:#-]+", detail)
        shown = detail if plain else _quoted(detail)
        parts.append(detail if name == "state" else f"{name}={shown}")
    return "  " * element.depth + " ".join(parts)


def _quoted(text: str) -> str:
    return json.dumps(legal(text), ensure_ascii=False)


def _line(element: Element, disabled: bool) -> str:
    node = etree.Element(re.sub(r"[^a-z0-9_-]", "_", element.tag.lower()))
    flag = "selected" if element.tag == "option" else "checked"
    attributes = {
        "id": "" if element.id is None or disabled else str(element.id),
        "class": element.classes or ("" if element.details else element.dom_id),
        "placeholder": element.placeholder,
        flag: str(element.value).lower() if isinstance(element.value, bool) else "",
        **(dict(element.details) or {"pos": cell(element.x, element.y)}),
    }
    for name, value in attributes.items():
        if value:
            node.set(name, legal(value))
    if isinstance(element.value, str):
        node.set("value", legal(element.value))
    node.text = legal(element.text)
    return etree.tostring(node, encoding="unicode").replace("\n", "&#10;")


def legal(text: str) -> str:
    """The text with characters that XML does not allow replaced by U+FFFD."""
    return _ILLEGAL.sub("\ufffd", text)
