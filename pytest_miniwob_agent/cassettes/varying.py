"""What differs in requests from run to run, and the `normalize` of an agent that leaves it out."""

from __future__ import annotations

import ast
import inspect
import re
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from pytest_miniwob_agent.cassettes.tape import Tape
from pytest_miniwob_agent.core.data import (
    DATE,
    HEX,
    ID,
    MASKS,
    PATH,
    TIME,
    TIMESTAMP,
    Mask,
    canonical_json,
)

BEFORE = 24
"""Characters before a text that tell where it stands."""

AGO = timedelta(minutes=10)
"""How long ago a time of day may be to be taken for that of the recording."""

# Up to the end of a word with a digit, which may be another one in the next run.
_NUMBERED = re.compile(r".*\d\S*", re.DOTALL)

_MESSAGES = ("messages", "input", "contents")


class Varying(NamedTuple):
    """A kind of text, and what directly precedes it in a request; empty if nothing does."""

    kind: Mask
    before: str = ""

    @property
    def mask(self) -> Mask:
        return self.kind.after(self.before) if self.before else self.kind

    @property
    def code(self) -> str:
        """The mask as Python."""
        name = self.kind.name.upper()
        return f"{name}.after({self.before!r})" if self.before else name

    def __str__(self) -> str:
        return f"the {self.kind.name} after {self.before!r}" if self.before else self.kind.name


Propose = Callable[[Sequence[Varying]], str]
"""Returns what the user of an agent has to paste so that its requests match without some text."""


def propose_method(varying: Sequence[Varying], agent: object = None) -> str:
    """Return the method `normalize` for an agent in Python; it does what its own one does, too."""
    names = ", ".join(sorted({one.kind.name.upper() for one in varying}))
    masks = ", ".join(one.code for one in varying)
    method = f"def normalize(self, request):\n    return masked(request, {masks})"
    what = "Give the agent this method"
    if hasattr(agent, "normalize"):
        what += ", or let the one that it has return such a request"
        if extended := _extended(type(agent).normalize, masks):
            what, method = "Replace the agent's method by this one", extended
    return f"{what}:\n\nfrom pytest_miniwob_agent import {names}, masked\n\n{method}\n"


def _extended(method: Any, masks: str) -> str:
    """Return the source of a method that masks what this one returns; empty if it has no source."""
    try:
        [function] = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    except (OSError, TypeError, SyntaxError):
        return ""
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.FunctionDef) for node in nodes[1:]):
        return ""  # whose returns are none of the method
    for node in nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            code = ast.unparse(node.value)
            own = code.startswith("masked(") and isinstance(node.value, ast.Call)
            code = f"{code[:-1]}, {masks})" if own else f"masked({code}, {masks})"
            node.value = ast.parse(code, mode="eval").body
    return ast.unparse(function)


def find_differing(then: Any, now: Any) -> Iterator[tuple[Varying, str, str]]:
    """Yield what differs in strings of two bodies though it is of a known kind: then, and now."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for name in sorted(then.keys() & now.keys()):
            yield from find_differing(then[name], now[name])
    elif isinstance(then, list) and isinstance(now, list):
        for pair in zip(then, now, strict=False):
            yield from find_differing(*pair)
    elif isinstance(then, str) and isinstance(now, str) and then != now:
        old, new = _find(then), _find(now)
        if [kind for kind, *_ in old] == [kind for kind, *_ in new]:
            for (kind, before, was), (_, other, is_now) in zip(old, new, strict=True):
                if was != is_now:
                    pairs = zip(reversed(before), reversed(other), strict=False)
                    length = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
                    same = before[len(before) - length :]
                    yield Varying(kind, same if same.strip() else ""), was, is_now


def _find(text: str) -> list[tuple[Mask, str, str]]:
    """Return the texts of known kinds in a string: the kind, what precedes it, and the text."""
    if text.startswith(("data:", "pictures/")):
        return []
    kinds = {mask.name: mask for mask in MASKS}
    any_kind = "|".join(f"(?P<{name}>{mask.pattern})" for name, mask in kinds.items())
    found, end = [], 0
    for match in re.finditer(any_kind, text):
        before = text[end : match.start()][-BEFORE:]
        found.append((kinds[match.lastgroup or ""], before if before.strip() else "", match[0]))
        end = match.end()
    return found


def find_made_up(tape: Tape, seen: str, *, hidden: bool, live_clock: bool) -> list[Varying]:
    """Return what the recorded requests of a tape hold that will not be the same in a replay.

    That are dates of today, folders of this machine, and random ids. What comes from the page is
    the same in a replay, and so is what the model has said: `seen` is the text of the page. If it
    is `hidden`, as from a program that reads the page itself, ids in messages may be the page's,
    and dates too if its clock began at the time of the recording (`live_clock`).
    """
    new = [*tape.added, *tape.deferred]
    earlier = [call for call in [*tape.calls, *tape.spare] if call not in new]
    asked = "".join(call.key for call in earlier)
    seen += "".join(canonical_json(call.answer) for call in [*new, *earlier])
    folders = {tempfile.gettempdir(), str(Path.home()), str(Path.cwd())} - {"/"}

    def is_made_up(kind: Mask, text: str, own: bool) -> bool:
        if kind in (DATE, TIME, TIMESTAMP):
            return _is_near(kind, text) and (own or not (hidden and live_clock))
        if kind is PATH:
            return any(text == folder or text.startswith(f"{folder}/") for folder in folders)
        return kind in (ID, HEX) and (own or not hidden) and text not in asked

    found: dict[Varying, None] = {}
    for call in new:
        for own, text in _strings(call.body):
            for kind, before, value in _find(text):
                if value not in seen and is_made_up(kind, value, own):
                    before = _NUMBERED.sub("", before)
                    found[Varying(kind, before if before.strip() else "")] = None
    return list(found)


def _is_near(kind: Mask, text: str) -> bool:
    """True for a date of these days, or a time of some minutes ago, in this time zone or in UTC."""
    now, day = datetime.now(), timedelta(days=1)
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if kind is TIMESTAMP:
        return abs(int(text[:10]) - time.time()) < day.total_seconds()
    if kind is TIME:
        told = timedelta(hours=numbers[0], minutes=numbers[1])
        midnight = now.replace(hour=0, minute=0)
        ago = (one - midnight - told for one in (now, datetime.now(UTC).replace(tzinfo=None)))
        return any(one % (day / 2) < AGO for one in ago)
    return any(
        text.startswith(f"{one:%Y%m%d}T")
        or ({one.year, one.day} <= {*numbers} and (one.month in numbers or f"{one:%b}" in text))
        for one in (now - day, now, now + day)
    )


def _strings(body: Any, own: bool = True) -> Iterator[tuple[bool, str]]:
    """Yield the strings of a request, and True for those that can't be from the page."""
    if isinstance(body, str):
        yield own, body
    elif isinstance(body, list):
        for part in body:
            yield from _strings(part, own)
    elif isinstance(body, Mapping):
        own = own or body.get("role") in ("system", "developer")
        for name, part in body.items():
            yield from _strings(part, own and name not in _MESSAGES)
