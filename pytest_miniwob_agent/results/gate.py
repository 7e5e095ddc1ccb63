"""The gates, which decide by a baseline whether a run passes, and their verdicts.

docs/statistics.md describes the gates; `terminal.gate` prints verdicts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.core.text import counted, listed, nearest, p_value, percent
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.comparison import Change, Comparison, Pair, describe
from pytest_miniwob_agent.results.file import Results

SAFEGUARD = Fraction(10, 100)
"""A drop of more than this fails under `paired`, unless chance alone explains it."""

FLIPS = 0.2
"""The share of items that differ between two equal runs, as the safeguard assumes it."""

RISK = 0.01
"""The risk of a false alarm that the safeguard may add, over the whole and all categories."""

KINDS = ("items", "paired", "rate")
USAGE = "gates are items, items:M, paired, paired:ALPHA and rate:POINTS"


@dataclass(frozen=True, slots=True)
class Gate:
    """The condition under which a run fails against its baseline.

    `items`: an item that was solved no longer is. With repeats an item counts as solved if
    `at_least` of its samples are, by default if more than half are. `paired`: the paired change is
    for the worse at level `alpha`, over the whole or, corrected, in a category; or it exceeds the
    safeguard. `rate`: the rate over the whole fell by more than `points` (1 is 100 %).
    """

    kind: str = "items"
    alpha: float = 0.05
    points: Fraction = Fraction(0)
    at_least: int | None = None

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read `items[:M]`, `paired[:ALPHA]` or `rate:POINTS`.

        Raises:
            UsageError: there is no such gate, or its value is out of range.
        """
        kind, colon, value = text.strip().partition(":")
        if kind not in KINDS:
            raise UsageError(f"unknown gate {kind!r}{nearest(kind, KINDS)}; {USAGE}")
        if not colon:
            if kind == "rate":
                raise UsageError("the gate rate needs the allowed drop in points, as in rate:5")
            return cls(kind)
        if kind == "items":
            if not re.fullmatch(r"[1-9]\d{0,5}", value):
                raise UsageError(
                    f"gate {text!r}: the number of samples must be a positive integer of at most "
                    "six digits, as in items:2"
                )
            return cls(kind, at_least=int(value))
        number = Fraction(value) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", value) else None
        if kind == "paired":
            if number is None or not 0 < number < 1:
                raise UsageError(
                    f"gate {text!r}: the level must be between 0 and 1, as in paired:0.05"
                )
            return cls(kind, alpha=float(number))
        if number is None or number >= 100:
            raise UsageError(
                f"gate {text!r}: the points must be from 0 to less than 100, as in rate:5"
            )
        return cls(kind, points=number / 100)

    def __str__(self) -> str:
        value = {
            "items": f":{self.at_least}" if self.at_least else "",
            "paired": f":{self.alpha:g}",
            "rate": f":{float(100 * self.points):g}",
        }
        return self.kind + value[self.kind]


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for which a gate is red.

    `kind` is `regressed`, `missing`, `unclear` (inconclusive samples) or `empty` (nothing was
    compared); only the first speaks against the agent. `hint` says what to do.
    """

    kind: str
    text: str
    details: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's decision on a comparison.

    `regressed` are the pairs that were solved and no longer are, `progressed` those that were not
    and are, even if the gate allows them. `missing` and `left_out` are the items that only the
    baseline has, `left_out` those of them that were deselected. `outcomes` counts the later run's
    samples. `notes` are remarks that do not fail the run.
    """

    gate: Gate
    reasons: tuple[Reason, ...]
    regressed: tuple[Pair, ...]
    progressed: tuple[Pair, ...]
    missing: tuple[str, ...]
    left_out: tuple[str, ...]
    new: tuple[str, ...]
    outcomes: dict[str, int]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """True if there is no reason to fail the run."""
        return not self.reasons


def weaknesses(baseline: Results, gate: Gate) -> dict[str, str]:
    """The items that are unsolved in the baseline, with a description of their outcomes."""
    return {
        item: describe(samples)
        for item, samples in baseline.items.items()
        if samples.conclusive and not samples.count_as_solved(gate.at_least)
    }


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
    if gate.at_least:
        _check_samples(both.pairs, gate)
    regressed, progressed = _changes(both.pairs, gate)
    known = baseline.items
    left_out = tuple(
        item
        for item in both.missing
        if all(result.case in deselected for result in known[item].results)
    )
    missing = tuple(item for item in both.missing if item not in left_out)
    reasons = _missing(both, missing) + _inconclusive(both)
    notes: list[str] = []
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
        found, notes = _paired(both, gate)
        reasons += found
    notes += _notes(both, left_out)
    return Verdict(
        gate,
        tuple(reasons),
        regressed,
        progressed,
        missing,
        left_out,
        both.new,
        dict(Counter(result.outcome for result in head.results)),
        tuple(notes),
    )


def _check_samples(pairs: Sequence[Pair], gate: Gate) -> None:
    for pair in pairs:
        fewest = min(pair.before.conclusive, pair.after.conclusive)
        if gate.at_least and fewest < gate.at_least:
            raise UsageError(
                f"gate {gate}: {pair.item} has {fewest} samples; ask for fewer, or repeat items"
            )


