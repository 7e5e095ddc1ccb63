"""Comparison of pictures: equal enough to be the same page, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image, ImageChops

from pytest_miniwob_agent.pictures.image import decoded, png_of

TOLERANCE = 1
"""The greatest difference of a colour channel, of 0 to 255, at which two pixels count as equal; see
docs/determinism.md."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two pictures of the same size.

    Attributes:
        pixels: the number of pixels that differ.
        most: the greatest difference of a colour channel.
        area: the box around them: left, top, right, bottom; None if no pixel differs.
        of: the number of all pixels.
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
