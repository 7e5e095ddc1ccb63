"""The tables of `miniwob-agent tables`, the paper's, as text and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pytest_miniwob_agent.core.text import counted, listed, p_value, percent, sanitize_line
from pytest_miniwob_agent.results.figures import tables_of
from pytest_miniwob_agent.results.published import TRIALS, Paper, Table
from pytest_miniwob_agent.terminal import layout

_FORMATS: dict[str, Callable[[float], str]] = {
    **dict.fromkeys(("exact", "chi²", "t-test", "printed"), p_value),
    **dict.fromkeys(("few", "more"), "{:.4g}".format),
}
"""The columns whose numbers are no rates, with their formats."""


def tables_data(paper: Paper) -> dict[str, Any]:
    """Return the tables of a run in plain JSON types: lists of rows, by the names of tables."""
    return {
        "miniwob_tables": 1,
        "partial": paper.results.partial,
        "untold": _inconclusive(paper),
        "reward": "any" if paper.any_reward else "full",
        **rows_by_name(tables_of(paper)),
    }


def rows_by_name(tables: Iterable[Table]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of tables by their names, which several may share."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in tables:
        found.setdefault(table.name, []).extend(table.rows)
    return found


def tables_text(paper: Paper, width: int = 80) -> str:
    """Return the tables of a run as text of `width` columns."""
    lines = [line for remark in _remarks(paper) for line in layout.wrap(remark, width)]
    tables = "".join(table_text(table, width) for table in tables_of(paper))
    return "\n".join(lines) + "\n" + tables


def table_text(table: Table, width: int = 80) -> str:
    """Return a table as text of `width` columns, with those of its columns that are shown."""
    lines = ["", sanitize_line(table.title), *layout.wrap(table.remark, width), ""]
    lines += layout.text_table(_cells(table), width)
    return "\n".join(lines) + "\n"


def _remarks(paper: Paper) -> list[str]:
    lines = [f"{paper.agent} with {paper.model}: {counted(len(paper.conclusive), 'result')}"]
    if paper.results.partial:
        lines.append(f"A partial run: {', '.join(paper.results.partial)}")
    if inconclusive := _inconclusive(paper):
        lines.append(f"Left out as inconclusive: {listed(inconclusive)}")
    if paper.trials != TRIALS and paper.suite == "paper":
        lines.append(f"The run has {counted(max(paper.trials), 'trial')} at most.")
    if paper.any_reward:
        return [*lines, "Solved is any reward above 0, as in the paper's code."]
    rule = "success alone" if paper.suite == "webwise" else "any reward above 0"
    return [*lines, f"Solved is the full reward of 1; the paper counted {rule}."]


def _inconclusive(paper: Paper) -> list[str]:
    return [result.case for result in paper.results.results if not result.conclusive]


def _cells(table: Table) -> list[list[str]]:
    """The cells of a table, with its heading."""
    columns = table.shown or {column: column for row in table.rows for column in row}
    body = [[_cell(column, row.get(column)) for column in columns] for row in table.rows]
    return [list(columns.values()), *body]


def _cell(column: str, value: Any) -> str:
    if value in (None, ""):
        return "-"
    if column in _FORMATS:
        return _FORMATS[column](value)
    return percent(value) if isinstance(value, float) else str(value)
