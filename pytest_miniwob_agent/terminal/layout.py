"""Text for terminals, Markdown and GitHub's log: tables, and foreign text made harmless in them.

Ids and reasons come from files and pages. In a terminal they must not move the cursor, in Markdown
not become markup or call people, in a log not become a command of the workflow runner.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from pytest_miniwob_agent.core.text import sanitize_line

Rows = Sequence[Sequence[str]]


def escape(text: object) -> str:
    """Foreign text for Markdown with nothing in it that is markup or calls a person or an issue."""
    inert = re.sub(r"[^\w .,;()/=+%'-]|_", lambda found: f"&#{ord(found[0])};", sanitize_line(text))
    # GitHub looks for names and numbers after these signs in what is already rendered.
    return re.sub(r"(&#(?:64|35);)(?=\w)", r"\1<!-- -->", inert)


def cell(text: object) -> str:
    """The same as code, for ids and outcomes."""
    inside = escape(text)
    return f"<code>{inside}</code>" if inside else ""


def command(kind: str, title: str, message: str) -> str:
    """A command for GitHub's workflow runner: an annotation of a `kind` (error, warning, notice).

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """

    def encode(text: str, more: str = "") -> str:
        shown = (c if c.isprintable() or c in "\r\n" else " " for c in text)
        return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in shown)

    return f"::{kind} title={encode(title, ':,')}::{encode(message)}"


def wrap(text: str, width: int, indent: int = 0) -> list[str]:
    """Lines of at most `width` columns; those after an indented first are indented by two more."""
    lines = textwrap.wrap(
        sanitize_line(text), max(width, 20), initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2 if indent else 0), break_on_hyphens=False,
    )  # fmt: skip
    return [re.sub(r"^(\s*)::", r"\1:", line) for line in lines]  # where a long word was broken


def text_table(rows: Rows, width: int, numbers: bool = True) -> list[str]:
    """Columns with two spaces between, the first flush left, and the others too unless they hold
    `numbers`; the first row is the heading.

    Where `width` columns do not suffice, the first column is cut short.
    """
    if not rows:
        return []
    rows = [[sanitize_line(each) for each in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    spare = width - sum(widths[1:]) - 2 * (len(widths) - 1)
    widths[0] = max(8, min(widths[0], spare))
    lines = []
    for first, *others in rows:
        name = first if len(first) <= widths[0] else first[: widths[0] - 1] + "…"
        columns = [
            each.rjust(size) if numbers else each.ljust(size)
            for each, size in zip(others, widths[1:], strict=True)
        ]
        lines.append("  ".join([name.ljust(widths[0]), *columns]).rstrip())
    return lines


def fitting_table(rows: Rows, width: int, least: int = 1, numbers: bool = True) -> list[str]:
    """The same with nothing cut short: where `width` columns do not suffice, columns are left out
    from the right, but for the `least` first ones.
    """
    while True:
        lines = text_table(rows, 10**6, numbers)
        if len(rows[0]) <= least or max(map(len, lines)) <= width:
            return lines
        rows = [row[:-1] for row in rows]


def markdown_table(rows: Rows, numbers: bool = True) -> list[str]:
    """A Markdown table; cells are taken as they are, so foreign text must come from `cell`.

    All columns but the first are flush right where they hold `numbers`.
    """
    if not rows:
        return []
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    other = " --: |" if numbers else " :-- |"
    return [head, "| :-- |" + other * (len(rows[0]) - 1), *body]
