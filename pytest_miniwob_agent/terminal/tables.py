"""The tables of `miniwob-agent tables`, the paper's, as text and JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_miniwob_agent.core.text import counted, listed, p_value, percent, sanitize_line
from pytest_miniwob_agent.results.published import PAPER, TRIALS, Paper, Table
from pytest_miniwob_agent.terminal import layout

BESIDE = {
    "paper": {f"{PAPER} T={t}": f"T={t}*" for t in TRIALS}
    | {"RCI (gpt-3.5-turbo)": "RCI", "CC-Net (SL+RL)": "CC-Net"},
    "rci": {
        "RCI (gpt-3.5-turbo)": "RCI*",
        "RCI (gpt-4 where used)": "GPT-4*",
        "WebN-T5-3B": "WebN-T5",
        "CC-Net (SL+RL)": "CC-Net",
    },
    "webwise": {
        "WebWISE (gpt-3.5-turbo) k=1": "k=1*",
        "RCI (gpt-3.5-turbo)": "RCI",
        "HeaP (text-davinci-003)": "HeaP",
    },
}
"""The published systems that a terminal has room for, with the headings of their columns, by the
suite of the run's agent."""

_FORMATS: dict[str, Callable[[float], str]] = {
    **dict.fromkeys(("exact", "chi²", "t-test", "printed"), p_value),
    **dict.fromkeys(("few", "more"), "{:.4g}".format),
}
"""The columns whose numbers are no rates, with their formats."""


def tables_data(paper: Paper) -> dict[str, Any]:
    """Return all tables in plain JSON types: a list of rows for each name of a table."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for table in paper.tables:
        tables.setdefault(table.name, []).extend(table.rows)
    return {
        "miniwob_tables": 1,
        "partial": paper.results.partial,
        "untold": _inconclusive(paper),
        "reward": "any" if paper.any_reward else "full",
        **tables,
    }


def tables_text(paper: Paper, width: int = 80) -> str:
    """Return all tables as text of `width` columns, with a few of the published systems."""
    lines = [line for remark in _remarks(paper) for line in layout.wrap(remark, width)]
    for table in paper.tables:
        lines += ["", sanitize_line(table.title), *layout.wrap(table.remark, width), ""]
        lines += layout.text_table(_cells(paper, table), width)
    return "\n".join(lines) + "\n"


def _remarks(paper: Paper) -> list[str]:
    agent, model = (
        ", ".join(sorted({getattr(result, name) for result in paper.conclusive}))
        for name in ("agent", "model")
    )
    lines = [f"{agent} with {model}: {counted(len(paper.conclusive), 'result')}"]
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


def _cells(paper: Paper, table: Table) -> list[list[str]]:
    """The cells of a table, with its heading; completion is shown with a few systems."""
    if table.name == "completion":
        columns = {name: name for name in ("task", *(f"T={t}" for t in paper.trials))}
        columns |= BESIDE[paper.suite]
    else:
        columns = {column: column for row in table.rows for column in row}
    body = [[_cell(column, row.get(column)) for column in columns] for row in table.rows]
    return [list(columns.values()), *body]


def _cell(column: str, value: Any) -> str:
    if value in (None, ""):
        return "-"
    if column in _FORMATS:
        return _FORMATS[column](value)
    return percent(value) if isinstance(value, float) else str(value)
