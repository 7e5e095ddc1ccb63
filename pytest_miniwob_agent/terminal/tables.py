"""The tables of `miniwob-agent tables`, the paper's, as text, Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from pytest_miniwob_agent.core.text import counted, listed, p_value, percent, sanitize_line
from pytest_miniwob_agent.results.published import FUNCTIONS, PAPER, TRIALS, Paper
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

PAPERS = {"paper": PAPER, "rci": "the paper's RCI", "webwise": "the paper's WebWISE"}
"""The systems whose columns have a * in their headings."""

RULES = {
    "paper": "any reward above 0",
    "rci": "any reward above 0",
    "webwise": "success alone",
}
"""The rewards that the papers counted as solved."""


@dataclass(frozen=True)
class Section:
    """A table with its title and a remark; the first row is the heading."""

    title: str
    remark: str
    rows: list[tuple[str, ...]]


@dataclass(frozen=True)
class Tables:
    """The paper's tables for a run, as text, Markdown, JSON and CSV."""

    paper: Paper

    def data(self) -> dict[str, Any]:
        """All tables, in plain JSON types."""
        return {
            "miniwob_tables": 1,
            "partial": self.paper.results.partial,
            "untold": self._inconclusive,
            "reward": "any" if self.paper.any_reward else "full",
            "completion": self.paper.completion,
            "systems": self.paper.systems(),
            "functions": self.paper.functions(),
            "significance": self.paper.significance(),
            "planning": self.paper.planning(),
        }

    def csv(self) -> str:
        """Completion as CSV, with the same columns as the published figures."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["category", "task", "system", "setting", "completion_rate"])
        system = f"{self._name('agent')} ({self._name('model')})"
        for row in self.paper.completion:
            for setting, rate in row["completion"].items():
                cells = row["category"], row["task"], system, setting, f"{rate:.4g}"
                writer.writerow(map(sanitize_line, cells))
        return text.getvalue()

    def _name(self, field: str) -> str:
        return ", ".join(sorted({str(getattr(result, field)) for result in self.paper.conclusive}))

    @property
    def _inconclusive(self) -> list[str]:
        return [result.case for result in self.paper.results.results if not result.conclusive]

    def sections(self, *, all_systems: bool) -> list[Section]:
        """The tables for people, without empty ones.

        Args:
            all_systems: True for columns of all published systems, not only of a few.
        """
        sections = [
            *(self._completion(category, all_systems) for category in self.paper.items),
            self._systems(),
            self._functions(),
            *map(self._significance, ("category", "task")),
            self._planning(),
        ]
        return [section for section in sections if section.rows[1:]]

    def _completion(self, category: str, all_systems: bool) -> Section:
        rows = [row for row in self.paper.completion if row["group"] == category]
        beside = few = BESIDE[self.paper.suite]
        if all_systems:
            beside = {s: few.get(s, s) for row in rows for s in row["published"]}
        head = ("task", *(f"T={t}" for t in self.paper.trials), *beside.values())
        body = [
            (
                row["task"],
                *(percent(rate) for rate in row["completion"].values()),
                *(_or_dash(row["published"].get(system)) for system in beside),
            )
            for row in rows
        ]
        counts = sorted({row["items"] for row in rows})
        return Section(
            f"Completion, {category}",
            f"Percent of {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} "
            f"items a task; with * {PAPERS[self.paper.suite]}.",
            [head, *body],
        )

    def _systems(self) -> Section:
        head = ("system", "tasks", "published", *(f"T={t}" for t in self.paper.trials))
        rows: list[tuple[str, ...]] = []
        for category, group in groupby(self.paper.systems(), key=itemgetter("category")):
            rows.append((f"{category}:", *("" for _ in head[1:])))
            for row in group:
                figures = [row["published"], *row["completion"].values()]
                rows.append((row["system"], str(row["shared_tasks"]), *map(percent, figures)))
        return Section(
            "Systems",
            "Mean over the tasks that both have, in percent. Other seeds, screens and models: no "
            "ranking.",
            [head, *rows],
        )

    def _functions(self) -> Section:
        rows = [
            (row["system"], *(_or_dash(row["completion"].get(group)) for group in FUNCTIONS))
            for row in self.paper.functions()
        ]
        return Section(
            "By number of functions",
            "WebWISE's tables 2 and 3: percent of the tasks whose solution calls 1, 2, 3 to 6 or a "
            "variable number of functions; k is the number of examples.",
            [("system", "1", "2", "3 to 6", "variable"), *rows],
        )

    def _significance(self, kind: str) -> Section:
        tests = [row for row in self.paper.significance() if row["kind"] == kind]
        return Section(
            f"Are more trials better? By {kind}"
            + f", 1 to {self.paper.trials[-1]}" * (kind == "task"),
            "Solved items; one-tailed p by the exact test and by McNemar's chi-square, two-tailed "
            "by the t-test; the p that the paper prints.",
            [("", "solved", "exact", "chi²", "t-test", "paper"), *map(_significance_row, tests)],
        )

    def _planning(self) -> Section:
        return Section(
            "Planner calls",
            "Actions (one call each, without staging), calls that choose actions and percent "
            "saved: solved in the first trial, then all trials. The paper's savings of both are in "
            "the last column.",
            [
                ("", "first", "calls", "saved", "all", "calls", "saved", "paper"),
                *map(_planning_row, self.paper.planning()),
            ],
        )

    def text(self, width: int = 80) -> str:
        """Text for a terminal of `width` columns."""
        lines = [line for remark in self._remarks() for line in layout.wrap(remark, width)]
        for section in self.sections(all_systems=False):
            lines += ["", sanitize_line(section.title), *layout.wrap(section.remark, width), ""]
            lines += layout.text_table(section.rows, width)
        return "\n".join(lines) + "\n"

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

    def markdown(self) -> str:
        """Markdown, with all published systems."""
        lines = [layout.escape(line) + "  " for line in self._remarks()]
        for section in self.sections(all_systems=True):
            head, *body = section.rows
            rows = [head, *((layout.escape(row[0]), *row[1:]) for row in body)]
            lines += ["", f"### {layout.escape(section.title)}", "", section.remark, ""]
            lines += layout.markdown_table(rows)
        return "\n".join(lines) + "\n"


def _or_dash(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _significance_row(row: dict[str, Any]) -> tuple[str, ...]:
    """A row of the significance table; without p-values if more trials did not solve more."""
    gained = row["to_solved"] > row["from_solved"]
    tests = [row["p_exact"], row["p_chi_square"], row["p_t"]] if gained else [None] * 3
    return (
        row["what"] + (f" {row['from_trials']}-{row['to_trials']}" * (row["kind"] == "category")),
        f"{row['from_solved']:.4g} to {row['to_solved']:.4g} of {row['items']}",
        *("-" if p is None else p_value(p) for p in [*tests, row["p_published"]]),
    )


def _planning_row(row: dict[str, Any]) -> tuple[str, ...]:
    cells = []
    for part in (row["first"], row["all"]):
        cells += [str(part["iterative"]), str(part["staged"]), _or_dash(part["saved"])]
    paper = ", ".join(
        f"{100 * given['first']['saved']:.0f}/{100 * given['all']['saved']:.0f}"
        for given in row["published"]
    )
    return (row["what"], *cells, paper or "-")
