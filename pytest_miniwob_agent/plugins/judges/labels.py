"""The labels of people and the verdicts of a judge, item by item, and how well they agree."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import nearest, sanitize_line
from pytest_miniwob_agent.plugins.judges.kappa import kappa
from pytest_miniwob_agent.results.statistics import exact_interval

COLUMNS = {
    "item": "its id, once in a file",
    "label": "a person's: yes or no, pass or fail, true or false, 1 or 0",
    "verdict": "the judge's, in the same words",
    "reason": "why, in the judge's words; may be missing",
}
"""The columns of a file, and what they hold; others are ignored."""

OPTIONAL = ("reason",)

WORDS = {
    **dict.fromkeys(("yes", "pass", "passed", "true", "1"), True),
    **dict.fromkeys(("no", "fail", "failed", "false", "0"), False),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """An item with the label that a person gave it and the judge's verdict: True if it passes."""

    item: str
    label: bool
    verdict: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well a judge agrees with people."""

    items: Sequence[Judged]

    @property
    def table(self) -> list[list[int]]:
        """The numbers of items: a row for the labels pass and fail, a column for the verdicts."""
        pairs = [(each.label, each.verdict) for each in self.items]
        return [[pairs.count((label, said)) for said in (True, False)] for label in (True, False)]

    @property
    def agreed(self) -> int:
        return self.table[0][0] + self.table[1][1]

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the share that agrees."""
        return exact_interval(self.agreed, len(self.items))

    @property
    def kappa(self) -> tuple[float, float, float] | None:
        """Cohen's kappa with its 95 % interval, None if it is undefined."""
        return kappa(self.table)

    @property
    def wrong(self) -> list[Judged]:
        """The items to look at: what the judge passes and people do not, then the opposite."""
        wrong = (each for each in self.items if each.label != each.verdict)
        return sorted(wrong, key=lambda each: each.label)


def read_labels(path: Path) -> list[Judged]:
    """Read a CSV file with the columns `COLUMNS`.

    Raises:
        UsageError: it is no such file; the message has the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            found = rows.fieldnames or ()
            for name in COLUMNS:
                if name not in found and name not in OPTIONAL:
                    needed = ", ".join(each for each in COLUMNS if each not in OPTIONAL)
                    raise UsageError(
                        f"{path}: no column {name}{nearest(name, found)}: "
                        f"the first line must name the columns {needed}"
                    )
            lines: dict[str, int] = {}
            items = []
            for row in rows:
                place = f"{path}, line {rows.line_num}"
                name = (row["item"] or "").strip()
                if not name:
                    raise UsageError(f"{place}: the item has no id")
                if name in lines:
                    raise UsageError(
                        f"{place}: {sanitize_line(name)} is in line {lines[name]} too: keep one, "
                        "or give the samples of an item ids of their own"
                    )
                lines[name] = rows.line_num
                label, verdict = (_read_word(row[key], key, place) for key in ("label", "verdict"))
                items.append(Judged(name, label, verdict, (row.get("reason") or "").strip()))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} is no CSV file in UTF-8: {error}") from None
    if not items:
        raise UsageError(f"{path} has no items: add a line for each item that a person labelled")
    return items


def _read_word(text: str | None, column: str, place: str) -> bool:
    word = (text or "").strip()
    if word.lower() not in WORDS:
        given = f"is {sanitize_line(word)}" if word else "is empty"
        raise UsageError(f"{place}: the {column} {given}, and must be one of {', '.join(WORDS)}")
    return WORDS[word.lower()]
