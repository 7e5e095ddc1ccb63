"""Text to show: foreign text made harmless, long text shortened or wrapped; counts, lists, tables.

Ids and reasons come from files and pages. They must not move a terminal's cursor, or be a workflow
command in a log of GitHub Actions.
"""

from __future__ import annotations

import difflib
import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence

LONG, MANY = 160, 20
"""The characters of a line that `shorten` keeps, and the most lines `shorten_lines` keeps whole."""


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
    line, half = sanitize_line(text), LONG // 2
    left_out = f" (… {counted(len(line) - LONG, 'character')} left out …) "
    whole = len(line) <= LONG + len(left_out)
    return line if whole else line[:half] + left_out + line[-half:]


def shorten_lines(lines: Sequence[str]) -> list[str]:
    """A list of lines; a long one loses its middle, whose length is shown."""
    if len(lines) <= MANY:
        return list(lines)
    half = MANY // 2
    return [*lines[:half], f"  … {len(lines) - 2 * half} more …", *lines[-half:]]


def section_lines(name: str, text: str, *, full: bool = True) -> list[str]:
    """The harmless lines of one of a completion's `sections`: `refusal: ...`.

    Several lines are indented below the name, which text and tool calls do without. Unless `full`,
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
    """Suggest names like a misspelt one: ` (did you mean a, b?)`, or an empty string."""
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


Cells = Sequence[Sequence[str]]
"""The cells of a table, row by row."""


def wrap(text: str, width: int, indent: int = 0) -> list[str]:
    """Wrap text into lines of at most `width` columns.

    The first line is indented by `indent`; if that is not 0, the others by two more.
    """
    lines = textwrap.wrap(
        sanitize_line(text),
        max(width, 20),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2 if indent else 0),
        break_long_words=False,
        break_on_hyphens=False,
    )
    # At the beginning of a line, :: would be a workflow command.
    return [re.sub(r"^(\s*)::", r"\1:", line) for line in lines]


def command_lines(command: str, width: int, indent: int = 0) -> list[str]:
    """Lay out a command for a shell; one that is too long for a line goes on in the next ones."""
    first, *words = map(shlex.quote, shlex.split(command))
    lines = [" " * indent + first]
    for word in words:
        if len(f"{lines[-1]} {word} \\") <= width:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            lines.append(" " * (indent + 4) + word)
    return lines


def text_table(rows: Cells, width: int, numbers: bool = True) -> list[str]:
    """Lay out rows as columns with two spaces between; the first row is the heading.

    The first column is aligned left, the others right if they hold `numbers`. If the table is wider
    than `width` columns, the first column is cut short.
    """
    if not rows:
        return []
    rows = [list(map(sanitize_line, row)) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    spare = width - sum(widths[1:]) - 2 * (len(widths) - 1)
    widths[0] = max(8, min(widths[0], spare))
    lines = []
    for first, *others in rows:
        name = first if len(first) <= widths[0] else first[: widths[0] - 1] + "…"
        columns = [
            text.rjust(size) if numbers else text.ljust(size)
            for text, size in zip(others, widths[1:], strict=True)
        ]
        lines.append("  ".join([name.ljust(widths[0]), *columns]).rstrip())
    return lines


def stacked_table(rows: Cells, width: int) -> list[str]:
    """Lay out rows as `text_table` does, wide ones as several tables one below the other."""
    columns = len(rows[0])
    while max(map(len, lines := text_table([row[:columns] for row in rows], width))) > width:
        if columns <= 2:
            break
        columns -= 1
    rest = [[row[0], *row[columns:]] for row in rows]
    return [*lines, "", *stacked_table(rest, width)] if columns < len(rows[0]) else lines


def fitting_table(rows: Cells, width: int, least: int = 1, numbers: bool = True) -> list[str]:
    """Lay out rows as `text_table` does, with nothing cut short.

    If the table is wider than `width` columns, columns are left out from the right, except for the
    `least` first ones.
    """
    while True:
        lines = text_table(rows, 10**6, numbers)
        if len(rows[0]) <= least or max(map(len, lines)) <= width:
            return lines
        rows = [row[:-1] for row in rows]
