"""Drift: how a model call differs from the recorded ones, and why, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from pytest_miniwob_agent.cassettes.drift.causes import SUBJECTS, causes_of, options_of
from pytest_miniwob_agent.cassettes.drift.changed_pictures import changed_pictures, lines_of
from pytest_miniwob_agent.cassettes.drift.changes import changes_of
from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.cassettes.tape.pictures import Pictures
from pytest_miniwob_agent.core.errors import Cause, Drift
from pytest_miniwob_agent.core.events import OF_TEST, Origin


def drift_of_call(
    path: Path,
    request: Request,
    origin: Origin | None,
    calls: Sequence[Call],
    played: int,
    pictures: Pictures | None = None,
) -> Drift:
    """Describe why a call can't be replayed.

    Args:
        path: the cassette, for the message.
        request: what is asked now.
        origin: where the request is made, if that is known.
        calls: the recorded calls, those that were replayed first.
        played: how many of them were replayed.
        pictures: the pictures of the calls; None if they have none.
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
    changes = changes_of(call.request, request)
    changed = changed_pictures(call.request, request, pictures) if pictures else []
    causes = causes_of(request, origin, call, changes, changed)
    differences = "\n".join(f"  {SUBJECTS[cause.kind]}: {cause.what}" for cause in causes)
    report = f"{head}\nThe most similar is {_name(number, call)}; it differs in\n{differences}"
    if [cause.kind for cause in causes] == ["model"] and (options := options_of(request, call)):
        report += f"\nIt is replayed with: {options}"
    if changes.marked:
        report += "\nWhat changed (- recorded, + now):\n" + "\n".join(changes.lines)
    if changed:
        report += "\nPictures that changed:\n" + "\n".join(lines_of(changed))
    return Drift(report, causes, changes.marked, changed)


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


def heading(causes: Iterable[Cause]) -> str:
    """Name causes in a few words, leaving out a name that another cause has with details."""
    names = [_heading(cause) for cause in causes]
    detailed = {name.partition(":")[0] for name in names if ":" in name}
    return ", and ".join(name for name in dict.fromkeys(names) if name not in detailed)


def _heading(cause: Cause) -> str:
    if cause.kind in ("prompt", "model", "tools", "api"):
        return f"{SUBJECTS[cause.kind]} changed: {cause.what}"
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
    """Return the number and the most similar unplayed call.

    Conversations are compared by their messages, and what is alike then by its lines; of two equal
    ones it is the one with the same tools, with its origin, or that was made earlier.
    """
    messages = request.messages

    def alikeness(number: int) -> tuple[bool, float, int]:
        recorded = calls[number - 1].request
        then = recorded.messages
        ratio = SequenceMatcher(None, then, messages, autojunk=False).ratio()
        return recorded.path == request.path, ratio, -abs(len(then) - len(messages))

    def similarity(number: int) -> tuple[float, bool, bool, int]:
        call = calls[number - 1]
        then = call.request.messages
        old = [line for each in then if each not in messages for line in str(each).splitlines()]
        new = [line for each in messages if each not in then for line in str(each).splitlines()]
        ratio = SequenceMatcher(None, old, new, autojunk=False).ratio()
        same = bool(origin and call.origin) and str(origin) == str(call.origin)
        return ratio, call.request.tools == request.tools, same, -number

    alike = {number: alikeness(number) for number in range(played + 1, len(calls) + 1)}
    most = max(alike.values())
    number = max((each for each in alike if alike[each] == most), key=similarity)
    return number, calls[number - 1]
