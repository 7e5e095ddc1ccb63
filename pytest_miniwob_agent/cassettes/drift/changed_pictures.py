"""Drift of pictures: those of a request that are not the recorded ones, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest

from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.cassettes.tape.pictures import Pictures
from pytest_miniwob_agent.core.errors import ADDED, REMOVED, ChangedPicture


def changed_pictures(
    recorded: Request, request: Request, pictures: Pictures
) -> list[ChangedPicture]:
    """Return the pictures of a request that are not those of the recorded one, in order.

    Pictures that are there now, and the differences, get files beside the other files of runs.
    """
    return [
        _changed(number, then, now, pictures) for number, then, now in _pairs(recorded, request)
    ]


def _pairs(recorded: Request, request: Request) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield for each picture that changed its number, and the digests; None where there is none."""
    then, now = recorded.pictures, request.pictures
    matcher = SequenceMatcher(None, then, now, autojunk=False)
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag != "equal":
            for offset, (old, new) in enumerate(zip_longest(then[a1:a2], now[b1:b2])):
                yield (a1 if new is None else b1) + offset + 1, old, new


def _changed(number: int, then: str | None, now: str | None, pictures: Pictures) -> ChangedPicture:
    from pytest_miniwob_agent.pictures.difference import compare, shown_difference
    from pytest_miniwob_agent.pictures.image import decoded

    recorded = pictures.file_of(then) if then else None
    present = pictures.keep(now) if now else None
    if not then or not now:
        return ChangedPicture(number, ADDED if now else REMOVED, recorded, present)
    left, right = pictures.read(then), pictures.read(now)
    found = compare(left, right)
    if found is None:
        sizes = [" x ".join(map(str, decoded(png).size)) for png in (left, right)]
        what = f"{sizes[0]} pixels, now {sizes[1]}"
    else:
        what = str(found)
    difference = pictures.keep_as(f"{then}-{now}", shown_difference(left, right))
    return ChangedPicture(number, what, recorded, present, difference)


def lines_of(changed: list[ChangedPicture]) -> Iterator[str]:
    """Yield lines for people: how each picture differs, and its files."""
    for each in changed:
        yield f"picture {each.number}: {each.what}"
        for name in ("recorded", "present", "difference"):
            if path := getattr(each, name):
                yield f"  {name:<11}{path}"
