"""Pictures in the JSON of a request: as data, or as references to files.

A reference is the path of the picture below the cassette folder, `pictures/<digest>.png`. It
stands in the place of a data URL (`image_url` of Chat Completions and Responses), or of the `data`
beside a media type (Messages).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

FOLDER = "pictures"
"""The folder of pictures in the cassette folder."""

_REFERENCE = re.compile(rf"{FOLDER}/([0-9a-f]{{16}})\.png")
_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,")
_MEDIA_TYPES = ("media_type", "mime_type", "mimeType")


def reference_to(digest: str) -> str:
    """Return the reference to a picture."""
    return f"{FOLDER}/{digest}.png"


def digest_in(value: Any) -> str | None:
    """Return the digest in a text that is a reference; None for any other value."""
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else None


def references_in(text: str) -> list[str]:
    """Return the digests of all references in a text, such as that of a cassette."""
    return _REFERENCE.findall(text)


def take_out(body: Any) -> tuple[Any, dict[str, bytes]]:
    """Return JSON with references in the place of pictures, and the PNGs by their digests.

    Data that a PNG can't hold stays as it is; a picture of another format becomes a PNG.
    """
    taken: dict[str, bytes] = {}

    def change(kind: str, data: str) -> tuple[str, str] | None:
        if digest_in(data) or (found := read_base64(data)) is None:
            return None
        digest, png = found
        taken[digest] = png
        return "image/png", reference_to(digest)

    return _changed(body, change), taken


def put_in(body: Any, read: Callable[[str], bytes]) -> Any:
    """Return JSON with pictures in the place of references; `read` returns the PNG of a digest."""

    def change(kind: str, data: str) -> tuple[str, str] | None:
        digest = digest_in(data)
        return ("image/png", base64.b64encode(read(digest)).decode()) if digest else None

    return _changed(body, change)


def without_pictures(body: Any) -> Any:
    """Return JSON with nothing in the place of pictures and of references to them."""
    return _changed(body, lambda kind, data: (kind, ""))


def digests_in(body: Any) -> list[str]:
    """Return the digests of the references in JSON, in their order."""
    found: list[str] = []

    def note(kind: str, data: str) -> None:
        if digest := digest_in(data):
            found.append(digest)

    _changed(body, note)
    return found


@lru_cache(maxsize=64)  # the pictures of a conversation come again with every call
def read_base64(data: str) -> tuple[str, bytes] | None:
    """Return digest and PNG of a picture; None for data that a PNG can't hold."""
    from pytest_miniwob_agent.pictures import image

    try:
        file = base64.b64decode(data, validate=True)
        pixels = image.decoded(file)
    except (binascii.Error, image.NotAPicture):
        return None
    return image.digest_of(pixels), file if image.is_bare_png(file) else image.png_of(pixels)


def _changed(
    value: Any, change: Callable[[str, str], tuple[str, str] | None], name: str = ""
) -> Any:
    """Return JSON with its pictures changed; itself if nothing changes.

    `change` gets the media type of a picture, and its data in Base64 or a reference; it returns
    both as they are to be, or None to leave them. `name` is the name that the value has.
    """
    if isinstance(value, str) and name in ("url", "image_url"):
        new = None
        if match := _DATA_URL.match(value):
            new = change(match[1], value[match.end() :])
        elif digest_in(value):
            new = change("image/png", value)
        if new is None or not new[1] or digest_in(new[1]):
            return new[1] if new else value
        return f"data:{new[0]};base64,{new[1]}"
    if isinstance(value, list):
        parts = [_changed(part, change) for part in value]
        same = all(part is before for part, before in zip(parts, value, strict=True))
        return value if same else parts
    if not isinstance(value, Mapping):
        return value
    for kind_name in _MEDIA_TYPES:
        kind, data = value.get(kind_name), value.get("data")
        if isinstance(kind, str) and kind.startswith("image/") and isinstance(data, str):
            new = change(kind, data)
            return {**value, kind_name: new[0], "data": new[1]} if new else value
    changed = {key: _changed(part, change, str(key)) for key, part in value.items()}
    return value if all(changed[key] is value[key] for key in value) else changed
