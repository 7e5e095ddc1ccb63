"""Texts to show: foreign ones made harmless, long ones shortened, counts and lists in words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

LONG, MANY = 160, 20
"""The most characters that `shorten` keeps whole, and the most lines that `shorten_lines` does."""


def sanitize(line: object) -> str:
    """Foreign text without control characters and without commands to a workflow runner."""
    shown = "".join(c if c.isprintable() else " " for c in str(line))
    return re.sub(r"(?<!\S)::", ": :", shown).replace("##[", "## [")


def sanitize_line(text: object) -> str:
    """Foreign text as one harmless line, with single spaces."""
    return sanitize(" ".join(sanitize(text).split()))


def sanitize_lines(text: str) -> str:
    """Foreign text as harmless lines, which keep their indentation."""
    return "\n".join(map(sanitize, text.splitlines()))


def shorten(text: object) -> str:
    """Foreign text as one harmless line; a long one loses its middle, whose length is shown."""
    line = sanitize_line(text)
    if len(line) <= LONG:
        return line
    half = LONG // 2
    return f"{line[:half]} … {len(line) - 2 * half:,} characters … {line[-half:]}"


def shorten_lines(lines: Sequence[str]) -> list[str]:
    """A list of lines; a long one loses its middle, whose length is shown."""
    if len(lines) <= MANY:
        return list(lines)
    half = MANY // 2
    return [*lines[:half], f"  … {len(lines) - 2 * half} more …", *lines[-half:]]


def section_lines(name: str, text: str, *, full: bool = True) -> list[str]:
    """The harmless lines of one of a completion's `sections`: `refusal: ...`.

    Several lines are indented below the name, which texts and tool calls do without. Unless `full`,
    long lines are shortened, and the middle of many is left out.
    """
    lines = list(map(sanitize, text.splitlines()))
    if not full:
        lines = shorten_lines(list(map(shorten, lines)))
    if name in ("text", "calls"):
        return lines
    if len(lines) == 1:
        return [f"{name}: {lines[0]}"]
    return [f"{name}:", *(f"  {line}" for line in lines)]


def counted(number: int, noun: str, plural: str = "s") -> str:
    """A number and its noun: `1 item`, `1,075 items`."""
    return f"{number:,} {noun}{plural if number != 1 else ''}"


def nearest(name: str, names: Sequence[str], limit: int = 3) -> str:
    """Suggest names like a misspelt one: ` (did you mean a, b?)`, or an empty text."""
    close = difflib.get_close_matches(name, names, n=limit, cutoff=0.5)
    return f" (did you mean {', '.join(close)}?)" if close else ""


def percent(share: float) -> str:
    """A share in percent, to three digits, without the sign."""
    return f"{100 * share:.3g}"


def p_value(value: float) -> str:
    """A p-value to two digits."""
    return f"{value:.2g}"


def listed(items: Iterable[str], most: int = 5) -> str:
    """The first items of a list, and the number of the others: `a, b and 3 more`."""
    shown = first_items(list(items), most)
    return " ".join(filter(None, [", ".join(shown[:most]), *shown[most:]]))


def first_items(items: Sequence[str], most: int | None, hint: str = "") -> list[str]:
    """The first items of a list, and the number of the others as a last one: `and 12 more`.

    `most` is the number of items to keep, None for all, and `hint` a way to see the others.
    """
    if most is None or len(items) <= most:
        return list(items)
    others = f"and {len(items) - most} more" + (f" ({hint})" if hint else "")
    return [*items[:most], others]
