"""Decoded pictures: their digests, their differences, and PNGs without metadata."""

from __future__ import annotations

import hashlib
import io
import struct
from dataclasses import dataclass

from PIL import Image, ImageChops

_EIGHT_BITS = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
"""Pillow's modes that lose nothing as eight bits per channel."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PIXELS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
"""The chunks of a PNG (https://www.w3.org/TR/png-3) that its pixels need."""

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


def png_of(image: Image.Image) -> bytes:
    """Return a picture as a PNG without metadata."""
    file = io.BytesIO()
    Image.frombytes(image.mode, image.size, image.tobytes()).save(file, "PNG")
    return file.getvalue()


def digest_of(image: Image.Image) -> str:
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
    """Return the greatest difference of a channel at each pixel, as a picture in grey."""
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
    return png_of(faded)
