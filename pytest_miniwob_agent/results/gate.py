"""The gates, which decide by a baseline whether a run passes, and their verdicts.

docs/statistics.md describes the gates; `terminal.comparison` prints verdicts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.core.text import counted, listed, nearest, p_value, percent
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.comparison import Comparison, Pair, RateChange
from pytest_miniwob_agent.results.file import Results

MARGIN = Fraction(10, 100)  # of the items: the loss that `paired` rules out where it passes

USAGE = (
    "gates are items, items:M, paired[:ALPHA][:strict] and rate:POINTS; M is a number of samples, "
    "ALPHA a level between 0 and 1, POINTS from 0 to less than 100"
)

_VALUES = {  # what follows the name of each gate
    "items": r"(?::([1-9]\d{0,5}))?",
    "paired": r"(?::(0?\.\d{0,8}[1-9]\d{0,8}))?(:strict)?",
    "rate": r":(\d{1,2}(?:\.\d{1,9})?|\.\d{1,9})",
}


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
        """Read a gate as the command line has it.

        Raises:
            UsageError: there is no such gate, or its value is out of range.
        """
        kind = text.strip().partition(":")[0]
        found = kind in _VALUES and re.fullmatch(kind + _VALUES[kind], text.strip())
        if not found:
            hint = "" if kind in _VALUES else nearest(kind, list(_VALUES))
            raise UsageError(f"gate {text!r} is not valid{hint}; {USAGE}")
        if kind == "items":
            return cls(kind, at_least=int(found[1]) if found[1] else None)
        if kind == "paired":
            return cls(kind, alpha=float(found[1] or 0.05), strict=bool(found[2]))
        return cls(kind, points=Fraction(found[1]) / 100)

    def __str__(self) -> str:
        if self.kind == "items":
            return f"items:{self.at_least}" if self.at_least else "items"
        if self.kind == "paired":
            return f"paired:{self.alpha:g}" + (":strict" if self.strict else "")
        return f"rate:{float(100 * self.points):g}"


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
        if self.failed:
            return "failed"
        return "passed" if self.passed else "inconclusive"


def judge(baseline: Results, head: Results, gate: Gate, deselected: Container[str] = ()) -> Verdict:
    """Judge a run by its baseline.

    `deselected` are the ids of cases that the run left out on purpose. Every other item of the
    baseline must be in the run, and conclusive there.

    Raises:
        UsageError: the gate asks for more samples than an item has.
    """
    both = Comparison(baseline, head)
    least = gate.at_least
    for pair in both.pairs:
        fewest = min(pair.before.conclusive, pair.after.conclusive)
        if least and fewest < least:
            raise UsageError(
                f"gate {gate}: {pair.item} has {fewest} samples; ask for fewer, or repeat items"
            )
    changed = [
        pair
        for pair in both.pairs
        if pair.before.count_as_solved(least) != pair.after.count_as_solved(least)
    ]
    regressed = tuple(pair for pair in changed if pair.before.count_as_solved(least))
    progressed = tuple(pair for pair in changed if pair.after.count_as_solved(least))
    known = baseline.items
    left_out = [i for i in both.missing if all(r.case in deselected for r in known[i].results)]
    reasons = _inconclusive(both)
    if missing := tuple(item for item in both.missing if item not in left_out):
        text = f"{counted(len(missing), 'item')} of the baseline did not run"
        if head.partial:
            text += f" (a partial run: {', '.join(head.partial)})"
        hint = "run them too; if they were removed on purpose, write the baseline again"
        reasons.insert(0, Reason("missing", text, missing, hint))
    notes = _notes(both, left_out)
    if not both.pairs:
        shared = known.keys() & head.items.keys()
        why = "is conclusive in both" if shared else "is in both result sets"
        reasons.append(Reason("empty", f"no item {why}, so nothing was compared"))
    elif gate.kind == "items" and regressed:
        text = f"{counted(len(regressed), 'item')} solved before and no longer"
        reasons.append(_regression(text, regressed))
    elif gate.kind == "rate":
        whole = RateChange(both.pairs)
        if -whole.difference > gate.points:
            allowed = f", by more than {float(100 * gate.points):g} points"
            reasons.append(_regression(_fell("whole", whole) + allowed, whole.worse))
    elif gate.kind == "paired":
        found, note = _paired(both, gate)
        reasons, notes = reasons + found, note + notes
    return Verdict(gate, both, tuple(reasons), regressed, progressed, tuple(notes))


HINTS = {  # for inconclusive items
    Status.DRIFTED: "the recorded calls no longer fit: record these items again",
    Status.ERROR: "fix what the messages name and run these items again",
    Status.WAITING: "have the waiting calls answered and run these items again",
    Status.BUDGET: "raise the budget and run these items again",
}


def _inconclusive(both: Comparison) -> list[Reason]:
    """The later run's inconclusive samples of items that the baseline decides, by status."""
    known = {item for item, samples in both.baseline.items.items() if samples.conclusive}
    reasons = []
    for status, hint in HINTS.items():
        if results := [r for r in both.head.results if r.outcome == status and r.item in known]:
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
    unknown = [item for item, samples in baseline.items.items() if not samples.conclusive]
    notes = [
        (
            baseline.partial,
            f"the baseline comes from a partial run ({', '.join(baseline.partial)}); items it does "
            "not have are not judged",
        ),
        (left_out, f"left out on purpose: {counted(len(left_out), 'item')} of the baseline"),
        (both.new, f"not in the baseline: {listed(both.new)}"),
        (
            unknown,
            f"inconclusive in the baseline itself: {listed(unknown)}; write it again to have them "
            "judged",
        ),
    ]
    return [note for items, note in notes if items]


