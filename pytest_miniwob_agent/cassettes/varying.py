"""What differs in requests from run to run, and the `normalize` of an agent that leaves it out."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from pytest_miniwob_agent.cassettes.tape import Tape
from pytest_miniwob_agent.core.data import DATE, HEX, ID, MASKS, PATH, Mask, canonical_json

BEFORE = 24
"""Characters before a text that tell where it stands."""

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


def propose_method(varying: Sequence[Varying]) -> str:
    """Return the method `normalize` for an agent in Python."""
    names = ", ".join(sorted({one.kind.name.upper() for one in varying}))
    masks = ", ".join(one.code for one in varying)
    return (
        "Give the agent this method, or let the one that it has return such a request:\n\n"
        f"from pytest_miniwob_agent import {names}, masked\n\n"
        f"def normalize(self, request):\n    return masked(request, {masks})\n"
    )


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
    earlier = [call for call in [*tape.calls, *tape.spare] if call not in tape.added]
    asked = "".join(call.key for call in earlier)
    seen += "".join(canonical_json(call.answer) for call in [*tape.added, *earlier])
    days, folders = _days(), {tempfile.gettempdir(), str(Path.home()), str(Path.cwd())} - {"/"}

    def is_made_up(kind: Mask, text: str, own: bool) -> bool:
        if kind is DATE:
            return text.startswith(days) and (own or not (hidden and live_clock))
        if kind is PATH:
            return any(text == folder or text.startswith(f"{folder}/") for folder in folders)
        return kind in (ID, HEX) and (own or not hidden) and text not in asked

    found: dict[Varying, None] = {}
    for call in tape.added:
        for own, text in _strings(call.body):
            for kind, before, value in _find(text):
                if value not in seen and is_made_up(kind, value, own):
                    found[Varying(kind, before)] = None
    return list(found)


def _days() -> tuple[str, ...]:
    near = [date.today() + timedelta(days) for days in (-1, 0, 1)]
    forms = ("{:%Y-%m-%d}", "{0:%B} {0.day}, {0.year}", "{0:%b} {0.day}, {0.year}")
    return tuple(form.format(day) for day in near for form in forms)


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
