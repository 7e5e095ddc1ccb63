"""Result sets side by side, for `miniwob-agent compare`, and the verdict of a gate.

On GitHub Actions also as the job's summary and annotations.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.core.text import (
    command_lines,
    counted,
    first_items,
    listed,
    p_value,
    percent,
    text_table,
    wrap,
)
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.comparison import Comparison, Pair, RateChange, setup_line
from pytest_miniwob_agent.results.gate import Verdict
from pytest_miniwob_agent.results.twins import Twins

if TYPE_CHECKING:
    import pytest


TEST = f"exact if at most {statistics.FEW} changed, else by the score test"

_OF_TWINS = (
    "Solved samples in percent, with the 95 % interval. Points are the change over the pairs "
    "with its 95 % interval; p is two-sided, exact for up to 25 changed items, and in brackets "
    "corrected by Holm's method for the number of kinds."
)
_OF_ATTACKS = (
    "Clean and attacked are solved samples. Followed is over the items in which a prompt had the "
    "text of the attack, with the 95 % interval in percent. The others were not shown it, or "
    "it is unknown, as text in pictures is not searched: they say nothing."
)

_NO_PAIRS = "No item is solved or unsolved in both files, so there are no rates to compare."

LISTED = 100  # items, at most, of those that got worse, and of those that got better


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
        lines = [line for line, _ in _setup_lines(self.both, self.both.setup, width)]
        if not self.both.pairs:
            lines += ["", *wrap(_NO_PAIRS, width)]
        else:
            lines += ["", *text_table(self.rates(), width), ""]
            unit = (
                "tasks that both have, whose seeds count as one"
                if self.both.by_task
                else "items that both have"
            )
            note = f"Rates are in percent, with 95 % intervals, over the {unit}"
            lines += wrap(f"{note}; p is two-sided, {TEST}.", width)
        if rows := self._repeats():
            lines += ["", *text_table(rows, width)]
        for title, pairs in zip(("worse", "better"), self.changed, strict=True):
            if pairs:
                lines += ["", f"{title} ({len(pairs)})"]
                for line in first_items(list(map(str, pairs)), LISTED):
                    lines += wrap(line, width, 2)
        lines += ["", *(line for remark in self._remarks() for line in wrap(remark, width))]
        if self.verdict:
            lines += ["", *verdict_lines(self.verdict, width, most=5, changes=False)]
        return "\n".join(lines) + "\n"

    def markdown(self) -> str:
        """Markdown for a comment on a pull request or a job's summary: the text, as code."""
        return _block(self.text(100), self.verdict)

    def data(self) -> dict[str, Any]:
        """The whole comparison in plain JSON types."""
        both, verdict = self.both, self.verdict
        return {
            "miniwob_compare": 1,
            "setup": [{"what": row[0], "before": row[1], "after": row[2]} for row in both.setup],
            "warnings": both.warnings,
            "partial": {"before": both.baseline.partial, "after": both.head.partial},
            "rates": {name: _change(change) for name, change in both.changes.items()},
            "by_task": both.by_task,
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
            "grades": both.grades,
            "gate": verdict and _verdict_data(verdict),
        }

    def rates(self) -> list[list[str]]:
        """The rows of the table of rates, below its head."""
        rows = [["", "items", "before", "after", "points", "p"]]
        for name, found in self.both.changes.items():
            low, high = found.change.interval()
            points = float(100 * found.difference)
            change = f"{points:+.1f} ({100 * low:+.0f} to {100 * high:+.0f})"
            before = _rate(found.before, found.before_interval)
            after = _rate(found.after, found.after_interval)
            p = p_value(found.change.p_changed)
            rows.append([name, str(len(found.pairs)), before, after, change, p])
        return rows

    def _repeats(self) -> list[list[str]]:
        pairs = self.both.pairs
        least = min((pair.samples for pair in pairs), default=1)
        if least < 2:
            return []
        ks = range(1, least + 1)
        figures: dict[str, Callable[[int, int], float]] = {
            **{f"pass@{k}": partial(statistics.pass_at, k) for k in ks},
            **{f"pass^{k}": partial(statistics.pass_all, k) for k in ks[1:]},
            **{f"solved in {k} or more": partial(_reached, k) for k in ks},
            "flips between two samples": statistics.flip_rate,
        }
        rows = [[f"{least} samples, % of items", "before", "after"]]
        sides = [pair.before for pair in pairs], [pair.after for pair in pairs]
        for name, figure in figures.items():
            sums = (sum(figure(s.conclusive, s.solved) for s in side) for side in sides)
            rows.append([name, *(percent(total / len(pairs)) for total in sums)])
        return rows

    def _remarks(self) -> list[str]:
        both = self.both
        remarks = []
        for title, counts in (("model calls", both.calls), ("tokens", both.tokens)):
            before, after = counts["before"], counts["after"]
            parts = [
                f"{name} {_number(before.get(name, 0))} -> {_number(after.get(name, 0))}"
                for name in sorted(before.keys() | after.keys())
            ]
            if both.pairs:
                remarks.append(f"{title}: {'; '.join(parts)}")
        for name in both.grades["after"]:
            means = (both.grades[side][name] for side in ("before", "after"))
            change = " -> ".join("none" if mean is None else percent(mean) for mean in means)
            remarks.append(f"mean grade by {name}: {change} %")
        if both.missing:
            remarks.append(f"only before: {listed(both.missing, 20)}")
        if both.new:
            remarks.append(f"only after: {listed(both.new, 20)}")
        for side, results in (("before", both.baseline), ("after", both.head)):
            cases: dict[str, list[str]] = {}
            for result in results.results:
                if not result.conclusive:
                    cases.setdefault(result.outcome, []).append(result.case)
            for outcome, of_outcome in sorted(cases.items()):
                remarks.append(f"{outcome} {side}: {len(of_outcome)} ({listed(of_outcome)})")
            if results.partial:
                remarks.append(f"partial run {side}: {', '.join(results.partial)}")
        return remarks


