"""What differs between a model call and the recorded ones, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.file import Call, messages_text
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import Cause, Drift
from pytest_miniwob_agent.core.events import Origin

CONTEXT = 2
"""Unchanged lines that are shown around a change."""

LONG = 160
"""Longer lines that changed are folded to what changed in them, with some words around it."""


def drift_of_call(
    path: Path, body: Mapping[str, Any], origin: Origin | None, calls: Sequence[Call], played: int
) -> Drift:
    """Why a call can't be replayed.

    Args:
        path: the cassette, for the message.
        body: the request.
        origin: where the request comes from, if that is known.
        calls: the recorded calls, those that were replayed first.
        played: how many of them were replayed.
    """
    here = f"call {played + 1}" + (f" ({origin})" if origin else "")
    head = f"{path}\ndoes not hold {here}."
    key = canonical_json(body)
    for number, call in enumerate(calls, start=1):
        if call.key == key:
            what = f"it asks again what {_name(number, call)} asked"
            return Drift(f"{head}\nThe agent: {what}, which was replayed.", [Cause("agent", what)])
    if len(calls) == played:
        what = f"it makes more calls than the {played} that are recorded"
        return Drift(f"{head}\nThe agent: {what}.", [Cause("agent", what)])
    number, call = _nearest(body, origin, calls, played)
    lines = diff(messages_text(call.body), messages_text(body))
    changes = [line for line in lines if line[:2] in ("- ", "+ ")]
    causes = _causes(body, origin, call, changes)
    said = "\n".join(f"  {_ABOUT[cause.kind]}: {cause.what}" for cause in causes)
    report = f"{head}\nIt is nearest to {_name(number, call)}, but for\n{said}"
    if changes:
        report += "\nWhat changed (- recorded, + now):\n" + "\n".join(lines)
    return Drift(report, causes, changes)


def drift_of_rest(path: Path, calls: Sequence[Call], played: int, left: Sequence[Call]) -> Drift:
    """Why an item that came to its end has drifted: it did not make all its recorded calls."""
    names = [_name(calls.index(call) + 1, call) for call in left]
    what = f"{len(left)} recorded call{'s were' if len(left) > 1 else ' was'} not made"
    return Drift(
        f"{path}\nholds {len(calls)} calls, and the item came to its end after {played}. Left over:"
        + "".join(f"\n  {name}" for name in names),
        [Cause("rest", what)],
    )


_ABOUT = {
    "prompt": "the prompt text",
    "page": "the page",
    "agent": "the agent",
    "model": "the model or its parameters",
    "unknown": "a reason that the cassette can't tell",
    "rest": "the end of the item",
}


def heading(cause: Cause) -> str:
    """A cause in a few words."""
    if cause.kind in ("prompt", "model"):
        return f"{_ABOUT[cause.kind]} changed: {cause.what}"
    return {
        "page": "the page is not as it was",
        "agent": "the agent does something else",
        "unknown": "the calls differ (the cassettes are too old to tell why)",
        "rest": "recorded calls were left over",
    }[cause.kind]


def _name(number: int, call: Call) -> str:
    return f"call {number}" + (f" ({call.origin})" if call.origin else "")


def _nearest(
    body: Mapping[str, Any], origin: Origin | None, calls: Sequence[Call], played: int
) -> tuple[int, Call]:
    """The unplayed call that reads most like the request; of two, the one made at its place."""
    lines = messages_text(body).splitlines()

    def likeness(number: int) -> tuple[float, bool, int]:
        call = calls[number - 1]
        there = messages_text(call.body).splitlines()
        ratio = SequenceMatcher(None, there, lines, autojunk=False).ratio()
        same = bool(origin and call.origin) and str(origin) == str(call.origin)
        return ratio, same, -number

    number = max(range(played + 1, len(calls) + 1), key=likeness)
    return number, calls[number - 1]


def _causes(
    body: Mapping[str, Any], now: Origin | None, call: Call, changes: Sequence[str]
) -> list[Cause]:
    causes = []
    names = sorted((body.keys() | call.body.keys()) - {"messages"})
    if params := [name for name in names if body.get(name) != call.body.get(name)]:
        what = ", ".join(
            f"{name} {_was(name, call.body)}, now {_was(name, body)}" for name in params
        )
        causes.append(Cause("model", what))
    if messages_text(body) == messages_text(call.body):
        return causes or [Cause("agent", "the roles of its messages changed")]
    then = call.origin
    if now is None or then is None:
        return [*causes, Cause("unknown", "it does not say what its prompts were made of")]
    files = sorted(
        name
        for name in now.prompts.keys() | then.prompts.keys()
        if now.prompts.get(name) != then.prompts.get(name)
    )
    if files:
        causes.append(Cause("prompt", ", ".join(files)))
    if now.actions != then.actions:
        causes.append(Cause("agent", "what it did on the page before this call"))
    elif now.page != then.page:
        shown = [line for line in changes if line.startswith("+ ")] or list(changes)
        causes.append(Cause("page", "; ".join(line[2:].strip() for line in shown[:2])))
    return causes or [Cause("agent", "same prompt files, actions and page, but another text")]


def _was(name: str, body: Mapping[str, Any]) -> str:
    return canonical_json(body[name]) if name in body else "not given"


def diff(old: str, new: str) -> list[str]:
    """Lines of two texts, marked `- ` or `+ ` where they differ; what is the same is folded."""
    a, b = old.splitlines(), new.splitlines()
    shown: list[str] = []
    opcodes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for tag, a1, a2, b1, b2 in opcodes:
        if tag == "equal":
            before = CONTEXT if shown else 0
            after = CONTEXT if a2 < len(a) or b2 < len(b) else 0
            if a2 - a1 > before + after + 1:
                shown += [f"  {_fold(line)}" for line in a[a1 : a1 + before]]
                shown.append(f"  … {a2 - a1 - before - after} unchanged lines")
                shown += [f"  {_fold(line)}" for line in a[a2 - after : a2]]
            else:
                shown += [f"  {_fold(line)}" for line in a[a1:a2]]
        elif tag == "replace" and a2 - a1 == b2 - b1:
            pairs = [_pair(*pair) for pair in zip(a[a1:a2], b[b1:b2], strict=True)]
            shown += [f"- {one}" for one, _ in pairs] + [f"+ {other}" for _, other in pairs]
        else:
            shown += [f"- {line}" for line in a[a1:a2]] + [f"+ {line}" for line in b[b1:b2]]
    return shown


def _fold(line: str, head: bool = True, tail: bool = True) -> str:
    """A text without its middle, where it is long: whole words of its beginning and its end."""
    if len(line) <= LONG // 2:
        return line
    start = line[: LONG // 4].rpartition(" ")[0] if head else ""
    end = line[-LONG // 4 :].partition(" ")[2] if tail else ""
    return f"{start} … {end}"


def _pair(one: str, other: str) -> tuple[str, str]:
    """Two versions of a line; of long ones, the words that differ and some around them."""
    if max(len(one), len(other)) <= LONG:
        return one, other
    words = [re.findall(r"\s+|\w+|[^\w\s]", line) for line in (one, other)]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    if matcher.ratio() < 0.5:
        return one, other
    texts = ["", ""]
    opcodes = matcher.get_opcodes()
    for index, (tag, a1, a2, b1, b2) in enumerate(opcodes):
        for side, part in enumerate((words[0][a1:a2], words[1][b1:b2])):
            text = "".join(part)
            if tag == "equal":
                text = _fold(text, head=index > 0, tail=index < len(opcodes) - 1)
            texts[side] += text
    return texts[0].strip(), texts[1].strip()
