"""RCI's instructions: read from a reply, and turned into actions on the page (appendix D)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_miniwob_agent.agents.rci.xpath import BadXPath, Found, find
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

KEYS = ("enter", "arrowleft", "arrowright", "arrowup", "arrowdown", "backspace")
"""Keys that `press` takes (listing 1)."""


class Inadmissible(Exception):
    """An instruction that can't be carried out; prompts repeat the message."""


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
    for line in reply.splitlines():
        for part in (line, *re.findall(r"`([^`]+)`", line)):
            part = _unwrap(part.strip())
            part = _unwrap(part[_LEAD.match(part).end() :].strip())  # type: ignore[union-attr]
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
    match instruction.verb:
        case "type":
            return (Type(instruction.argument),)
        case "press":
            return (Press(instruction.argument.upper()),)
    try:
        found = find(page, instruction.argument)
    except BadXPath as error:
        raise Inadmissible(f"its XPath can't be followed, {error}") from None
    if not found:
        raise Inadmissible("its XPath selects no element of the page as it is shown")
    match instruction.verb:
        case "clickxpath":
            return (Click(found[0].ref),)
        case "movemouse":
            return (Hover(found[0].ref),)
    return _choose(found[0], page)


def _choose(option: Found, page: str) -> tuple[Action, ...]:
    """Return the actions that select an option, and keep others selected where a list allows it."""
    this = f'//option[@data-ref="{option.ref}"]'
    if not find(page, this):
        raise Inadmissible("its XPath selects no <option>; anything else takes clickxpath")
    if dropping := find(page, f"{this}/ancestor::select[not(@multiple or @size > 1)]"):
        return (Choose(option.text, dropping[0].ref),)
    if not find(page, f"{this}/ancestor::select[@multiple]"):
        return (Click(option.ref),)
    if find(page, f"{this}[@selected]"):
        return ()
    return (Hold("CTRL"), Click(option.ref), Release("CTRL"))