@dataclass(frozen=True)
class SeveralView:
    """Runs, each compared with the first, as text, Markdown and JSON."""

    comparisons: Sequence[Comparison]

    @property
    def _p_values(self) -> list[float]:
        found = [both.changes["whole"].change.p_changed for both in self.comparisons if both.pairs]
        return statistics.holm(found)

    def text(self, width: int = 80) -> str:
        names = [self.comparisons[0].baseline.source]
        rows = [["", "items", "1", "run", "points", "p", "p (Holm)"]]
        corrected = iter(self._p_values)
        for number, both in enumerate(self.comparisons, start=2):
            names.append(both.head.source)
            row = ComparisonView(both).rates()[1:2]
            figures = [*row[0][1:], p_value(next(corrected))] if row else ["0", *[""] * 5]
            rows.append([str(number), *figures])
        lines = [f"{number}: {name}" for number, name in enumerate(names, start=1)]
        lines += ["", *text_table(rows, width)]
        note = (
            "Each run is compared with the first, over the items that both have. Rates are in "
            f"percent, with 95 % intervals; p is two-sided, {TEST}, and corrected by "
            f"Holm's method for {counted(len(self.comparisons), 'comparison')}."
        )
        return "\n".join([*lines, "", *wrap(note, width)]) + "\n"

    def markdown(self) -> str:
        return _block(self.text(100))

    def data(self) -> dict[str, Any]:
        runs = [ComparisonView(both).data() for both in self.comparisons]
        return {"miniwob_compare": 2, "runs": runs, "p_holm": self._p_values}


@dataclass(frozen=True)
class TwinsView:
    """The pairs of each agent and model, and the verdict of a gate if there is one."""

    found: Mapping[str, Twins]
    verdict: Verdict | None = None

    def text(self, width: int = 80) -> str:
        lines = []
        for setup, twins in self.found.items():
            lines += [setup] if setup else []
            if twins.kinds:
                rows = [["", "pairs", "clean", "twin", "points", "p (Holm)"]]
                for kind in twins.kinds:
                    rates = (_rate(each.rate, each.interval) for each in (kind.clean, kind.twin))
                    p = f"{p_value(kind.p)} ({p_value(kind.p_holm)})"
                    rows.append([kind.kind, str(kind.pairs), *rates, kind.points, p])
                lines += [*text_table(rows, width), "", *wrap(_OF_TWINS, width), ""]
            if twins.attacks:
                rows = [["", "clean", "attacked", "followed", "not shown", "unknown"]]
                for one in twins.attacks:
                    counts = (f"{each.count}/{each.of}" for each in (one.clean, one.attacked))
                    others = str(one.followed), str(one.unseen), str(one.unknown)
                    rows.append([one.task, *counts, *others])
                lines += [*text_table(rows, width), "", *wrap(_OF_ATTACKS, width), ""]
        if self.verdict:
            lines += [*verdict_lines(self.verdict, width), ""]
        return "\n".join(lines)

    def markdown(self) -> str:
        return _block(self.text(100), self.verdict)

    def data(self) -> dict[str, Any]:
        twins = {
            setup: {"kinds": list(map(asdict, of.kinds)), "attacks": list(map(asdict, of.attacks))}
            for setup, of in self.found.items()
        }
        gate = self.verdict and _verdict_data(self.verdict)
        return {"miniwob_compare": 3, "twins": twins, "gate": gate}


def _block(text: str, verdict: Verdict | None = None) -> str:
    lead = f"Gate `{verdict.gate}`: **{verdict.decision}**\n\n" if verdict else ""
    quoted = text.replace("`", "'")  # nothing in it can end the block
    return f"### MiniWoB++ results\n\n{lead}```\n{quoted}```\n"


def _reached(least: int, samples: int, solved: int) -> bool:
    return solved >= least


