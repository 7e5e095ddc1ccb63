"""The gates, which decide by a baseline whether a run passes, and their verdicts.

docs/statistics.md describes the gates; `terminal.gate` prints verdicts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.core.text import counted, listed, nearest, p_value, percent
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.comparison import Comparison, Pair, RateChange
from pytest_miniwob_agent.results.file import Results

MARGIN = Fraction(10, 100)
"""The loss that `paired` rules out where it passes, as a share of the items."""

USAGE = "gates are items, items:M, paired[:ALPHA][:strict] and rate:POINTS"

_FORMS = {
    "items": (
        r"(?::([1-9]\d{0,5}))?",
        "the number of samples must be a positive integer of at most six digits, as in items:2",
    ),
    "paired": (
        r"(?::(0?\.\d{0,8}[1-9]\d{0,8}))?(:strict)?",
        "the level must be between 0 and 1, as in paired:0.05 or paired:0.05:strict",
    ),
    "rate": (
        r":(\d{1,2}(?:\.\d{1,9})?|\.\d{1,9})",
        "the points must be from 0 to less than 100, as in rate:5",
    ),
}
"""What follows the name of each gate, as a pattern and in words."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The condition under which a run fails against its baseline.

    `items`: an item that was solved no longer is. With repeats an item counts as solved if
    `at_least` of its samples are, by default if more than half are. `paired`: the paired change is
    for the worse over the whole or in a category, at level `alpha` for all of them together; with
    `strict` it must also be known that the loss is less than `MARGIN`. `rate`: the rate over the
    whole fell by more than `points` (1 is 100 %).
    """

    kind: str = "items"
    alpha: float = 0.05
    points: Fraction = Fraction(0)
    at_least: int | None = None
    strict: bool = False

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read `items[:M]`, `paired[:ALPHA][:strict]` or `rate:POINTS`.

        Raises:
            UsageError: there is no such gate, or its value is out of range.
        """
        text = text.strip()
        kind = text.partition(":")[0]
        if kind not in _FORMS:
            raise UsageError(f"unknown gate {kind!r}{nearest(kind, list(_FORMS))}; {USAGE}")
        pattern, words = _FORMS[kind]
        found = re.fullmatch(kind + pattern, text)
        if found is None:
            raise UsageError(f"gate {text!r}: {words}")
        if kind == "items":
            return cls(kind, at_least=int(found[1]) if found[1] else None)
        if kind == "paired":
            return cls(kind, alpha=float(found[1] or 0.05), strict=bool(found[2]))
        return cls(kind, points=Fraction(found[1]) / 100)

    def __str__(self) -> str:
        value = {
            "items": f":{self.at_least}" if self.at_least else "",
            "paired": f":{self.alpha:g}" + (":strict" if self.strict else ""),
            "rate": f":{float(100 * self.points):g}",
        }
        return self.kind + value[self.kind]


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for which a gate is red or inconclusive.

    `kind` is `regressed`, `missing`, `unclear` (inconclusive samples), `empty` (nothing was
    compared) or `undecided` (too few items); only the first speaks against the agent. `hint` says
    what to do.
    """

    kind: str
    text: str
    details: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's decision on a comparison.

    `regressed` are the pairs that were solved and no longer are, `progressed` those that were not
    and are, even if the gate allows them. `notes` are remarks that do not fail the run.
    """

    gate: Gate
    both: Comparison
    reasons: tuple[Reason, ...]
    regressed: tuple[Pair, ...]
    progressed: tuple[Pair, ...]
    notes: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """True if the run fails; too few items are a reason for that if the gate is strict."""
        return any(self.gate.strict or reason.kind != "undecided" for reason in self.reasons)

    @property
    def passed(self) -> bool:
        """True if the run does not fail and the items are enough to decide that."""
        return not self.reasons

    @property
    def decision(self) -> str:
        """`passed`, `inconclusive` or `failed`."""
        return "failed" if self.failed else "passed" if self.passed else "inconclusive"


