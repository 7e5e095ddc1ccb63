"""RCI's instructions: read from a reply, and turned into actions on the page (appendix D).

Their XPaths are evaluated on the HTML that the model was shown, at a bounded cost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree, html

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
from pytest_miniwob_agent.screen import legal

KEYS = ("enter", "arrowleft", "arrowright", "arrowup", "arrowdown", "backspace")
"""Keys that `press` takes (listing 1)."""


XPATH_LIMIT = 500
"""Characters of an XPath."""

COST_LIMIT = 100_000_000
"""Elements that an XPath may look at."""


class Inadmissible(Exception):
    """An instruction that can't be carried out; prompts repeat the message."""


class BadXPath(Inadmissible):
    """An XPath that can't be evaluated."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"its XPath can't be followed, {reason}")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a reply, split at its first word; `done` has no argument."""

    verb: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.argument}".strip()


_LEAD = re.compile(
    r"(?:[\s\-*\u2022>]|\(?\d+\s*[.):](?=\s)"
    r"|(?:[a-z]+ ){0,3}(?:instruction|step|answer)\s*+\d*+\s*+(?:is\s*+)?:)*",
    re.I,
)
_FORM = re.compile(r"(type|press|clickoption|movemouse|clickxpath)\s+(\S.*)", re.I)
_DONE = re.compile(r"\W*(?:done|none|nothing(?: (?:is )?left(?: to do)?)?)\W*", re.I)
_STOP = re.compile(r"(?<=[\w\])*\"'])[.,;]+$")
_WRAPPERS = ("``", '""', "''", "\u201c\u201d", "**")


def parse_instruction(reply: str) -> Instruction:
    """Read the first instruction of a reply; words, quotes and marks around it are skipped.

    Raises:
        Inadmissible: no line has one of the five forms, or it presses a key that is not allowed.
    """
    lines = reply.splitlines()
    for part in (part for line in lines for part in (line, *re.findall(r"`([^`]+)`", line))):
        part = _unwrap(_LEAD.sub("", _unwrap(part.strip()), count=1).strip())
        if match := _FORM.fullmatch(part):
            return _instruction(match[1].lower(), match[2].strip())
        if _DONE.fullmatch(part):
            return Instruction("done")
    raise Inadmissible("it is of none of the five forms")


def _instruction(verb: str, argument: str) -> Instruction:
    """Make an instruction, without quotes around its argument or a stop behind it."""
    if verb != "type":
        argument = _STOP.sub("", argument)
    bare = _unwrap(argument)
    if bare and argument[0] not in bare:  # "a" or "b" is not a text in quotes
        argument = bare
    if verb == "press":
        argument = argument.lower()
        if argument not in KEYS:
            raise Inadmissible(f"there is no key of that name to press, only {', '.join(KEYS)}")
    return Instruction(verb, argument)


def _unwrap(text: str) -> str:
    """Remove the quotes, code marks or stars that enclose a text."""
    while len(text) > 1 and text[0] + text[-1] in _WRAPPERS:
        text = text[1:-1].strip()
    return text


def find_actions(instruction: Instruction, page: str) -> tuple[Action, ...]:
    """Return the actions of an instruction, other than `done`, on a page with this HTML.

    Raises:
        Inadmissible: its XPath is invalid, or selects no element that fits.
    """
    if instruction.verb == "type":
        return (Type(instruction.argument),)
    if instruction.verb == "press":
        return (Press(instruction.argument.upper()),)
    if not (found := find(page, instruction.argument)):
        raise Inadmissible("its XPath selects no element of the page as it is shown")
    ref, text = found[0]
    if instruction.verb == "clickxpath":
        return (Click(ref),)
    if instruction.verb == "movemouse":
        return (Hover(ref),)
    this = f'//option[@data-ref="{ref}"]'
    if not find(page, this):
        raise Inadmissible("its XPath selects no <option>; anything else takes clickxpath")
    if dropping := find(page, f"{this}/ancestor::select[not(@multiple or @size > 1)]"):
        return (Choose(text, dropping[0][0]),)
    if not find(page, f"{this}/ancestor::select[@multiple]"):
        return (Click(ref),)
    if find(page, f"{this}[@selected]"):
        return ()
    return (Hold("CTRL"), Click(ref), Release("CTRL"))  # keeps the others selected


def find(page: str, xpath: str) -> list[tuple[int, str]]:
    """Return ids and texts of the elements of a page's HTML that an XPath selects.

    In the order of the page, each once; a text or an attribute selects its element.

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
    return [
        (int(ref), " ".join("".join(element.itertext()).split()))
        for element in tree.xpath(f"({xpath})/ancestor-or-self::*[1]")
        if (ref := element.get("data-ref", "")).isdecimal()
    ]


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
