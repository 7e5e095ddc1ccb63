"""XPaths of a model, evaluated on the HTML that the model was shown, at a bounded cost."""

from __future__ import annotations

import re
from typing import NamedTuple

from lxml import etree, html

from pytest_miniwob_agent.screen import legal

XPATH_LIMIT = 500
"""Characters of an XPath."""

COST_LIMIT = 100_000_000
"""Elements that an XPath may look at."""


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
        tree = html.document_fromstring(legal(page) or "<body></body>")
        if sum(1 for _ in tree.iter()) ** (1 + _outward_steps(xpath)) > COST_LIMIT:
            raise BadXPath("it looks beyond its elements too often for a page of this size")
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


_STEP = re.compile(
    r"""\"[^"]*"|'[^']*'|(?P<bracket>[][])|(?P<inner>//|\.\.|\bdescendant|\bid\s*\(|\bparent\s*::)"""
    r"""|(?P<outer>\b(?:ancestor|following|preceding)[a-z-]*\s*::)"""
)


def _outward_steps(xpath: str) -> int:
    """Count the steps that may look at the whole page again for each element.

    Those are steps sideways and upwards, and in a condition also those to descendants and parents.
    """
    depth = steps = 0
    for match in _STEP.finditer(xpath):
        depth += {"[": 1, "]": -1}.get(match[0], 0)
        steps += match["outer"] is not None or (depth > 0 and match["inner"] is not None)
    return steps