def _changes(pairs: Sequence[Pair], gate: Gate) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """The pairs that regressed and those that progressed."""
    regressed, progressed = [], []
    for pair in pairs:
        before = pair.before.count_as_solved(gate.at_least)
        after = pair.after.count_as_solved(gate.at_least)
        if before and not after:
            regressed.append(pair)
        elif after and not before:
            progressed.append(pair)
    return tuple(regressed), tuple(progressed)


def _missing(both: Comparison, missing: Sequence[str]) -> list[Reason]:
    if not missing:
        return []
    why = f" (a partial run: {', '.join(both.head.partial)})" if both.head.partial else ""
    return [
        Reason(
            "missing",
            f"{counted(len(missing), 'item')} of the baseline did not run{why}",
            tuple(missing),
            "run them too; if they were removed on purpose, write the baseline again",
        )
    ]


HINTS = {
    Status.DRIFTED: "the recorded calls no longer fit: record these items again",
    Status.ERROR: "fix what the messages name and run these items again",
    Status.WAITING: "have the waiting calls answered and run these items again",
    Status.BUDGET: "raise the budget and run these items again",
}
"""Hints for inconclusive items, by status."""


def _inconclusive(both: Comparison) -> list[Reason]:
    """A reason for each status of samples that are inconclusive now and were not before."""
    known = both.baseline.items
    reasons = []
    for status, hint in HINTS.items():
        results = [
            result
            for result in both.inconclusive
            if result.outcome == status and result.item in known and known[result.item].conclusive
        ]
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
            f"the baseline is of a partial run ({', '.join(baseline.partial)}); items that it does "
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


def _regression(text: str, pairs: Sequence[Pair]) -> Reason:
    return Reason(
        "regressed",
        text,
        tuple(str(pair) for pair in pairs),
        "fix the change; if the loss is wanted, write the baseline again",
    )


def _fell(where: str, found: Change) -> str:
    return (
        f"{where}: the solved rate fell from {percent(found.before)} to "
        f"{percent(found.after)} % over {len(found.pairs)} items"
    )


def _worse(pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.change < 0]


def _rate(pairs: Sequence[Pair], gate: Gate) -> list[Reason]:
    found = Change(tuple(pairs))
    if -found.difference <= gate.points:
        return []
    allowed = f", by more than {float(100 * gate.points):g} points"
    return [_regression(_fell("whole", found) + allowed, _worse(pairs))]


def _paired(both: Comparison, gate: Gate) -> tuple[list[Reason], list[str]]:
    """The whole at the gate's level, the categories at that level corrected by Holm."""
    whole = Change(both.pairs)
    parts = both.categories if len(both.categories) > 1 else {}
    changes = {name: Change(pairs) for name, pairs in parts.items()}
    corrected = statistics.holm([each.p_worse for each in changes.values()])
    test = "exact sign-flip test" if both.repeated else "exact McNemar test"
    groups = [("whole", whole, whole.p_worse, both.pairs, "")]
    groups += [
        (name, changes[name], p, parts[name], f", corrected for {len(parts)} categories")
        for name, p in zip(changes, corrected, strict=True)
    ]
    red = []
    for name, found, p, pairs, correction in groups:
        limit = max(
            float(SAFEGUARD), statistics.drop_by_chance(len(found.pairs), FLIPS, RISK / len(groups))
        )
        if p <= gate.alpha:
            text = f"{_fell(name, found)}; p = {p_value(p)} (one-sided {test}{correction})"
        elif -found.difference > limit:
            text = f"{_fell(name, found)}, by more than the safeguard's {100 * limit:.0f} points"
        else:
            continue
        red.append((name, text, pairs))
    if not red:
        return [], _power(whole, gate)
    reasons = [
        # The reason for the whole lists the items of the categories too.
        _regression(text, () if red[0][0] == "whole" != name else _worse(pairs))
        for name, text, pairs in red
    ]
    # All reasons have the same hint, so only the last one keeps it.
    return [*(replace(reason, hint="") for reason in reasons[:-1]), reasons[-1]], []


def _power(whole: Change, gate: Gate) -> list[str]:
    """The sensitivity of a green `paired` gate: the changes that it could have detected."""
    changes = f"{whole.lost} worse, {whole.gained} better"
    needed = statistics.needed_items(float(SAFEGUARD), whole.moved, gate.alpha)
    notes = []
    fewest = statistics.fewest_changes(gate.alpha)
    if len(whole.pairs) < needed:
        notes.append(
            f"{changes}: {len(whole.pairs)} items are too few to be conclusive. About {needed} "
            f"would show a drop of {float(100 * SAFEGUARD):g} points four times out of five; run "
            "more seeds"
        )
    else:
        notes.append(
            f"{changes}: no significant change for the worse, p = {p_value(whole.p_worse)}; "
            f"a drop of {float(100 * SAFEGUARD):g} points would show four times out of five"
        )
    if whole.lost + whole.gained < fewest:
        notes.append(
            f"fewer than {fewest} items changed, so no p-value could have reached {gate.alpha:g}"
        )
    return notes
