"""Drift of pictures: those of a request that are not the recorded ones, and how they differ."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_miniwob_agent.cassettes.drift.differences import changed_pairs
from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.cassettes.tape.pictures import Pictures
from pytest_miniwob_agent.core.errors import ADDED, REMOVED, ChangedPicture


def changed_pictures(
    recorded: Request, request: Request, pictures: Pictures
) -> list[ChangedPicture]:
    """Return the pictures that differ, in order; new ones and differences are kept as files."""
    return [
        _changed(number, then, now, pictures)
        for number, then, now in changed_pairs(recorded.pictures, request.pictures)
    ]


def _changed(number: int, then: str | None, now: str | None, pictures: Pictures) -> ChangedPicture:
    from pytest_miniwob_agent.pictures.image import compare, decoded, shown_difference

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
    for picture in changed:
        yield f"picture {picture.number}: {picture.what}"
        for name in ("recorded", "present", "difference"):
            if path := getattr(picture, name):
                yield f"  {name:<11}{path}"