def _rate(rate: float, interval: tuple[float, float]) -> str:
    return f"{percent(rate)} ({100 * interval[0]:.0f}–{100 * interval[1]:.0f})"


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _change(found: RateChange) -> dict[str, Any]:
    return {
        "items": len(found.pairs),
        "before": {"rate": found.before, "interval": found.before_interval},
        "after": {"rate": found.after, "interval": found.after_interval},
        "difference": float(found.difference),
        "interval": found.change.interval(),
        "worse": len(found.worse),
        "better": len(found.better),
        "p_two_sided": found.change.p_changed,
        "p_worse": found.change.p_worse,
    }


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    return {
        "gate": str(verdict.gate),
        "verdict": verdict.decision,
        "failed": verdict.failed,
        "reasons": list(map(asdict, verdict.reasons)),
        "regressed": [pair.item for pair in verdict.regressed],
        "progressed": [pair.item for pair in verdict.progressed],
        "notes": verdict.notes,
    }


def verdict_lines(
    verdict: Verdict,
    width: int = 80,
    most: int | None = 20,
    *,
    changes: bool = True,
    more: str = "",
    command: str = "pytest --miniwob-record=new_episodes",
) -> list[str]:
    """Lay out a verdict for a terminal of `width` columns.

    Each list names `most` items, None for all, and `more` is a way to see the others. `changes`
    lists the items that changed. `command` records what the verdict lacks.
    """

    def add_list(details: Sequence[str]) -> None:
        for detail in first_items(details, most, more):
            lines.extend(wrap(detail, width, 4))

    decision = verdict.decision if verdict.decision != "failed" else "FAILED"
    if verdict.failed and decision == "inconclusive":
        decision += ", which fails the run"
    lines = wrap(f"gate {verdict.gate}: {decision}", width)
    named: set[str] = set()
    for reason in verdict.reasons:
        lines += wrap(reason.text, width, 2)
        if changes or reason.kind != "regressed":
            add_list(reason.details)
            named.update(reason.details)
        if reason.hint:
            lines += wrap(f"-> {reason.hint}", width, 2)
        if reason.options:
            lines += command_lines(f"{command} {reason.options}", width, 5)
    for note in verdict.notes:
        lines += wrap(note, width, 2)
    allowed = ", which this gate allows" if verdict.decision == "passed" else ""
    for pairs, text in (
        (verdict.regressed, f"no longer solved{allowed}"),
        (verdict.progressed, "solved now and not in the baseline"),
    ):
        others = [str(pair) for pair in pairs if str(pair) not in named]
        if changes and others:
            lines += wrap(f"{counted(len(others), 'item')} {text}", width, 2)
            add_list(others)
    return lines


def _setup_lines(
    both: Comparison, rows: Sequence[tuple[str, str, str]], width: int
) -> Iterator[tuple[str, bool]]:
    """Yield the lines of rows of the set-up, each with True if it belongs to a warning."""
    warnings = both.warnings
    for text in map(setup_line, rows):
        warned = text in warnings
        for line in wrap(f"warning: {text}" if warned else text, width):
            yield line, warned


def show_gate(
    terminal: pytest.TerminalReporter,
    verdict: Verdict,
    *,
    most: int | None,
    hint: str,
    command: str,
) -> None:
    """Show what differs between the runs, the verdict on them, and a hint.

    Lists name `most` items, None for all. `command` records items.
    """
    colour = {"passed": "green", "inconclusive": "yellow", "failed": "red"}[verdict.decision]
    terminal.write_sep("=", "MiniWoB++ gate", **{colour: True})
    width = terminal.config.get_terminal_writer().fullwidth
    for line, warned in _setup_lines(verdict.both, verdict.both.changed_setup, width):
        terminal.line(line, yellow=warned)
    lines = verdict_lines(verdict, width, most, more="all with -v", command=command)
    for line in [*lines, *wrap(hint, width)]:
        terminal.line(line)


ANNOTATIONS = 10  # that GitHub shows for a step


def report_to_github(markdown: str, verdict: Verdict | None, worse: Iterable[Pair] = ()) -> None:
    """Write the job's summary and annotations, if this runs on GitHub Actions.

    The Markdown is appended to the file that GITHUB_STEP_SUMMARY names. Regressions become errors
    if there is no gate or it failed the run, else warnings, and so do a gate's reasons.
    Annotations go to standard error, which the runner reads as it does standard output.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(markdown + "\n")
    kind = "warning" if verdict and not verdict.failed else "error"
    found = []
    if verdict:
        decided = verdict.decision != "inconclusive"
        title = "MiniWoB++ gate" if decided else "MiniWoB++ gate is inconclusive"
        found = [(title, reason.text) for reason in verdict.reasons]
    found += [("MiniWoB++ regression", str(pair)) for pair in worse]
    if len(found) > ANNOTATIONS:
        rest = len(found) - ANNOTATIONS + 1
        found[ANNOTATIONS - 1 :] = [("MiniWoB++", f"and {rest} more; see the job's summary")]
    for title, message in found:
        print(f"::{kind} title={_encode(title, ':,')}::{_encode(message)}", file=sys.stderr)


def _encode(text: str, more: str = "") -> str:
    # https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    shown = (c if c.isprintable() or c in "\r\n" else " " for c in text)
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in shown)
