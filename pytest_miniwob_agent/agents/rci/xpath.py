"""XPaths of a model, evaluated on the HTML that the model was shown, at a bounded cost."""

from __future__ import annotations

import re
from typing import NamedTuple

from lxml import etree, html

from pytest_miniwob_agent.screen import legal

XPATH_LIMIT = 500
"""Characters of an XPath."""

CONDITIONS_LIMIT = 5
"""Depth of conditions in brackets within each other."""

OUTWARD_LIMIT = 4
"""Steps of an XPath that look beyond its present element: by `..`, sideways or upwards, or in a
condition from the top again. Each may cost the square of the page's size. In a condition within
another, or twice in one path of a condition, they may cost its cube, and are refused."""


class BadXPath(Exception):
    """An XPath that can't be evaluated; prompts repeat the message."""


class Found(NamedTuple):
    """An element that an XPath selects: the id that actions take, and its text."""

    ref: int
    text: str


def find(page: str, xpath: str) -> list[Found]:
    """Find the elements of a page's HTML (`Environment.html`) that an XPath selects.

    In the order of the page, each once; a text or an attribute selects its element. Empty where
    nothing matches.

    Raises:
        BadXPath: it is not an XPath, its result is not nodes, or it could take too long.
    """
    if len(xpath) > XPATH_LIMIT:
        raise BadXPath(f"it has {len(xpath)} characters, and {XPATH_LIMIT} is the limit")
    if legal(xpath) != xpath:
        raise BadXPath("it has a character that no page can hold")
    try:
        select = etree.XPath(xpath)
        _check_cost(xpath)
        tree = html.document_fromstring(legal(page) or "<body></body>")
        found = select(tree)
    except etree.XPathError as error:
        raise BadXPath(f"it is not a valid XPath: {error}") from None
    if not isinstance(found, list):
        raise BadXPath("it gives a text, a number or a truth value and selects no element")
    owners = (node if isinstance(node, etree._Element) else _owner(node) for node in found)
    elements = dict.fromkeys(owner for owner in owners if owner is not None)
    return [
        Found(int(ref), " ".join("".join(element.itertext()).split()))
        for element in elements
        if (ref := element.get("data-ref") or "").isdecimal()  # a comment has None for a default
    ]


def _owner(found: object) -> etree._Element | None:
    """Return the element that a selected text or attribute belongs to."""
    if not isinstance(found, etree._ElementUnicodeResult):
        return None
    parent = found.getparent()
    return parent.getparent() if parent is not None and found.is_tail else parent


_TOKEN = re.compile(
    r"""\s*(?:"[^"]*"|'[^']*'|\d+(?:\.\d*)?|\.\d+|//|::|\.\.|!=|[<>]=|"""
    r"""(?P<name>[^\W\d][\w.-]*(?::(?!:)[^\W\d][\w.-]*)?)|.)\s*""",
    re.S,
)
_BEFORE_OPERAND = {
    "@", "::", "(", "[", ",", "/", "//", "|", "+", "-", "=", "!=", "<", "<=", ">", ">=",
}  # fmt: skip
_DOWNWARD = {"child", "descendant", "descendant-or-self", "self", "attribute", "parent"}


def _check_cost(xpath: str) -> None:
    """Refuse a valid XPath that could take long on a large page.

    Raises:
        BadXPath: it looks beyond its element too often, or its conditions are nested too deep.
    """
    tokens = [match[0].strip() for match in _TOKEN.finditer(xpath)]
    total = 0
    path = [0]  # of each open bracket: steps of its present path that look outward
    operand = False  # True after an operand, where `*` and names are operators (XPath 1.0, 3.7)
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        operator = operand and (token == "*" or token[0].isalpha())
        inside = len(path) > 1
        parent = token == ".." or (token == "parent" and following == "::")
        if (
            (following == "::" and token not in _DOWNWARD)
            or (following == "(" and token == "id")
            or (inside and parent)
            or (inside and token in ("/", "//") and not operand)
        ):
            total += 1
            path[-1] = (path[-1] or 1) if parent else path[-1] + 1  # a parent's parent counts once
            if inside and path[-1] > 1:
                raise BadXPath("a condition looks beyond its element, and from there beyond again")
            if len(path) > 2:
                raise BadXPath("a condition that looks beyond its element stands in another one")
        if operator and token in ("and", "or"):
            path[-1] = 0
        if token == "[":
            path.append(0)
        elif token == "]":
            path.pop()
        operand = not operator and token not in _BEFORE_OPERAND
        if len(path) - 1 > CONDITIONS_LIMIT:
            raise BadXPath(f"conditions stand more than {CONDITIONS_LIMIT} deep in one another")
    if total > OUTWARD_LIMIT:
        raise BadXPath(f"it looks beyond its element more than {OUTWARD_LIMIT} times")
