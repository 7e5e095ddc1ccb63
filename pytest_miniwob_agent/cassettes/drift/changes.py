"""Changes between a request and the recorded one: the messages and the lines that differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from pytest_miniwob_agent.cassettes.drift.diff import diff
from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.core.chat import Message
from pytest_miniwob_agent.core.data import changed_parts
from pytest_miniwob_agent.core.text import counted, listed

SHOWN = 3
"""Changed messages, and changed tools, whose lines are shown."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences of two requests, for people.

    Args:
        lines: the lines of the texts, those that differ marked `- ` or `+ `.
        where: the messages that differ, such as `message 3 (tool)`, of an unknown API the parts of
            the JSON; empty for requests of one text.
        part: what is different of the first of these messages, such as `its tool calls`; empty if
            it is its text.
    """

    lines: Sequence[str]
    where: str = ""
    part: str = ""

    @property
    def marked(self) -> list[str]:
        """The lines that differ."""
        return [line for line in self.lines if line[:2] in ("- ", "+ ")]


def changes_of(recorded: Request, request: Request) -> Changes:
    """Compare two requests."""
    then, now = recorded.messages, request.messages
    lines = _lines_of_tools(recorded, request)
    if not request.is_known:
        parts = listed(changed_parts(dict(recorded.body), dict(request.body)))
        return Changes(diff(recorded.text, request.text), parts)
    if recorded.path != request.path or max(len(then), len(now)) == 1:
        return Changes([*diff(recorded.text, request.text), *lines])
    changed = [*_changed(then, now)]
    shown = [line for each in changed[:SHOWN] for line in each.lines()]
    if len(changed) > SHOWN:
        shown.append(f"… and {counted(len(changed) - SHOWN, 'more changed message')}")
    names = [each.name for each in changed]
    others = f" and {counted(len(names) - 1, 'more message')}" if names[1:] else ""
    where = names[0] + others if names else ""
    # The first message that differs explains the others, as answers and screens follow from it.
    return Changes([*shown, *lines], where, changed[0].part if changed else "")


@dataclass(frozen=True, slots=True)
class _Changed:
    """A message that changed; None where there is no such message."""

    number: int
    then: Message | None
    now: Message | None

    @property
    def name(self) -> str:
        message = self.now or self.then
        assert message is not None
        return f"message {self.number} ({message.role})"

    @property
    def part(self) -> str:
        """The part that is different; empty if it is the text."""
        if self.then is None:
            return "added"
        if self.now is None:
            return "removed"
        if self.then.role != self.now.role:
            return f"its role {self.then.role}, now {self.now.role}"
        if self.then.text != self.now.text:
            return ""
        if [*map(str, self.then.tool_calls)] != [*map(str, self.now.tool_calls)]:
            return "its tool calls"
        return "the ids of its tool calls" if self.now.tool_calls else "the id of its tool call"

    def lines(self) -> Iterator[str]:
        """Yield the name and the lines of the message."""
        yield f"{self.name}:"
        found = diff(str(self.then or ""), str(self.now or ""))
        if not any(line[:2] in ("- ", "+ ") for line in found) and self.then and self.now:
            yield from diff(_with_ids(self.then), _with_ids(self.now))
        else:
            yield from found


def _with_ids(message: Message) -> str:
    ids = [message.tool_call_id or "", *(f"{call.id} {call}" for call in message.tool_calls)]
    return "\n".join([f"[{message.role}]", *filter(None, ids)])


def _changed(then: Sequence[Message], now: Sequence[Message]) -> Iterator[_Changed]:
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, then, now, autojunk=False).get_opcodes():
        if tag != "equal":
            for offset, (old, new) in enumerate(zip_longest(then[a1:a2], now[b1:b2])):
                yield _Changed((a1 if new is None else b1) + offset + 1, old, new)


def _lines_of_tools(recorded: Request, request: Request) -> list[str]:
    """Return the lines of the tools that changed, as JSON; without those that came or went."""
    if recorded.path != request.path:
        return []
    then, now = recorded.tools, request.tools
    names = [name for name in then if name in now and then[name] != now[name]]
    lines = []
    for name in names[:SHOWN]:
        lines += [f"the tool {name}:", *diff(_json(then[name]), _json(now[name]))]
    if len(names) > SHOWN:
        lines.append(f"… and {counted(len(names) - SHOWN, 'more changed tool')}")
    return lines


def _json(tool: Any) -> str:
    return json.dumps(tool, indent=2, sort_keys=True, ensure_ascii=False)
