"""The errors of an item whose calls differ from the recorded ones, with a report for people."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from pytest_miniwob_agent.cassettes.drift.causes import SUBJECTS, causes_of, options_of
from pytest_miniwob_agent.cassettes.drift.changed_pictures import changed_pictures, lines_of
from pytest_miniwob_agent.cassettes.drift.differences import differences_of
from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.cassettes.tape.pictures import Pictures
from pytest_miniwob_agent.core.chat import Message
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
    head = f"{path}\ndoes not hold call {played + 1}{_where(origin)}."
    what = ""
    if same := [number for number, call in enumerate(calls) if call.key == request.key]:
        what = f"it repeats the request of {_name(calls, same[0])}, which was replayed"
    elif len(calls) == played:
        what = f"it makes more calls than the {played} that are recorded"
    if what:
        return Drift(f"{head}\nThe agent: {what}.", [Cause("agent", what)])
    nearest = _nearest(request, origin, calls, played)
    call = calls[nearest]
    differences = differences_of(call.request, request)
    changed = changed_pictures(call.request, request, pictures) if pictures else []
    causes = causes_of(request, origin, call, differences, changed)
    lines = [
        head,
        f"The most similar is {_name(calls, nearest)}; it differs in",
        *(f"  {SUBJECTS[cause.kind]}: {cause.what}" for cause in causes),
    ]
    if [cause.kind for cause in causes] == ["model"] and (options := options_of(request, call)):
        lines.append(f"It is replayed with: {options}")
    if differences.marked:
        lines += ["What changed (- recorded, + now):", *differences.lines]
    if changed:
        lines += ["Pictures that changed:", *lines_of(changed)]
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


def _nearest(request: Request, origin: Origin | None, calls: Sequence[Call], played: int) -> int:
    """Return the index of the most similar call that was not replayed.

    Conversations are compared by their messages, and then by the lines of the messages that differ.
    Among equal ones the call with the same tools wins, then the one with the same origin, then the
    first.
    """
    now = request.messages

    def rank(index: int) -> tuple[float, ...]:
        call, recorded = calls[index], calls[index].request
        then = recorded.messages
        return (
            recorded.path == request.path,
            SequenceMatcher(None, then, now, autojunk=False).ratio(),
            -abs(len(then) - len(now)),
            SequenceMatcher(
                None, _lines_without(then, now), _lines_without(now, then), autojunk=False
            ).ratio(),
            recorded.tools == request.tools,
            str(origin) == str(call.origin),
            -index,
        )

    return max(range(played, len(calls)), key=rank)


def _lines_without(messages: Sequence[Message], others: Sequence[Message]) -> list[str]:
    new = (str(message) for message in messages if message not in others)
    return [line for text in new for line in text.splitlines()]
