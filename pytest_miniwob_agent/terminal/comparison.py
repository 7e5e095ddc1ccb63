"""The table of `miniwob-agent compare`, as text, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_miniwob_agent.core.text import first_items, listed, p_value, percent, points
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.comparison import Comparison, Pair, RateChange
from pytest_miniwob_agent.results.gate import Verdict
from pytest_miniwob_agent.terminal import layout
from pytest_miniwob_agent.terminal.gate import verdict_data, verdict_lines

LISTED = 100
"""The most items that are listed as worse, and as better."""


@dataclass(frozen=True)
class ComparisonView:
    """A comparison, and the verdict of a gate if there is one, as text, Markdown and JSON."""

    both: Comparison
    verdict: Verdict | None = None

    @property
    def changed(self) -> tuple[list[Pair], list[Pair]]:
        """The items that got worse and those that got better, the most changed ones first."""
        moved = sorted(self.both.pairs, key=lambda pair: (-abs(pair.change), pair.item))
        return [p for p in moved if p.change < 0], [p for p in moved if p.change > 0]

    def text(self, width: int = 80) -> str:
        """Text for a terminal of `width` columns, without colours."""
        warnings = self.both.warnings
        setup = [f"{name}: {_arrow(before, after)}" for name, before, after in self.both.setup]
        heads = ["warning: " * (row in warnings) + row for row in setup]
        lines = [line for text in heads for line in layout.wrap(text, width)]
        lines += ["", *layout.text_table(self._rates(), width), ""]
        if self.both.pairs:
            test = "exact sign-flip test" if self.both.repeated else "exact McNemar test"
            note = "Rates are in percent, with 95 % intervals; p is two-sided, by the "
            lines += layout.wrap(f"{note}{test} over the items that both have.", width)
        if rows := self._repeats(self.both):
            lines += ["", *layout.text_table(rows, width)]
        for title, pairs in zip(("worse", "better"), self.changed, strict=True):
            if pairs:
                lines += ["", f"{title} ({len(pairs)})"]
                for line in first_items(list(map(str, pairs)), LISTED):
                    lines += layout.wrap(line, width, 2)
        lines.append("")
        for name, value in self._remarks():
            lines += layout.wrap(f"{name}: {value}", width)
        if self.verdict:
            lines += ["", *verdict_lines(self.verdict, width, most=5, changes=False)]
        return "\n".join(lines) + "\n"

    def markdown(self) -> str:
        """Markdown for a comment on a pull request or a job's summary: the text, as code."""
        lines = ["### MiniWoB++ results", ""]
        if self.verdict:
            lines += [f"Gate `{self.verdict.gate}`: **{self.verdict.decision}**", ""]
        text = self.text(100).replace("`", "'")  # nothing in it can end the block
        return "\n".join([*lines, f"```\n{text}```\n"])

    def data(self) -> dict[str, Any]:
        """The whole comparison in plain JSON types."""
        both, verdict = self.both, self.verdict
        return {
            "miniwob_compare": 1,
            "setup": [
                {"what": name, "before": before, "after": after}
                for name, before, after in both.setup
            ],
            "warnings": both.warnings,
            "partial": {"before": both.baseline.partial, "after": both.head.partial},
            "whole": _change(both.pairs),
            "categories": {name: _change(pairs) for name, pairs in both.categories.items()},
            "items": [
                {
                    "item": pair.item,
                    "change": float(pair.change),
                    "before": [result.to_data() for result in pair.before.results],
                    "after": [result.to_data() for result in pair.after.results],
                }
                for pair in both.pairs
            ],
            "missing": both.missing,
            "new": both.new,
            "unclear": {
                side: [result.to_data() for result in results.results if not result.conclusive]
                for side, results in (("before", both.baseline), ("after", both.head))
            },
            "calls": both.calls,
            "tokens": both.tokens,
            "gate": verdict and verdict_data(verdict),
        }

    def _rates(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("", "items", "before", "after", "points", "p")]
        groups = [("whole", self.both.pairs)]
        if len(self.both.categories) > 1:
            groups += self.both.categories.items()
        for name, pairs in groups:
            if pairs:
                found = RateChange(pairs)
                low, high = found.interval
                rows.append(
                    (
                        name, str(len(pairs)),
                        _rate(found.before, found.before_interval),
                        _rate(found.after, found.after_interval),
                        f"{points(float(found.difference))} "
                        f"({100 * low:+.0f} to {100 * high:+.0f})",
                        p_value(statistics.p_changed(found.matched_differences)),
                    )
                )  # fmt: skip
        return rows

    @staticmethod
    def _repeats(both: Comparison) -> list[tuple[str, ...]]:
        """Figures of repeats, for the number of samples that every item has on both sides."""
        least = min((min(p.before.conclusive, p.after.conclusive) for p in both.pairs), default=1)
        if least < 2:
            return []
        rows: list[tuple[str, ...]] = [(f"{least} samples, % of items", "before", "after")]
        sides = [p.before for p in both.pairs], [p.after for p in both.pairs]

        figures: list[tuple[str, Callable[[int, int], float]]] = [
            *((f"pass@{k}", partial(statistics.pass_at, k)) for k in range(1, least + 1)),
            *((f"pass^{k}", partial(statistics.pass_all, k)) for k in range(2, least + 1)),
            *((f"solved in {m} or more", partial(_reached, m)) for m in range(1, least + 1)),
            ("flips between two samples", statistics.flip_rate),
        ]
        for name, figure in figures:
            means = (
                sum(figure(s.conclusive, s.solved) for s in side) / len(side) for side in sides
            )
            rows.append((name, *map(percent, means)))
        return rows

    def _remarks(self) -> list[tuple[str, str]]:
        both = self.both
        remarks = []
        calls, tokens = both.calls, both.tokens
        for title, counts in (("model calls", calls), ("tokens", tokens)):
            names = sorted(counts["before"].keys() | counts["after"].keys())
            parts = [
                f"{name} {_number(counts['before'].get(name, 0))} -> "
                f"{_number(counts['after'].get(name, 0))}"
                for name in names
            ]
            if parts:
                remarks.append((title, "; ".join(parts)))
        if both.missing:
            remarks.append(("only before", listed(both.missing, 20)))
        if both.new:
            remarks.append(("only after", listed(both.new, 20)))
        for side, results in (("before", both.baseline), ("after", both.head)):
            inconclusive = Counter(r.outcome for r in results.results if not r.conclusive)
            for outcome, count in sorted(inconclusive.items()):
                cases = [r.case for r in results.results if r.outcome == outcome]
                remarks.append((f"{outcome} {side}", f"{count} ({listed(cases, 5)})"))
            if results.partial:
                remarks.append((f"partial run {side}", ", ".join(results.partial)))
        return remarks


def _reached(least: int, samples: int, solved: int) -> bool:
    return solved >= least


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _rate(rate: float, interval: tuple[float, float]) -> str:
    return f"{percent(rate)} ({100 * interval[0]:.0f}–{100 * interval[1]:.0f})"


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _change(pairs: tuple[Pair, ...]) -> dict[str, Any] | None:
    if not pairs:
        return None
    found = RateChange(pairs)
    return {
        "items": len(pairs),
        "before": {"rate": found.before, "interval": found.before_interval},
        "after": {"rate": found.after, "interval": found.after_interval},
        "difference": float(found.difference),
        "interval": found.interval,
        "worse": len(found.worse),
        "better": len(found.better),
        "p_two_sided": statistics.p_changed(found.matched_differences),
        "p_worse": statistics.p_worse(found.matched_differences),
    }
