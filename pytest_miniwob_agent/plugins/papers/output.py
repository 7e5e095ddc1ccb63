"""Tables as text, as JSON, and as bars in one SVG, in the light or dark theme of its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.text import (
    counted,
    listed,
    p_value,
    percent,
    sanitize_line,
    stacked_table,
    wrap,
)
from pytest_miniwob_agent.plugins.papers.figures import run_tables
from pytest_miniwob_agent.plugins.papers.tables import TRIALS, Paper, Table

# The columns whose numbers are no rates, with their formats.
_FORMATS: dict[str, Callable[[float], str]] = {
    **dict.fromkeys(("exact", "by page", "chi²", "t-test", "printed"), p_value),
    **dict.fromkeys(("few", "more"), "{:.4g}".format),
}


def tables_data(paper: Paper) -> dict[str, Any]:
    """Return the tables of a run in plain JSON types: lists of rows, by the names of tables."""
    return {
        "miniwob_tables": 1,
        "partial": paper.results.partial,
        "untold": _inconclusive(paper),
        "reward": "any" if paper.any_reward else "full",
        **rows_by_name(run_tables(paper)),
    }


def rows_by_name(tables: Iterable[Table]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of tables by their names, which several may share."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in tables:
        found.setdefault(table.name, []).extend(table.rows)
    return found


def tables_text(paper: Paper, width: int = 80) -> str:
    """Return the tables of a run as text of `width` columns."""
    lines = [line for remark in _remarks(paper) for line in wrap(remark, width)]
    tables = "".join(table_text(table, width) for table in run_tables(paper))
    return "\n".join(lines) + "\n" + tables


def table_text(table: Table, width: int = 80) -> str:
    """Return a table as text of `width` columns, with those of its columns that are shown."""
    lines = ["", sanitize_line(table.title), *wrap(table.remark, width), ""]
    lines += stacked_table(_cells(table), width)
    return "\n".join(lines) + "\n"


def _remarks(paper: Paper) -> list[str]:
    lines = [f"{paper.agent} with {paper.model}: {counted(len(paper.conclusive), 'result')}"]
    if paper.results.partial:
        lines.append(f"A partial run: {', '.join(paper.results.partial)}")
    if inconclusive := _inconclusive(paper):
        lines.append(f"Left out as inconclusive: {listed(inconclusive)}")
    if paper.trials and paper.trials != TRIALS and paper.suite == "paper":
        lines.append(f"The run has {counted(max(paper.trials), 'trial')} at most.")
    if paper.any_reward:
        return [*lines, "Solved is any reward above 0, as in the paper's code."]
    rule = "success alone" if paper.suite == "webwise" else "any reward above 0"
    return [*lines, f"Solved is the full reward of 1; the paper counted {rule}."]


def _inconclusive(paper: Paper) -> list[str]:
    return [result.case for result in paper.results.results if not result.conclusive]


def _cells(table: Table) -> list[list[str]]:
    columns = table.shown or {column: column for row in table.rows for column in row}
    body = [[_cell(column, row.get(column)) for column in columns] for row in table.rows]
    return [list(columns.values()), *body]


def _cell(column: str, value: Any) -> str:
    if value in (None, ""):
        return "-"
    if column in _FORMATS:
        return _FORMATS[column](value)
    return percent(value) if isinstance(value, float) else str(value)


WIDTH, BAR, LETTER = 720, 11, 6.6  # in pixels: of the figure, of a bar, and of most letters
COLOURS = 5  # in plot.css


def draw(tables: Sequence[tuple[str, Table]]) -> str:
    """Return the SVG of the tables that name `bars`, with their runs; empty if nothing has one."""
    style = Path(__file__).with_name("plot.css").read_text(encoding="utf-8")
    top, body = 12, []
    for run, table in tables:
        if any(_shares(row.get(column)) for row in table.rows for column in table.bars):
            marks, height = _figure(run, table)
            body.append(f'<g transform="translate(0 {top})">{"".join(marks)}</g>\n')
            top += height
    if not body:
        return ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" '
        f'height="{top}" role="img">\n<style>\n{style}</style>\n'
        f'<rect class="page" width="{WIDTH}" height="{top}"/>\n{"".join(body)}</svg>\n'
    )


def _figure(run: str, table: Table) -> tuple[list[str], int]:
    marks = [_text(12, 18, table.title, "title"), _text(12, 36, f"{run}, in percent", "soft")]
    x, y = 12.0, 58
    for number, legend in enumerate(table.bars.values()):
        needed = 34 + LETTER * len(legend)
        if x + needed > WIDTH:
            x, y = 12.0, y + 18
        marks += [_bar(number, x, y - 10, 11, 11), _text(x + 16, y, legend)]
        x += needed
    top = y = y + 14
    values = [[_shares(row.get(column)) for column in table.bars] for row in table.rows]
    labels = [[", ".join(map(percent, shares)) for shares in row] for row in values]
    names = [str(next(iter(row.values()))) for row in table.rows]
    left = 20 + min(300, LETTER * max(map(len, names)))
    right = 20 + LETTER * max(len(label) for row in labels for label in row)
    least = min([0.0, *(share for row in values for shares in row for share in shares)])
    width = (WIDTH - left - right) // 60 * 60  # so that bars of common shares end on pixels

    def across(share: float) -> float:
        return left + (share - least) / (1 - least) * width

    for name, columns, shown in zip(names, values, labels, strict=True):
        bars = [number for number, shares in enumerate(columns) if shares]
        if bars:
            marks.append(_text(left - 8, y + BAR * len(bars) / 2 + 3, name, "end"))
        for number in bars:
            shares = columns[number]
            for paler, share in sorted(enumerate(shares), key=itemgetter(1), reverse=True):
                start, end = sorted((across(0), across(share)))
                marks.append(_bar(number, start, y, max(end - start, 1), BAR - 2, 1 / (1 + paler)))
            marks.append(_text(across(max([0.0, *shares])) + 4, y + 8, shown[number], "value"))
            y += BAR
        y += 6 if bars else 0
    axis = f'<line class="axis" x1="{across(0):.1f}" x2="{across(0):.1f}" y1="{top}" y2="{y}"/>'
    return [*marks, axis], y + 24


def _bar(number: int, x: float, y: float, width: float, height: float, opacity: float = 1) -> str:
    return (
        f'<rect class="c{number % COLOURS}" x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{height}" opacity="{opacity:.2g}"/>'
    )


def _shares(value: Any) -> list[float]:
    """The shares of a cell, in percent; a string has several."""
    if isinstance(value, str):
        return [float(one) / 100 for one in value.split(", ") if one.replace(".", "").isdigit()]
    return [] if value is None else [float(value)]


def _text(x: float, y: float, text: object, kind: str = "") -> str:
    shown = escape(sanitize_line(str(text)))
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{shown}</text>'
