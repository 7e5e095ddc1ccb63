"""Drift: why an item's calls are not the recorded ones, as a report for people and as causes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.cassettes.tape import CONVERSATION, Call, Request
from pytest_miniwob_agent.cassettes.varying import Propose, find_differing, propose_method
from pytest_miniwob_agent.core.chat import Message
from pytest_miniwob_agent.core.data import canonical_json, changed_parts, masked
from pytest_miniwob_agent.core.errors import Cause, ChangedPicture, Drift
from pytest_miniwob_agent.core.events import OF_TEST, Origin
from pytest_miniwob_agent.core.text import counted, listed
from pytest_miniwob_agent.models.params import option_with

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.files import Pictures

SUBJECTS = {
    "prompt": "the prompt text",
    "page": "the page",
    "agent": "the agent",
    "tools": "the agent",
    "api": "the agent",
    "model": "the model or its parameters",
    "rest": "the end of the item",
    "traffic": "the requests of the page",
    "goal": "the goal",
    "judge": "the judge of the app",
    "grader": "what a grader asks",
}
"""What changed, by the kind of the cause."""

# The causes whose details are the same for all items that have them.
_SHARED = ("prompt", "model", "tools", "api")

LONG_VALUE = 160
"""Of parameters with longer values, the parts that changed are named instead."""

# Parameters that agents and their clients choose themselves, so that no option replays them.
_OF_AGENT = {"tool_choice", "response_format", "parallel_tool_calls", "stream", "stream_options"}

SHOWN = 3
"""Changed messages whose lines are shown."""

CONTEXT = 2
"""Unchanged lines that are shown around a change."""

LONG = 160
"""Longer lines that changed are folded: only the changed words and some around them are shown."""


def heading(causes: Iterable[Cause]) -> str:
    """Name causes in a few words that are the same for all items with these causes."""
    details: dict[str, list[str]] = {}
    for cause in causes:
        subject = "" if cause.kind == "rest" else f"{SUBJECTS[cause.kind]} changed"
        named = details.setdefault(subject or "recorded calls were not made", [])
        if cause.kind in _SHARED and cause.what not in named:
            named.append(cause.what)
    return ", and ".join(
        f"{subject}: {', '.join(named)}" if named else subject for subject, named in details.items()
    )


def drift_of_call(
    path: Path,
    request: Request,
    origin: Origin,
    calls: Sequence[Call],
    played: int,
    pictures: Pictures,
    propose: Propose = propose_method,
) -> Drift:
    """Describe why a call can't be replayed; of the recorded calls, `played` ones were.

    `propose` says how text that differs from run to run can be left out.
    """
    head = f"{path}\ndoes not hold call {played + 1}{_where(origin)}."
    subject, what = "grader" if origin.of_grader else "agent", ""
    kind = [each for each, call in enumerate(calls) if call.of_grader == origin.of_grader]
    left = [each for each in kind if each >= played]
    if same := [number for number, call in enumerate(calls) if call.key == request.key]:
        what = f"it repeats the request of {_name(calls, same[0])}, which was replayed"
    elif not left:
        what = f"it makes more calls than the {len(kind)} that are recorded"
    if what:
        return Drift(f"{head}\nThe {subject}: {what}.", [Cause(subject, what)])
    nearest = _nearest(request, origin, calls, left)
    call = calls[nearest]
    differences = _compare_requests(call.request, request)
    changed = changed_pictures(call.request, request, pictures)
    seen = [f"picture {p.number}: {p.what}" for p in changed if p.recorded and p.present]
    same_page = call.origin is not None and call.origin.page == origin.page
    varying = [*find_differing(_own(call.body, same_page), _own(request.body, same_page))]
    masks = dict.fromkeys(one.mask for one, *_ in varying)
    then, now = (replace(one, body=masked(one.body, *masks)) for one in (call.request, request))
    causes = []
    if then.key != now.key or not varying:
        rest = _compare_requests(then, now)
        causes = _find_causes(now, origin, replace(call, request=then), rest, seen)
    if varying:
        named = dict.fromkeys(f"the {one.kind.name} {a}, now {b}" for one, a, b in varying)
        what = f"text that differs from run to run: {listed(named)}. normalize() can leave it out"
        causes.append(Cause("agent", what))
    lines = [head, f"The most similar is {_name(calls, nearest)}; it differs in"]
    lines += [f"  {SUBJECTS[cause.kind]}: {cause.what}" for cause in causes]
    if [cause.kind for cause in causes] == ["model"] and (
        options := _options(request, call, origin)
    ):
        lines.append(f"It is replayed with: {options}")
    if varying:
        lines.append(propose([*dict.fromkeys(one for one, *_ in varying)]))
    if differences.marked:
        lines += ["What changed (- recorded, + now):", *differences.lines]
    if changed:
        lines.append("Pictures that changed:")
    for picture in changed:
        lines.append(f"picture {picture.number}: {picture.what}")
        for name in ("recorded", "present", "difference"):
            if file := getattr(picture, name):
                lines.append(f"  {name:<11}{file}")
    return Drift("\n".join(lines), causes, differences.marked, changed)


def drift_of_unused_calls(
    path: Path, calls: Sequence[Call], played: int, unused: Sequence[Call]
) -> Drift:
    """Describe the drift of an item that ended without making all its recorded calls."""
    names = "".join(f"\n  {_name(calls, calls.index(call))}" for call in unused)
    what = f"{len(unused)} recorded call{'s were' if len(unused) > 1 else ' was'} not made"
    return Drift(
        f"{path}\nholds {len(calls)} calls, but the item ended after {played}. Not made:{names}",
        [Cause("rest", what)],
    )


def _name(calls: Sequence[Call], index: int) -> str:
    return f"call {index + 1}{_where(calls[index].origin)}"


def _where(origin: Origin | None) -> str:
    return f" ({origin})" if origin and origin != OF_TEST else ""


def _nearest(request: Request, origin: Origin, calls: Sequence[Call], left: Sequence[int]) -> int:
    """Return the index of the most similar call of those that are left.

    Conversations are compared by their messages, and then by the lines of the messages that differ.
    Among equal ones the call with the same tools wins, then the one with the same origin, then the
    first.
    """
    now = request.messages

    def rank(index: int) -> tuple[float, ...]:
        recorded = calls[index].request
        then = recorded.messages
        lines = [
            "\n".join(str(message) for message in messages if message not in others).splitlines()
            for messages, others in ((then, now), (now, then))
        ]
        return (
            SequenceMatcher(None, then, now, autojunk=False).ratio(),
            -abs(len(then) - len(now)),
            SequenceMatcher(None, lines[0], lines[1], autojunk=False).ratio(),
            recorded.tools == request.tools,
            str(origin) == str(calls[index].origin),
            -index,
        )

    return max(left, key=rank)


def _find_causes(
    request: Request, now: Origin, call: Call, differences: Differences, seen: Sequence[str]
) -> list[Cause]:
    """Return the reasons why a request is not that of a recorded call, at least one.

    `now` is where the request is made, and `seen` says how pictures changed.
    """
    recorded, where = call.request, differences.where
    causes = _causes_of_model(request, recorded)
    if request.path != recorded.path:
        return [Cause("api", f"the API {recorded.path}, now {request.path}"), *causes]
    causes += _causes_of_tools(request.tools, recorded.tools)
    if request.messages == recorded.messages:
        parts = listed(changed_parts(dict(recorded.body), dict(request.body)))
        return causes or [Cause("agent", parts or "another form of the same request")]
    if request.text == recorded.text and not where:
        return causes or [Cause("agent", "the roles of its messages changed")]
    found = [*_causes_of_messages(now, call.origin, differences, seen)] if call.origin else []
    if found or (causes and not where):
        return causes + found
    files = "prompt files, " if now.prompts else ""
    what = differences.part or f"different text from the same {files}actions and page"
    return [*causes, Cause("agent", f"{where}: {what}" if where else what)]


def _own(body: Mapping[str, Any], same_page: bool) -> Mapping[str, Any]:
    """Return what can't differ because the page does."""
    return {name: body[name] for name in body if same_page or name not in CONVERSATION}


