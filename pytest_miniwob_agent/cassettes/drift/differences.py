"""The messages, tools and lines of text that differ between a request and the recorded one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from itertools import takewhile, zip_longest
from typing import Any

from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.cassettes.tape.pictures import Pictures
from pytest_miniwob_agent.core.chat import Message
from pytest_miniwob_agent.core.data import changed_parts
from pytest_miniwob_agent.core.errors import ChangedPicture
from pytest_miniwob_agent.core.text import counted, listed

SHOWN = 3
"""Changed messages whose lines are shown."""

CONTEXT = 2
"""Unchanged lines that are shown around a change."""

LONG = 160
"""Longer lines that changed are folded: only the changed words and some around them are shown."""


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of two requests, for people.

    Args:
        lines: the lines of the texts, those that differ marked `- ` or `+ `.
        where: the messages that differ, such as `message 3 (tool)`; of an unknown API the parts of
            the JSON; empty for requests of one message.
        part: what differs in the first of them, such as `its tool calls`; empty if it is the text.
    """

    lines: Sequence[str]
    where: str = ""
    part: str = ""

    @property
    def marked(self) -> list[str]:
        """The lines that differ."""
        return [line for line in self.lines if line[:2] in ("- ", "+ ")]


def differences_of(recorded: Request, request: Request) -> Differences:
    """Compare two requests."""
    if not request.is_known:
        parts = listed(changed_parts(dict(recorded.body), dict(request.body)))
        return Differences(diff(recorded.text, request.text), parts)
    if recorded.path != request.path:
        return Differences(diff(recorded.text, request.text))
    tools = []
    if recorded.tools != request.tools:
        dump = partial(json.dumps, indent=2, sort_keys=True, ensure_ascii=False)
        tools = ["tools:", *diff(dump(recorded.tools), dump(request.tools))]
    then, now = recorded.messages, request.messages
    if max(len(then), len(now)) == 1:
        return Differences([*diff(recorded.text, request.text), *tools])
    pairs = list(changed_pairs(then, now))
    if not pairs:
        return Differences(tools)
    names = [f"message {number} ({(new or old).role})" for number, old, new in pairs]
    lines = []
    for name, (_, old, new) in zip(names[:SHOWN], pairs, strict=False):
        lines += [f"{name}:", *diff(str(old or ""), str(new or ""))]
    if len(pairs) > SHOWN:
        lines.append(f"… and {counted(len(pairs) - SHOWN, 'more changed message')}")
    others = f" and {counted(len(pairs) - 1, 'more message')}" if pairs[1:] else ""
    # The first message that differs explains the others, as answers and screens follow from it.
    return Differences([*lines, *tools], names[0] + others, _changed_part(*pairs[0][1:]))


def changed_pairs(then: Sequence[Any], now: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Yield what differs in two lists: the number from 1, the old and the new entry, or None."""
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, then, now, autojunk=False).get_opcodes():
        if tag != "equal":
            for offset, (old, new) in enumerate(zip_longest(then[a1:a2], now[b1:b2])):
                yield (a1 if new is None else b1) + offset + 1, old, new


def _changed_part(then: Message | None, now: Message | None) -> str:
    """Name the part of a message that differs; empty if it is the text."""
    if then is None or now is None:
        return "removed" if then else "added"
    if then.role != now.role:
        return f"its role {then.role}, now {now.role}"
    if then.text != now.text:
        return ""
    if [*map(str, then.tool_calls)] != [*map(str, now.tool_calls)]:
        return "its tool calls"
    return "the ids of its tool calls" if now.tool_calls else "the id of its tool call"


def diff(old: str, new: str) -> list[str]:
    """Return the lines of two texts, those that differ marked `- ` or `+ `, equal ones folded."""
    a, b = old.splitlines(), new.splitlines()
    shown: list[str] = []
    opcodes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for tag, a1, a2, b1, b2 in opcodes:
        if tag == "equal":
            head = CONTEXT if shown else 0
            tail = CONTEXT if a2 < len(a) or b2 < len(b) else 0
            lines = [f"  {_fold(line)}" for line in a[a1:a2]]
            if (left := len(lines) - head - tail) > 1:
                lines[head : head + left] = [f"  … {left} unchanged lines"]
            shown += lines
        elif tag == "replace" and a2 - a1 == b2 - b1:
            pairs = [_pair(*pair) for pair in zip(a[a1:a2], b[b1:b2], strict=True)]
            shown += [f"- {before}" for before, _ in pairs] + [f"+ {after}" for _, after in pairs]
        else:
            shown += [f"- {line}" for line in a[a1:a2]] + [f"+ {line}" for line in b[b1:b2]]
    return shown


def _fold(line: str, head: bool = True, tail: bool = True) -> str:
    """Cut the middle out of a long text; whole words of its beginning and its end are kept."""
    if len(line) <= LONG // 2:
        return line
    start = line[: LONG // 4].rpartition(" ")[0] if head else ""
    end = line[-LONG // 4 :].partition(" ")[2] if tail else ""
    return f"{start} … {end}"


def _pair(old: str, new: str) -> tuple[str, str]:
    """Return two versions of a line; of long ones, what differs and some words around it."""
    if max(len(old), len(new)) <= LONG:
        return old, new
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    if start + end < LONG // 2:
        return old, new
    before, after = _fold(old[:start], head=False), _fold(old[len(old) - end :], tail=False)
    pair = [f"{before}{line[start : len(line) - end]}{after}".strip() for line in (old, new)]
    return pair[0], pair[1]


def _common(old: str, new: str) -> int:
    """Return the number of characters that two texts have in common at their beginning."""
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))])


def changed_pictures(
    recorded: Request, request: Request, pictures: Pictures
) -> list[ChangedPicture]:
    """Return the pictures that differ, in order; new ones and differences are kept as files."""
    from pytest_miniwob_agent.pictures.image import compare, decoded, shown_difference

    changed = []
    for number, then, now in changed_pairs(recorded.pictures, request.pictures):
        what, difference = "added" if now else "removed", None
        if then and now:
            left, right = pictures.read(then), pictures.read(now)
            sizes = [" x ".join(map(str, decoded(png).size)) for png in (left, right)]
            what = str(compare(left, right) or f"{sizes[0]} pixels, now {sizes[1]}")
            difference = pictures.keep(f"{then}-{now}", shown_difference(left, right))
        paths = [digest and pictures.path_of(digest) for digest in (then, now)]
        changed.append(ChangedPicture(number, what, paths[0], paths[1], difference))
    return changed