def _regression(text: str, pairs: Sequence[Pair], *, hint: bool = True) -> Reason:
    fix = "fix the change; if the loss is wanted, write the baseline again"
    return Reason("regressed", text, tuple(map(str, pairs)), fix if hint else "")


def _fell(name: str, change: RateChange) -> str:
    return (
        f"{name}: the solved rate fell from {percent(change.before)} to "
        f"{percent(change.after)} % over {len(change.pairs)} items"
    )


def _paired(both: Comparison, gate: Gate) -> tuple[list[Reason], list[str]]:
    """The reasons for which the gate `paired` does not pass; without any, a note why it does."""
    test = "exact sign-flip test" if both.repeated else "exact McNemar test"
    whole = RateChange(both.pairs)
    groups = {"whole": whole}
    if len(both.categories) > 1:
        groups |= {name: RateChange(pairs) for name, pairs in both.categories.items()}
        test += f", corrected for the whole and {len(both.categories)} categories"
    parts = [change.matched_differences for change in groups.values()]
    values = statistics.p_worse_anywhere(parts[1:] or parts)
    red = {name: p for name, p in zip(groups, values, strict=False) if p <= gate.alpha}
    if not red:
        return _not_worse(whole, min(values), gate)
    return [
        _regression(
            f"{_fell(name, groups[name])}; p = {p_value(p)} (one-sided {test})",
            # The reason for the whole lists the items of the categories too.
            () if "whole" in red and name != "whole" else groups[name].worse,
            hint=name == list(red)[-1],
        )
        for name, p in red.items()
    ], []


def _not_worse(whole: RateChange, p: float, gate: Gate) -> tuple[list[Reason], list[str]]:
    """Why it can't be known that nothing got worse; otherwise a note on what is ruled out."""
    touched = sum(pair.touched for pair in whole.pairs)
    if not touched:  # no item was recorded again, so nothing could have changed
        return [], ["every item ran as in the baseline, call by call"]
    fewest = statistics.fewest_changes(gate.alpha)
    counts = f"{len(whole.worse)} worse, {len(whole.better)} better"
    margin = f"{float(100 * MARGIN):g}"
    low, high = whole.interval
    interval = f"95 % interval {100 * low:+.1f} to {100 * high:+.1f}"
    if low <= -MARGIN:
        text = (
            f"{counts}: no change for the worse is shown (p = {p_value(p)}), and no loss of "
            f"{margin} points ruled out ({interval})"
        )
        return [Reason("undecided", text, hint=_to_decide(whole, gate))], []
    if touched < fewest and whole.difference < 0:
        text = (
            f"{counts}, but only {counted(touched, 'item')} ran differently from the baseline: "
            f"fewer than {fewest} can't give a p-value of {gate.alpha:g}"
        )
        hint = f"run more seeds, so that {fewest} items or more meet the change"
        return [Reason("undecided", text, hint=hint)], []
    return [], [
        f"{counts}: no significant change for the worse, p = {p_value(p)}; a loss of {margin} "
        f"points is ruled out ({interval})"
    ]


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
