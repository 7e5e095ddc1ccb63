"""Layout of text for terminals: wrapped lines and tables.

Ids and reasons come from files and pages. They must not move a terminal's cursor, or be a workflow
command in a log of GitHub Actions.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from pytest_miniwob_agent.core.text import sanitize_line

Rows = Sequence[Sequence[str]]


def wrap(text: str, width: int, indent: int = 0) -> list[str]:
    """Wrap a text into lines of at most `width` columns.

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
    return [re.sub(r"^(\s*)::", r"\1:", line) for line in lines]


def text_table(rows: Rows, width: int, numbers: bool = True) -> list[str]:
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


def fitting_table(rows: Rows, width: int, least: int = 1, numbers: bool = True) -> list[str]:
    """Lay out rows as `text_table` does, with nothing cut short.

    If the table is wider than `width` columns, columns are left out from the right, except for the
    `least` first ones.
    """
    while True:
        lines = text_table(rows, 10**6, numbers)
        if len(rows[0]) <= least or max(map(len, lines)) <= width:
            return lines
        rows = [row[:-1] for row in rows]
