"""Decoded pictures: digests, differences, PNGs without metadata, marks of elements and rulers."""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image, ImageChops

from pytest_miniwob_agent.core.observations import Box

# Pillow's modes that lose nothing as eight bits per channel.
_EIGHT_BITS = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# The chunks of a PNG (https://www.w3.org/TR/png-3) that its pixels need.
_PIXELS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")

MOST_PIXELS = 50_000_000
"""The largest picture that is read, of 200 MB; a small file may hold far more."""

TOLERANCE = 1
"""The greatest difference of a colour channel, of 0 to 255, at which two pixels count as equal; see
docs/determinism.md."""


class NotAPicture(ValueError):
    """The data is not a picture, or one that a PNG of eight bits can't hold."""


def decoded(data: bytes) -> Image.Image:
    """Return the picture in a file of any format that Pillow reads, as RGB, or RGBA where it shows.

    Raises:
        NotAPicture: it is damaged, moves, or has more than eight bits per channel.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise NotAPicture(f"a picture of {image.width} x {image.height} pixels")
            if image.mode not in _EIGHT_BITS or getattr(image, "n_frames", 1) > 1:
                raise NotAPicture(f"a picture of mode {image.mode}")
            if image.has_transparency_data:
                converted = image.convert("RGBA")
                # A channel that is opaque everywhere shows nothing.
                if converted.getchannel("A").getextrema() != (255, 255):
                    return converted
            return image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise NotAPicture(str(error)) from None


def is_bare_png(data: bytes) -> bool:
    """Return True for a PNG that holds its pixels and nothing else."""
    if not data.startswith(_SIGNATURE):
        return False
    at, kind = len(_SIGNATURE), b""
    while kind != b"IEND" and at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind not in _PIXELS:
            return False
        at += length + 12
    return kind == b"IEND" and at == len(data)


def encode_png(image: Image.Image) -> bytes:
    """Return a picture as a PNG without metadata."""
    file = io.BytesIO()
    # A picture of the pixels alone: save() would keep a colour profile and other metadata.
    Image.frombytes(image.mode, image.size, image.tobytes()).save(file, "PNG")
    return file.getvalue()


def pixel_digest(image: Image.Image) -> str:
    """Return the digest of a picture's pixels, equal however they are compressed."""
    width, height = image.size
    pixels = hashlib.sha256(f"{image.mode} {width} {height}\n".encode())
    pixels.update(image.tobytes())
    return pixels.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two pictures: `pixels` differ `of` all, by `most` in a colour channel.

    They are in the area of left, top, right and bottom; None if no pixel differs.
    """

    pixels: int
    most: int
    area: tuple[int, int, int, int] | None
    of: int

    @property
    def tolerated(self) -> bool:
        """True if the pictures count as equal."""
        return self.most <= TOLERANCE

    def __str__(self) -> str:
        if self.area is None:
            return "no pixel differs"
        left, top, right, bottom = self.area
        return (
            f"{self.pixels:,} of {self.of:,} pixels differ, by {self.most} of 255 at most, in the "
            f"{right - left} x {bottom - top} pixels at {left},{top}"
        )


def compare(left: bytes, right: bytes) -> Difference | None:
    """Compare two pictures; None if their sizes differ."""
    before, after = decoded(left).convert("RGBA"), decoded(right).convert("RGBA")
    if before.size != after.size:
        return None
    greatest = _greatest(before, after)
    histogram = greatest.histogram()
    width, height = before.size
    most = max(at for at, count in enumerate(histogram) if count)
    return Difference(width * height - histogram[0], most, greatest.getbbox(), width * height)


def _greatest(before: Image.Image, after: Image.Image) -> Image.Image:
    first, *others = ImageChops.difference(before, after).split()
    for band in others:
        first = ImageChops.lighter(first, band)
    return first


def shown_difference(left: bytes, right: bytes) -> bytes:
    """Return the second picture, faded, with all pixels in red that differ or that only one has."""
    before, after = decoded(left).convert("RGB"), decoded(right).convert("RGB")
    size = max(before.width, after.width), max(before.height, after.height)
    grounds = [Image.new("RGB", size, (0, 0, 0)), Image.new("RGB", size, (255, 255, 255))]
    for ground, image in zip(grounds, (before, after), strict=True):
        ground.paste(image, (0, 0))
    differs = _greatest(*grounds).point([0, *[255] * 255])
    grey, white = grounds[1].convert("L").convert("RGB"), Image.new("RGB", size, (255, 255, 255))
    faded = Image.blend(grey, white, 0.7)
    faded.paste((220, 0, 0), (0, 0, *size), differs)
    return encode_png(faded)


MARK, LABEL = (208, 0, 144), (255, 255, 255)
"""Colours of brackets and labels, which pages hardly use, and of the ids in the labels."""

GROUND, INK = (236, 236, 236), (64, 64, 64)
"""Colours of the rulers."""

TICK, NUMBERED = 10, 20
"""Pixels of the page from one tick of a ruler to the next, and from one number to the next."""

_WIDTH, _HEIGHT = 5, 7
# The digits, seven rows of five pixels each, so that no font of a machine takes part.
_DIGITS = (
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111",
    "11110 00001 00001 01110 00001 00001 11110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "01110 10000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00001 01110",
)

# Weight of a hidden pixel of another label, against one of what shows on the page.
_HIDES_LABEL = 20


def marked(
    png: bytes,
    zoom: int,
    marks: Mapping[int, Box] | None = None,
    shown: Sequence[Box] = (),
    *,
    rulers: bool = False,
) -> bytes:
    """Return a picture of a page, enlarged and with marks.

    Args:
        png: the picture, with one pixel for each pixel of the page.
        zoom: the side of the square that a pixel becomes.
        marks: the boxes of the elements to mark, by their ids, in the page's pixels.
        shown: the boxes of text and drawings that labels should not hide.
        rulers: True for rulers at the left and at the top, which count the page's pixels.
    """
    plain = decoded(png).convert("RGB")
    size = plain.width * zoom, plain.height * zoom
    image = plain.resize(size, Image.Resampling.NEAREST)
    thickness, scale = (2, 2) if zoom > 2 else (1, 1)
    boxes = {id_: _Rect.of(box, zoom) for id_, box in sorted((marks or {}).items())}
    ink = [_Rect.of(box, zoom) for box in shown]
    for box in boxes.values():
        _draw_brackets(image, box, thickness)
    labels: list[_Rect] = []
    for id_, box in boxes.items():
        label = _place_label(_label_size(str(id_), scale), box, image.size, ink, labels, thickness)
        labels.append(label)
        image.paste(MARK, label)
        _write_digits(image, str(id_), (label.left + scale, label.top + scale), scale, LABEL)
    return encode_png(_with_rulers(image, zoom, scale) if rulers else image)


class _Rect(NamedTuple):
    """A rectangle as Pillow takes it; right and bottom are the first beyond it."""

    left: int
    top: int
    right: int
    bottom: int

    @classmethod
    def of(cls, box: Box, zoom: int) -> _Rect:
        x, y, width, height = box
        return cls(x * zoom, y * zoom, (x + width) * zoom, (y + height) * zoom)

    def shared(self, other: _Rect) -> int:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0, width) * max(0, height)


def _draw_brackets(image: Image.Image, box: _Rect, thickness: int) -> None:
    left, top = box.left - thickness, box.top - thickness
    right, bottom = box.right + thickness, box.bottom + thickness
    across = min(6 * thickness, max(thickness + 1, (right - left) // 4))
    down = min(6 * thickness, max(thickness + 1, (bottom - top) // 4))
    for x in (left, right - across):
        for y in (top, bottom - thickness):
            image.paste(MARK, (x, y, x + across, y + thickness))
    for x in (left, right - thickness):
        for y in (top, bottom - down):
            image.paste(MARK, (x, y, x + thickness, y + down))


def _label_size(text: str, scale: int) -> tuple[int, int]:
    return ((_WIDTH + 1) * len(text) + 1) * scale, (_HEIGHT + 2) * scale


def _place_label(
    size: tuple[int, int],
    box: _Rect,
    picture: tuple[int, int],
    ink: Sequence[_Rect],
    labels: Sequence[_Rect],
    gap: int,
) -> _Rect:
    """Return the place for a label in the picture that hides least; of equal ones the first.

    Places are along the edges of the box, in its corners, and beyond them, where it is less clear
    what a label is of; all are moved into the picture.
    """
    width, height = size
    left, right = box.left - gap - width, box.right + gap
    above, below = box.top - gap - height, box.bottom + gap
    inner_right, inner_bottom = box.right - width, box.bottom - height
    corners = [(left, above), (right, above), (left, below), (right, below)]
    places = [
        (box.left - gap, above), (inner_right + gap, above), (left, box.top), (right, box.top),
        (box.left - gap, below), (inner_right + gap, below), (left, inner_bottom),
        (right, inner_bottom), (inner_right, box.top), (box.left, box.top),
        (inner_right, inner_bottom), (box.left, inner_bottom), *corners,
    ]  # fmt: skip
    costs: dict[_Rect, int] = {}
    for number, (x, y) in enumerate(places):
        x = min(max(0, x), max(0, picture[0] - width))
        y = min(max(0, y), max(0, picture[1] - height))
        label = _Rect(x, y, x + width, y + height)
        hidden = sum(label.shared(drawn) for drawn in ink)
        hidden += _HIDES_LABEL * sum(label.shared(other) for other in labels)
        beyond = width * height // 3 if number >= len(places) - len(corners) else 0
        costs.setdefault(label, hidden + beyond)
    return min(costs, key=costs.__getitem__)


def _write_digits(
    image: Image.Image, text: str, at: tuple[int, int], scale: int, colour: tuple[int, int, int]
) -> None:
    for index, digit in enumerate(text):
        for y, row in enumerate(_DIGITS[int(digit)].split()):
            for x, bit in enumerate(row):
                if bit == "1":
                    left = at[0] + (index * (_WIDTH + 1) + x) * scale
                    top = at[1] + y * scale
                    image.paste(colour, (left, top, left + scale, top + scale))


def _with_rulers(image: Image.Image, zoom: int, scale: int) -> Image.Image:
    width, height = image.size
    tick = 4 * scale
    longest = _label_size(str(max(width, height) // zoom), scale)[0]
    left, top = longest + tick, _label_size("0", scale)[1] + tick
    whole = Image.new("RGB", (left + width, top + height), GROUND)
    whole.paste(image, (left, top))
    for length, across in ((width, True), (height, False)):
        for at in range(0, length // zoom, TICK):
            start, size = at * zoom, tick // 2 if at % NUMBERED else tick
            text_width, text_height = _label_size(str(at), scale)
            if across:
                whole.paste(INK, (left + start, top - size, left + start + 1, top))
                place = left + min(max(0, start - text_width // 2), width - text_width), scale
            else:
                whole.paste(INK, (left - size, top + start, left, top + start + 1))
                y = top + min(max(0, start - text_height // 2), height - text_height)
                place = longest - text_width, y
            if at % NUMBERED == 0:
                _write_digits(whole, str(at), place, scale, INK)
    return whole
