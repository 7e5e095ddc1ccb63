"""Texts to be shown: foreign ones made harmless, long ones cut, counts and names in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LONG = 160
"""Characters of a text that are shown of it where a person is to read on."""


MANY = 20
"""Lines of a list that are shown of it, likewise."""


def sanitize(line: object) -> str:
    """Foreign text that leaves a terminal and a workflow runner alone: no control characters."""
    shown = "".join(c if c.isprintable() else " " for c in str(line))
    return re.sub(r"(?<!\S)::", ": :", shown).replace("##[", "## [")


def sanitize_line(text: object) -> str:
    """Foreign text in one harmless line, with single spaces."""
    return sanitize(" ".join(sanitize(text).split()))


def sanitize_lines(text: str) -> str:
    """Foreign text in harmless lines, which keep their indentation."""
    return "\n".join(map(sanitize, text.splitlines()))


def shorten(text: object) -> str:
    """The same, of long texts the two ends, and how many characters were left out between."""
    line = sanitize_line(text)
    if len(line) <= LONG:
        return line
    half = LONG // 2
    return f"{line[:half]} … {len(line) - 2 * half:,} characters … {line[-half:]}"


def shorten_lines(lines: Sequence[str]) -> list[str]:
    """A list of lines; of a long one the two ends, and how many lines were left out between."""
    if len(lines) <= MANY:
        return list(lines)
    half = MANY // 2
    return [*lines[:half], f"  … {len(lines) - 2 * half} more …", *lines[-half:]]


def counted(number: int, noun: str, plural: str = "s") -> str:
    """A number of things: `1 item`, `2 items`."""
    return f"{number} {noun}{plural if number != 1 else ''}"


def nearest(name: str, names: Sequence[str], limit: int = 3) -> str:
    """Name what was probably meant: ` (did you mean a, b?)`, or nothing."""
    import difflib

    close = difflib.get_close_matches(name, names, n=limit, cutoff=0.5)
    return f" (did you mean {', '.join(close)}?)" if close else ""


def percent(share: float) -> str:
    """A share in percent, to three digits, without the sign."""
    return f"{100 * share:.3g}"


def points(change: float) -> str:
    """A change in percentage points, with its sign and one decimal."""
    return f"{100 * change:+.1f}"


def p_value(value: float) -> str:
    """A p-value to two digits."""
    return f"{value:.2g}"


def listed(items: Iterable[str], most: int = 5) -> str:
    """The first few names of a list, and how many more there are."""
    every = list(items)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if every[most:] else "")