def _changed_parameters(now: Request, then: Request) -> list[str]:
    names = (now.body.keys() | then.body.keys()) - CONVERSATION
    return [name for name in sorted(names) if now.body.get(name) != then.body.get(name)]


def _causes_of_model(request: Request, recorded: Request) -> list[Cause]:
    body, then = request.body, recorded.body
    changed = ["model"] if body.get("model") != then.get("model") else []
    if request.path == recorded.path and request.is_known:  # so that its parameters are known
        changed += _changed_parameters(request, recorded)
    named = []
    for name in changed:
        both = (then, body)
        values = [canonical_json(part[name]) if name in part else "not given" for part in both]
        if max(map(len, values)) <= LONG_VALUE:
            named.append(f"{name} {values[0]}, now {values[1]}")
        else:
            named.append(listed(changed_parts(then.get(name), body.get(name), name)))
    return [Cause("model", ", ".join(named))] if named else []


def _causes_of_tools(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[Cause]:
    changed = []
    for part in changed_parts(dict(then), dict(now)):
        name, _, inner = part.partition(".")
        if name not in now:
            inner = "removed"
        elif name not in then:
            inner = "added"
        changed.append(f"the tool {name}: {inner or 'its definition'}")
    if not changed and list(now) != list(then):
        changed.append("the order of its tools")
    return [Cause("tools", listed(changed))] if changed else []


def _causes_of_messages(
    now: Origin, then: Origin, differences: Differences, seen: Sequence[str]
) -> Iterator[Cause]:
    before = f"{differences.where}: " if differences.where else ""
    after = f", see {differences.where}" if differences.where else ""
    names = sorted(now.prompts.keys() | then.prompts.keys())
    files = [name for name in names if now.prompts.get(name) != then.prompts.get(name)]
    if files:
        yield Cause("prompt", ", ".join(files) + after)
    if now.actions != then.actions:
        yield Cause("agent", "its actions before this call" + after)
    elif now.page != then.page:
        lines = [line for line in differences.marked if not line[2:].startswith("[picture ")]
        shown = [line for line in lines if line.startswith("+ ")] or lines
        yield Cause("page", before + "; ".join([*(line[2:].strip() for line in shown), *seen][:2]))
    elif seen and not files:
        yield Cause("page", before + "; ".join(seen[:2]))
    if now == then == OF_TEST and not seen:
        yield Cause("agent", before + (differences.part or "different text from the test"))


def _options(request: Request, call: Call, origin: Origin) -> str:
    then = call.body
    options = []
    if request.body.get("model") != then.get("model"):
        options.append(f"--miniwob-model={shlex.quote(str(then.get('model')))}")
    if changed := _changed_parameters(request, call.request):
        # No option replays what the agent sets itself, or its client: such calls are named by path.
        if request.path.endswith(f"/{origin.purpose}") or _OF_AGENT.intersection(changed):
            return ""
        params = {name: then[name] for name in then if name not in CONVERSATION | _OF_AGENT}
        in_file = f"miniwob_llm_params = {json.dumps(params, ensure_ascii=False)}"
        options.append(f"{option_with(params)} (in the ini file: {in_file})")
    return " ".join(options)


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of two requests, for people.

    Args:
        lines: the lines of both, those that differ marked `- ` or `+ `.
        where: the messages that differ, such as `message 3 (tool)`; of an unknown API the parts of
            the JSON; empty for requests of one message.
        part: what differs in the first of them, such as `its tool calls`; empty if it is the text.
    """

    lines: Sequence[str]
    where: str = ""
    part: str = ""

    @property
    def marked(self) -> list[str]:
        return [line for line in self.lines if line[:2] in ("- ", "+ ")]


def _compare_requests(recorded: Request, request: Request) -> Differences:
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
    """Return the lines of two strings, those that differ marked `- ` or `+ `, equal ones folded."""
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
    if len(line) <= LONG // 2:
        return line
    start = line[: LONG // 4].rpartition(" ")[0] if head else ""
    end = line[-LONG // 4 :].partition(" ")[2] if tail else ""
    return f"{start} … {end}"


def _pair(old: str, new: str) -> tuple[str, str]:
    if max(len(old), len(new)) <= LONG:
        return old, new
    start = _prefix_length(old, new)
    end = _prefix_length(old[start:][::-1], new[start:][::-1])
    if start + end < LONG // 2:
        return old, new
    before, after = _fold(old[:start], head=False), _fold(old[len(old) - end :], tail=False)
    pair = [f"{before}{line[start : len(line) - end]}{after}".strip() for line in (old, new)]
    return pair[0], pair[1]


def _prefix_length(old: str, new: str) -> int:
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))])


def changed_pictures(
    recorded: Request, request: Request, pictures: Pictures
) -> list[ChangedPicture]:
    """Return the pictures that differ, in order; new ones and differences are kept as files."""
    from pytest_miniwob_agent.pictures import compare, decoded, shown_difference

    changed = []
    for number, then, now in changed_pairs(recorded.pictures, request.pictures):
        what, difference = "added" if now else "removed", None
        if then and now:
            left, right = pictures.read(then), pictures.read(now)
            sizes = [" x ".join(map(str, decoded(png).size)) for png in (left, right)]
            what = str(compare(left, right) or f"{sizes[0]} pixels, now {sizes[1]}")
            difference = pictures.keep(f"{then}-{now}", shown_difference(left, right))
        paths = [digest and pictures.shown_path(digest) for digest in (then, now)]
        changed.append(ChangedPicture(number, what, paths[0], paths[1], difference))
    return changed
