# /// script
# dependencies = ["fonttools==4.68.0"]
# ///
"""Makes two fonts, shapes.ttf and boxes.ttf of pytest_miniwob_agent/browser: `pipx run` this file.

The shapes are those of bullets, arrowheads and ratings, as wide as they were when the pages of the
shipped cassettes were recorded. The boxes are for every character that no other font has, as wide
and high as Roboto's own.
"""

from __future__ import annotations

from math import cos, pi, sin
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import newTable
from fontTools.ttLib.tables._c_m_a_p import CmapSubtable

FOLDER = Path(__file__).parents[1] / "pytest_miniwob_agent" / "browser"

EM, ASCENT, DESCENT = 2048, 1900, 500
"""As Roboto has them, so that no line gets higher."""

BOX, SHAPE = 908, 1787
"""Widths."""

CIRCLE, STAR = 48, 10
"""Numbers of corners."""

SHAPES = {
    "●○": (CIRCLE, 0), "■□": (4, 45), "◆◇": (4, 0), "★☆": (STAR, 90),
    "▲△": (3, 90), "▼▽": (3, -90), "▶▷": (3, 0), "◀◁": (3, 180),
}  # fmt: skip
"""The number of corners of each shape, and the angle of the first in degrees."""

Corners = list[tuple[int, int]]


def corners(number: int, turn: float, radius: float) -> Corners:
    """The corners of a shape, every other one of a star nearer to its middle."""
    middle, height, points = SHAPE / 2, 700, []
    for count in range(number):
        away = radius * (0.4 if number == STAR and count % 2 else 1)
        angle = turn * pi / 180 - 2 * pi * count / number
        points.append((round(middle + away * cos(angle)), round(height + away * sin(angle))))
    return points


def frame(left: int, bottom: int, right: int, top: int) -> Corners:
    """The corners of a rectangle."""
    return [(left, bottom), (left, top), (right, top), (right, bottom)]


def drawn(outer: Corners, inner: Corners | None = None) -> object:
    """A glyph, hollow with an inner outline."""
    pen = TTGlyphPen(None)
    for outline in (outer, inner[::-1] if inner else []):
        if outline:
            pen.moveTo(outline[0])
            for point in outline[1:]:
                pen.lineTo(point)
            pen.closePath()
    return pen.glyph()


def write(name: str, glyphs: dict[str, tuple[object, int]], table: CmapSubtable) -> None:
    """Write a font of glyphs with their widths."""
    builder = FontBuilder(EM, isTTF=True)
    builder.setupGlyphOrder(list(glyphs))
    builder.font["cmap"] = newTable("cmap")
    builder.font["cmap"].tableVersion, builder.font["cmap"].tables = 0, [table]
    table.platformID, table.platEncID, table.language = 3, 10, 0
    table.reserved, table.length, table.nGroups = 0, 0, 0
    builder.setupGlyf({glyph: outline for glyph, (outline, _) in glyphs.items()})
    builder.setupHorizontalMetrics({glyph: (width, 0) for glyph, (_, width) in glyphs.items()})
    builder.setupHorizontalHeader(ascent=ASCENT, descent=-DESCENT)
    builder.setupNameTable({"familyName": f"miniwob-agent {name}", "styleName": "Regular"})
    builder.setupOS2(
        sTypoAscender=ASCENT, sTypoDescender=-DESCENT, usWinAscent=ASCENT, usWinDescent=DESCENT
    )
    builder.setupPost(keepGlyphNames=False)
    builder.updateHead(created=0, modified=0)
    builder.font.recalcTimestamp = False
    builder.font.save(FOLDER / f"{name}.ttf")


def main() -> None:
    """Write both fonts."""
    box = drawn(frame(100, 0, 808, 1456), frame(170, 70, 738, 1386))
    every = CmapSubtable.newSubtable(13)  # the format in which many characters have one glyph
    every.format, every.cmap = 13, dict.fromkeys(range(0x20, 0x110000), "box")
    write("boxes", {".notdef": (box, BOX), "box": (box, BOX)}, every)

    some = CmapSubtable.newSubtable(12)
    some.format, some.cmap = 12, {}
    glyphs = {".notdef": (box, BOX)}
    for (full, hollow), (number, turn) in SHAPES.items():
        outer, inner = (corners(number, turn, radius) for radius in (680, 520))
        for character, outline in ((full, drawn(outer)), (hollow, drawn(outer, inner))):
            some.cmap[ord(character)] = f"u{ord(character):X}"
            glyphs[f"u{ord(character):X}"] = outline, SHAPE
    write("shapes", glyphs, some)


if __name__ == "__main__":
    main()
