"""Drift: how a model call differs from the recorded ones, and why, in words."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.call import CONVERSATION, OF_TEST, Call, Request, params_of
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import Cause, Drift
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.models.params import option_with

CONTEXT = 2
"""Unchanged lines that are shown around a change."""

LONG = 160
"""Longer lines that changed are folded: only the changed words and some around them are shown."""


def drift_of_call(
    path: Path, request: Request, origin: Origin | None, calls: Sequence[Call], played: int
) -> Drift:
    """Describe why a call can't be replayed.

    Args:
        path: the cassette, for the message.
        request: what is asked now.
        origin: where the request is made, if that is known.
        calls: the recorded calls, those that were replayed first.
        played: how many of them were replayed.
    """
    name = f"call {played + 1}{_place(origin)}"
    head = f"{path}\ndoes not hold {name}."
    for number, call in enumerate(calls, start=1):
        if call.key == request.key:
            what = f"it repeats the request of {_name(number, call)}"
            return Drift(f"{head}\nThe agent: {what}, which was replayed.", [Cause("agent", what)])
    if len(calls) == played:
        what = f"it makes more calls than the {played} that are recorded"
        return Drift(f"{head}\nThe agent: {what}.", [Cause("agent", what)])
    number, call = _nearest(request, origin, calls, played)
    lines = diff(call.request.text, request.text)
    changes = [line for line in lines if line[:2] in ("- ", "+ ")]
    causes = _causes(request, origin, call, changes)
    differences = "\n".join(f"  {_SUBJECTS[cause.kind]}: {cause.what}" for cause in causes)
    report = f"{head}\nThe most similar is {_name(number, call)}; it differs in\n{differences}"
    if [cause.kind for cause in causes] == ["model"]:
        report += f"\nIt is replayed with: {_options_of(request.body, call)}"
    if changes:
        report += "\nWhat changed (- recorded, + now):\n" + "\n".join(lines)
    return Drift(report, causes, changes)


def drift_of_unused_calls(
    path: Path, calls: Sequence[Call], played: int, unused: Sequence[Call]
) -> Drift:
    """Describe the drift of an item that ended without making all its recorded calls."""
    names = [_name(calls.index(call) + 1, call) for call in unused]
    what = f"{len(unused)} recorded call{'s were' if len(unused) > 1 else ' was'} not made"
    return Drift(
        f"{path}\nholds {len(calls)} calls, but the item ended after {played}. Not made:"
        + "".join(f"\n  {name}" for name in names),
        [Cause("rest", what)],
    )


_SUBJECTS = {
    "prompt": "the prompt text",
    "page": "the page",
    "agent": "the agent",
    "model": "the model or its parameters",
    "unknown": "an unknown cause",
    "rest": "the end of the item",
}


def heading(cause: Cause) -> str:
    """Name a cause in a few words."""
    if cause.kind in ("prompt", "model"):
        return f"{_SUBJECTS[cause.kind]} changed: {cause.what}"
    return {
        "page": "the page changed",
        "agent": "the agent changed",
        "unknown": "the calls differ (the cassettes are too old to show why)",
        "rest": "recorded calls were not made",
    }[cause.kind]


def _name(number: int, call: Call) -> str:
    return f"call {number}{_place(call.origin)}"


def _place(origin: Origin | None) -> str:
    return f" ({origin})" if origin and origin != OF_TEST else ""


def _nearest(
    request: Request, origin: Origin | None, calls: Sequence[Call], played: int
) -> tuple[int, Call]:
    """Return the number and the most similar unplayed call; of two, the one with its origin."""
    lines = request.text.splitlines()

    def similarity(number: int) -> tuple[float, bool, int]:
        call = calls[number - 1]
        recorded = call.request.text.splitlines()
        ratio = SequenceMatcher(None, recorded, lines, autojunk=False).ratio()
        same = bool(origin and call.origin) and str(origin) == str(call.origin)
        return ratio, same, -number

    number = max(range(played + 1, len(calls) + 1), key=similarity)
    return number, calls[number - 1]


def _causes(
    request: Request, now: Origin | None, call: Call, changes: Sequence[str]
) -> list[Cause]:
    body = request.body
    causes = []
    names = sorted((body.keys() | call.body.keys()) - CONVERSATION | {"model"})
    if params := [name for name in names if body.get(name) != call.body.get(name)]:
        what = ", ".join(
            f"{name} {_value(name, call.body)}, now {_value(name, body)}" for name in params
        )
        causes.append(Cause("model", what))
    if request.text == call.request.text:
        return causes or [Cause("agent", "the roles of its messages changed")]
    then = call.origin
    if now is None or then is None:
        return [*causes, Cause("unknown", "the cassette does not say how its prompts were made")]
    files = sorted(
        name
        for name in now.prompts.keys() | then.prompts.keys()
        if now.prompts.get(name) != then.prompts.get(name)
    )
    if files:
        causes.append(Cause("prompt", ", ".join(files)))
    if now.actions != then.actions:
        causes.append(Cause("agent", "its actions before this call"))
    elif now.page != then.page:
        shown = [line for line in changes if line.startswith("+ ")] or list(changes)
        causes.append(Cause("page", "; ".join(line[2:].strip() for line in shown[:2])))
    if now == then == OF_TEST:
        causes.append(Cause("agent", "another text of the test"))
    return causes or [Cause("agent", "another text from the same prompt files, actions and page")]


def _options_of(body: Mapping[str, Any], call: Call) -> str:
    """Return the options that give a recorded call's model and parameters, where they differ."""
    options = []
    if body.get("model") != call.body.get("model"):
        options.append(f"--miniwob-model={shlex.quote(str(call.body.get('model')))}")
    if params_of(body) != (params := params_of(call.body)):
        in_file = f"miniwob_llm_params = {json.dumps(params, ensure_ascii=False)}"
        options.append(f"{option_with(params)} (in the ini file: {in_file})")
    return " ".join(options)


def _value(name: str, body: Mapping[str, Any]) -> str:
    return canonical_json(body[name]) if name in body else "not given"


def diff(old: str, new: str) -> list[str]:
    """Return the lines of two texts, those that differ marked `- ` or `+ `, equal ones folded."""
    a, b = old.splitlines(), new.splitlines()
    shown: list[str] = []
    opcodes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for tag, a1, a2, b1, b2 in opcodes:
        if tag == "equal":
            head = CONTEXT if shown else 0
            tail = CONTEXT if a2 < len(a) or b2 < len(b) else 0
            if a2 - a1 > head + tail + 1:
                shown += [f"  {_fold(line)}" for line in a[a1 : a1 + head]]
                shown.append(f"  … {a2 - a1 - head - tail} unchanged lines")
                shown += [f"  {_fold(line)}" for line in a[a2 - tail : a2]]
            else:
                shown += [f"  {_fold(line)}" for line in a[a1:a2]]
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
    """Return two versions of a line; of long ones, the words that differ and some around them."""
    if max(len(old), len(new)) <= LONG:
        return old, new
    words = [re.findall(r"\s+|\w+|[^\w\s]", line) for line in (old, new)]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    if matcher.ratio() < 0.5:
        return old, new
    texts = ["", ""]
    opcodes = matcher.get_opcodes()
    for index, (tag, a1, a2, b1, b2) in enumerate(opcodes):
        for side, part in enumerate((words[0][a1:a2], words[1][b1:b2])):
            text = "".join(part)
            if tag == "equal":
                text = _fold(text, head=index > 0, tail=index < len(opcodes) - 1)
            texts[side] += text
    return texts[0].strip(), texts[1].strip()
