"""The tables of `miniwob-agent tables`, the paper's, as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

RULES = {
    "paper": "any reward above 0",
    "rci": "any reward above 0",
    "webwise": "success alone",
}
"""The rewards that the papers counted as solved."""


_FORMATS: dict[str, Callable[[float], str]] = {
    **dict.fromkeys(("exact", "chi²", "t-test", "printed"), p_value),
    **dict.fromkeys(("few", "more"), "{:.4g}".format),
}
"""The columns whose numbers are no rates, with their formats."""


@dataclass(frozen=True)
class Tables:
    """The paper's tables for a run, as text, Markdown and JSON."""

    paper: Paper

    def data(self) -> dict[str, Any]:
        """All tables, in plain JSON types: a list of rows for each name of a table."""
        tables: dict[str, list[dict[str, Any]]] = {}
        for table in self.paper.tables:
            tables.setdefault(table.name, []).extend(table.rows)
        return {
            "miniwob_tables": 1,
            "partial": self.paper.results.partial,
            "untold": self._inconclusive,
            "reward": "any" if self.paper.any_reward else "full",
            **tables,
        }

    def text(self, width: int = 80) -> str:
        """Text for a terminal of `width` columns, with a few of the published systems."""
        lines = [line for remark in self._remarks() for line in layout.wrap(remark, width)]
        for table in self.paper.tables:
            lines += ["", sanitize_line(table.title), *layout.wrap(table.remark, width), ""]
            lines += layout.text_table(self._cells(table, BESIDE[self.paper.suite]), width)
        return "\n".join(lines) + "\n"

    def markdown(self) -> str:
        """Markdown, with all published systems."""
        lines = [layout.escape(line) + "  " for line in self._remarks()]
        for table in self.paper.tables:
            head, *body = self._cells(table)
            rows = [head, *([layout.escape(row[0]), *row[1:]] for row in body)]
            lines += ["", f"### {layout.escape(table.title)}", "", table.remark, ""]
            lines += layout.markdown_table(rows)
        return "\n".join(lines) + "\n"

    @property
    def _trials(self) -> list[str]:
        return [f"T={t}" for t in self.paper.trials]

    def _name(self, field: str) -> str:
        return ", ".join(sorted({str(getattr(result, field)) for result in self.paper.conclusive}))

    @property
    def _inconclusive(self) -> list[str]:
        return [result.case for result in self.paper.results.results if not result.conclusive]

    def _cells(self, table: Table, systems: Mapping[str, str] | None = None) -> list[list[str]]:
        """The cells of a table, with its heading; of completion only some systems, if given."""
        columns = {column: column for row in table.rows for column in row}
        if table.name == "completion":
            del columns["items"]
            if systems is not None:
                columns = {name: name for name in ("task", *self._trials)} | dict(systems)
            else:
                columns |= {s: h for s, h in BESIDE[self.paper.suite].items() if s in columns}
        body = [[_cell(column, row.get(column)) for column in columns] for row in table.rows]
        return [list(columns.values()), *body]

    def _remarks(self) -> list[str]:
        results = counted(len(self.paper.conclusive), "result")
        lines = [f"{self._name('agent')} with {self._name('model')}: {results}"]
        if self.paper.results.partial:
            lines.append(f"A partial run: {', '.join(self.paper.results.partial)}")
        if inconclusive := self._inconclusive:
            lines.append(f"Left out as inconclusive: {listed(inconclusive)}")
        if self.paper.trials != TRIALS and self.paper.suite == "paper":
            lines.append(f"The run has {counted(max(self.paper.trials), 'trial')} at most.")
        if self.paper.any_reward:
            lines.append("Solved is any reward above 0, as in the paper's code.")
        else:
            rule = RULES[self.paper.suite]
            lines.append(f"Solved is the full reward of 1; the paper counted {rule}.")
        return lines


def _cell(column: str, value: Any) -> str:
    if value in (None, ""):
        return "-"
    if column in _FORMATS:
        return _FORMATS[column](value)
    return percent(value) if isinstance(value, float) else str(value)