def judge(baseline: Results, head: Results, gate: Gate, deselected: Container[str] = ()) -> Verdict:
    """Judge a run by its baseline.

    Args:
        baseline: the results before.
        head: the results after.
        gate: the condition under which the run fails.
        deselected: case ids that the run left out on purpose. Every other item of the baseline
            must be in the run, and conclusive there.

    Raises:
        UsageError: the gate asks for more samples than an item has.
    """
    both = Comparison(baseline, head)
    _check_samples(both.pairs, gate)
    regressed, progressed = _changes(both.pairs, gate)
    known = baseline.items
    left_out = [
        item
        for item in both.missing
        if all(result.case in deselected for result in known[item].results)
    ]
    reasons = _missing(both, left_out) + _inconclusive(both)
    notes = _notes(both, left_out)
    if not both.pairs:
        shared = known.keys() & head.items.keys()
        why = "is conclusive in both" if shared else "is in both result sets"
        reasons.append(Reason("empty", f"no item {why}, so nothing was compared"))
    elif gate.kind == "items" and regressed:
        text = f"{counted(len(regressed), 'item')} solved before and no longer"
        reasons.append(_regression(text, regressed))
    elif gate.kind == "rate":
        reasons += _rate(both.pairs, gate)
    elif gate.kind == "paired":
        whole = RateChange(both.pairs)
        worse, p = _paired(both, whole, gate)
        doubt = [] if worse else _doubt(whole, p, gate)
        reasons += worse + doubt
        if not worse and not doubt:
            notes.insert(0, _ruled_out(whole, p))
    return Verdict(gate, both, tuple(reasons), regressed, progressed, tuple(notes))


def _check_samples(pairs: Sequence[Pair], gate: Gate) -> None:
    for pair in pairs:
        fewest = min(pair.before.conclusive, pair.after.conclusive)
        if gate.at_least and fewest < gate.at_least:
            raise UsageError(
                f"gate {gate}: {pair.item} has {fewest} samples; ask for fewer, or repeat items"
            )


def _changes(pairs: Sequence[Pair], gate: Gate) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """The pairs that regressed and those that progressed."""
    sides = [
        (pair.before.count_as_solved(gate.at_least), pair.after.count_as_solved(gate.at_least))
        for pair in pairs
    ]
    regressed, progressed = (
        tuple(pair for pair, solved in zip(pairs, sides, strict=True) if solved == change)
        for change in ((True, False), (False, True))
    )
    return regressed, progressed


def _missing(both: Comparison, left_out: Sequence[str]) -> list[Reason]:
    missing = tuple(item for item in both.missing if item not in left_out)
    if not missing:
        return []
    why = f" (a partial run: {', '.join(both.head.partial)})" if both.head.partial else ""
    text = f"{counted(len(missing), 'item')} of the baseline did not run{why}"
    hint = "run them too; if they were removed on purpose, write the baseline again"
    return [Reason("missing", text, missing, hint)]


HINTS = {
    Status.DRIFTED: "the recorded calls no longer fit: record these items again",
    Status.ERROR: "fix what the messages name and run these items again",
    Status.WAITING: "have the waiting calls answered and run these items again",
    Status.BUDGET: "raise the budget and run these items again",
}
"""Hints for inconclusive items, by status."""


def _inconclusive(both: Comparison) -> list[Reason]:
    """The later run's inconclusive samples of items that the baseline decides, by status."""
    known = {item for item, samples in both.baseline.items.items() if samples.conclusive}
    reasons = []
    for status, hint in HINTS.items():
        results = [r for r in both.inconclusive if r.outcome == status and r.item in known]
        if results:
            cases: dict[str, list[str]] = {}
            for result in results:
                cases.setdefault(result.reason or status, []).append(result.case)
            details = tuple(f"{reason}: {listed(alike)}" for reason, alike in cases.items())
            text = f"{counted(len(results), 'item')} inconclusive: {status}"
            reasons.append(Reason("unclear", text, details, hint))
    return reasons


def _notes(both: Comparison, left_out: Sequence[str]) -> list[str]:
    """Remarks on items that are not judged."""
    baseline = both.baseline
    notes = []
    if baseline.partial:
        notes.append(
            f"the baseline comes from a partial run ({', '.join(baseline.partial)}); items it does "
            "not have are not judged"
        )
    if left_out:
        notes.append(f"left out on purpose: {counted(len(left_out), 'item')} of the baseline")
    if both.new:
        notes.append(f"not in the baseline: {listed(both.new)}")
    if unknown := [item for item, samples in baseline.items.items() if not samples.conclusive]:
        notes.append(
            f"inconclusive in the baseline itself: {listed(unknown)}; write it again to have them "
            "judged"
        )
    return notes


def _regression(text: str, pairs: Iterable[Pair]) -> Reason:
    hint = "fix the change; if the loss is wanted, write the baseline again"
    return Reason("regressed", text, tuple(map(str, pairs)), hint)


def _fell(name: str, change: RateChange) -> str:
    return (
        f"{name}: the solved rate fell from {percent(change.before)} to "
        f"{percent(change.after)} % over {len(change.pairs)} items"
    )


def _rate(pairs: tuple[Pair, ...], gate: Gate) -> list[Reason]:
    whole = RateChange(pairs)
    if -whole.difference <= gate.points:
        return []
    allowed = f", by more than {float(100 * gate.points):g} points"
    return [_regression(_fell("whole", whole) + allowed, whole.worse)]


def _paired(both: Comparison, whole: RateChange, gate: Gate) -> tuple[list[Reason], float]:
    """The whole and the categories that got worse, and the p-value of all of them together."""
    changes = {name: RateChange(pairs) for name, pairs in both.categories.items()}
    values = statistics.p_worse_anywhere([c.matched_differences for c in changes.values()])
    test = "exact sign-flip test" if both.repeated else "exact McNemar test"
    groups = [("whole", whole)]
    if len(changes) > 1:
        groups += changes.items()
        test += f", corrected for the whole and {len(changes)} categories"
    red = [(*group, p) for group, p in zip(groups, values, strict=False) if p <= gate.alpha]
    reasons = [
        _regression(
            f"{_fell(name, change)}; p = {p_value(p)} (one-sided {test})",
            # The reason for the whole lists the items of the categories too.
            () if red[0][0] == "whole" != name else change.worse,
        )
        for name, change, p in red
    ]
    # All reasons have the same hint, so only the last one keeps it.
    return [*(replace(reason, hint="") for reason in reasons[:-1]), *reasons[-1:]], min(values)


def _ruled_out(whole: RateChange, p: float) -> str:
    """The remark of a `paired` gate that passes."""
    if not any(pair.touched for pair in whole.pairs):
        return "every item ran as in the baseline, call by call"
    return (
        f"{_counts(whole)}: no significant change for the worse, p = {p_value(p)}; a loss of "
        f"{_points(MARGIN)} points is ruled out (95 % interval {_interval(whole)})"
    )


def _doubt(whole: RateChange, p: float, gate: Gate) -> list[Reason]:
    """The reason for which `paired`, where it is not red, can't pass either, if there is one."""
    touched = sum(pair.touched for pair in whole.pairs)
    fewest = statistics.fewest_changes(gate.alpha)
    if not touched:  # no item was recorded again, so nothing could have changed
        return []
    if whole.interval[0] <= -MARGIN:
        text = (
            f"{_counts(whole)}: no change for the worse is shown (p = {p_value(p)}), and "
            f"no loss of {_points(MARGIN)} points ruled out (95 % interval {_interval(whole)})"
        )
        return [Reason("undecided", text, hint=_to_decide(whole, gate))]
    if touched < fewest and whole.difference < 0:
        text = (
            f"{_counts(whole)}, but only {counted(touched, 'item')} ran differently from the "
            f"baseline: fewer than {fewest} can't give a p-value of {gate.alpha:g}"
        )
        hint = f"run more seeds, so that {fewest} items or more meet the change"
        return [Reason("undecided", text, hint=hint)]
    return []


def _to_decide(whole: RateChange, gate: Gate) -> str:
    """How many items, or samples per item, would decide."""
    count, margin = len(whole.pairs), float(MARGIN)
    items = statistics.deciding_items(float(whole.difference), whole.moved, margin, gate.alpha)
    items = max(items, count + 1)
    hint = f"about {items} items would decide four times out of five: run more seeds"
    if count < statistics.fewest_items(margin):
        return hint
    least = min(min(pair.before.conclusive, pair.after.conclusive) for pair in whole.pairs)
    samples = math.ceil(least * items / count)
    return f"{hint}, or repeat every item in both runs, about {samples} samples of each"


def _counts(whole: RateChange) -> str:
    return f"{len(whole.worse)} worse, {len(whole.better)} better"


def _points(share: Fraction) -> str:
    return f"{float(100 * share):g}"


def _interval(change: RateChange) -> str:
    low, high = change.interval
    return f"{100 * low:+.1f} to {100 * high:+.1f}"
