"""Whether a run may pass, by its baseline: the gates and their verdicts.

Nothing is printed here and no option is read. docs/statistics.md tells what each gate does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed, nearest, p_value, percent
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.comparison import Change, Comparison, Pair, story
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.terminal import layout

SAFEGUARD = Fraction(10, 100)
"""A drop of more than this fails under `paired` however few the items, if chance is ruled out."""

CALM = 0.2
"""The safeguard takes it that of two equal runs no more than this share of the items differs."""

RISK = 0.01
"""The risk of a false alarm that the safeguard may add, over the whole and all categories."""


KINDS = ("items", "paired", "rate")
USAGE = "gates are items, items:M, paired, paired:ALPHA and rate:POINTS"


@dataclass(frozen=True, slots=True)
class Gate:
    """When a run fails against its baseline.

    `items`: an item that was solved no longer is. With repeats an item counts as solved if
    `at_least` of its samples are, without a number if more than half are. `paired`: the paired
    change is for the worse at level `alpha`, over the whole or, corrected, in a category; or it
    passes the safeguard. `rate`: the rate over the whole fell by more than `points` (1 is all).
    """

    kind: str = "items"
    alpha: float = 0.05
    points: Fraction = Fraction(0)
    at_least: int | None = None

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read `items[:M]`, `paired[:ALPHA]` or `rate:POINTS`.

        Raises:
            UsageError: what is wrong with it.
        """
        kind, colon, value = text.strip().partition(":")
        if kind not in KINDS:
            raise UsageError(f"no gate is called {kind!r}{nearest(kind, KINDS)}; {USAGE}")
        if not colon:
            if kind == "rate":
                raise UsageError("the gate rate needs the points that may be lost, as in rate:5")
            return cls(kind)
        if kind == "items":
            if not re.fullmatch(r"[1-9]\d{0,5}", value):
                raise UsageError(f"gate {text!r}: {value!r} is no number of samples (items:2)")
            return cls(kind, at_least=int(value))
        number = Fraction(value) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", value) else None
        if kind == "paired":
            if number is None or not 0 < number < 1:
                raise UsageError(f"gate {text!r}: {value!r} is no level from 0 to 1 (paired:0.05)")
            return cls(kind, alpha=float(number))
        if number is None or number >= 100:
            raise UsageError(f"gate {text!r}: {value!r} are no points from 0 to 100 (rate:5)")
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
    """Why a gate is red.

    `kind` is `regressed`, `missing`, `unclear` (the run could not tell) or `empty` (nothing was
    compared); only the first speaks against the agent.
    """

    kind: str
    text: str
    details: tuple[str, ...] = ()
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate says about a comparison.

    `regressed` are the pairs that were solved and no longer are, `progressed` those that were not
    and are, whatever the gate makes of them. `missing` and `left_out` are the items that only the
    baseline has, `left_out` those of them that were deselected. `outcomes` counts the later run's
    samples. `notes` are what one should know and fails nothing.
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
        """Whether nothing speaks against the run."""
        return not self.reasons

    def lines(
        self, width: int = 80, most: int | None = 20, *, changes: bool = True, more: str = ""
    ) -> list[str]:
        """The verdict for a terminal.

        Args:
            width: columns.
            most: how many items are named of a list, None for all.
            changes: whether to name the items that changed.
            more: how to see the others, told where some are left out.
        """

        def listed(details: Sequence[str]) -> None:
            for detail in details[:most]:
                lines.extend(layout.wrap(detail, width, 4))
            if left := len(details) - len(details[:most]):
                lines.append(f"    and {left} more" + (f" ({more})" if more else ""))

        lines = layout.wrap(f"gate {self.gate}: {'passed' if self.passed else 'FAILED'}", width)
        named: set[str] = set()
        for reason in self.reasons:
            lines += layout.wrap(reason.text, width, 2)
            if changes or reason.kind != "regressed":
                listed(reason.details)
                named.update(reason.details)
            if reason.cure:
                lines += layout.wrap(f"-> {reason.cure}", width, 2)
        for note in self.notes:
            lines += layout.wrap(note, width, 2)
        for pairs, text in (
            (self.regressed, "no longer solved, which this gate allows"),
            (self.progressed, "solved now and not in the baseline"),
        ):
            others = [str(pair) for pair in pairs if str(pair) not in named]
            if changes and others:
                lines += layout.wrap(f"{counted(len(others), 'item')} {text}", width, 2)
                listed(others)
        return lines


def weaknesses(baseline: Results, gate: Gate) -> dict[str, str]:
    """The items that the baseline has as unsolved, and how they ended there."""
    return {
        item: story(samples)
        for item, samples in baseline.items.items()
        if samples.told and not samples.count_as_solved(gate.at_least)
    }


def judge(baseline: Results, head: Results, gate: Gate, deselected: Container[str] = ()) -> Verdict:
    """Judge a run by its baseline.

    Args:
        baseline: what was.
        head: what is.
        gate: when it fails.
        deselected: case ids that the run left out on purpose. Every other item of the baseline
            must be in the run, and the run must have told whether it is solved.

    Raises:
        UsageError: the gate asks for more samples than an item has.
    """
    both = Comparison(baseline, head)
    if gate.at_least:
        for pair in both.pairs:
            if (fewest := min(pair.before.told, pair.after.told)) < gate.at_least:
                raise UsageError(
                    f"gate {gate}: {pair.item} has {fewest} samples; ask for fewer, or repeat items"
                )

    def was(pair: Pair) -> bool:
        return pair.before.count_as_solved(gate.at_least)

    def is_(pair: Pair) -> bool:
        return pair.after.count_as_solved(gate.at_least)

    regressed = tuple(pair for pair in both.pairs if was(pair) and not is_(pair))
    progressed = tuple(pair for pair in both.pairs if is_(pair) and not was(pair))
    known = baseline.items
    left_out = tuple(
        item for item in both.missing
        if all(result.case in deselected for result in known[item].results)
    )  # fmt: skip
    missing = tuple(item for item in both.missing if item not in left_out)
    reasons = _could_not_tell(both, missing)
    notes: list[str] = []
    if not both.pairs:
        shared = known.keys() & head.items.keys()
        why = "could be told in both" if shared else "is in both result sets"
        reasons.append(Reason("empty", f"no item {why}, so nothing was compared"))
    elif gate.kind == "items" and regressed:
        reasons.append(
            _regression(f"{counted(len(regressed), 'item')} solved before and no longer", regressed)
        )
    elif gate.kind == "rate":
        reasons += _rate(both.pairs, gate)
    elif gate.kind == "paired":
        found, notes = _paired(both, gate)
        reasons += found
    if baseline.partial:
        notes.append(
            f"the baseline is of a partial run ({', '.join(baseline.partial)}); what it does not "
            "have is not judged"
        )
    if left_out:
        notes.append(f"left out on purpose: {counted(len(left_out), 'item')} of the baseline")
    if both.new:
        notes.append(f"not in the baseline: {listed(both.new)}")
    if unknown := [item for item, samples in known.items() if not samples.told]:
        notes.append(
            f"the baseline itself could not tell {listed(unknown)}; write it again to have "
            "them judged"
        )
    return Verdict(
        gate, tuple(reasons), regressed, progressed, missing, left_out, both.new,
        dict(Counter(result.outcome for result in head.results)), tuple(notes),
    )  # fmt: skip


CURES = {
    "drifted": "the recorded calls no longer fit: record these items again",
    "error": "mend what the messages name and run these items again",
    "waiting": "have the waiting calls answered and run these items again",
    "budget": "raise the budget and run these items again",
}


def _could_not_tell(both: Comparison, missing: Sequence[str]) -> list[Reason]:
    reasons = []
    if missing:
        why = f" (a partial run: {', '.join(both.head.partial)})" if both.head.partial else ""
        reasons.append(
            Reason(
                "missing",
                f"{counted(len(missing), 'item')} of the baseline did not run{why}",
                tuple(missing),
                "run them too; if they were removed on purpose, write the baseline again",
            )
        )
    known = both.baseline.items
    for outcome, cure in CURES.items():
        unclear = [
            result for result in both.unclear
            if result.outcome == outcome and result.item in known and known[result.item].told
        ]  # fmt: skip
        if unclear:
            by_reason: dict[str, list[str]] = {}
            for result in unclear:
                by_reason.setdefault(result.reason or outcome, []).append(result.case)
            details = tuple(f"{reason}: {listed(alike)}" for reason, alike in by_reason.items())
            text = f"{counted(len(unclear), 'item')} could not be told: {outcome}"
            reasons.append(Reason("unclear", text, details, cure))
    return reasons


def _regression(text: str, pairs: Sequence[Pair]) -> Reason:
    return Reason(
        "regressed",
        text,
        tuple(str(pair) for pair in pairs),
        "mend the change; if the loss is wanted, write the baseline again",
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
    for name, found, p, pairs, how in groups:
        limit = max(
            float(SAFEGUARD), statistics.by_chance(len(found.pairs), CALM, RISK / len(groups))
        )
        if p <= gate.alpha:
            text = f"{_fell(name, found)}; p = {p_value(p)} (one-sided {test}{how})"
        elif -found.difference > limit:
            text = f"{_fell(name, found)}, by more than the safeguard's {100 * limit:.0f} points"
        else:
            continue
        red.append((name, text, pairs))
    if not red:
        return [], _power(whole, gate)
    reasons = [
        # The whole names the items of the categories too.
        _regression(text, () if red[0][0] == "whole" != name else _worse(pairs))
        for name, text, pairs in red
    ]
    return [*(replace(reason, cure="") for reason in reasons[:-1]), reasons[-1]], []


def _power(whole: Change, gate: Gate) -> list[str]:
    """What a green `paired` gate could not have seen."""
    moves = f"{whole.lost} worse, {whole.gained} better"
    needed = statistics.needed_items(float(SAFEGUARD), whole.moved, gate.alpha)
    notes = []
    fewest = statistics.fewest_moves(gate.alpha)
    if len(whole.pairs) < needed:
        notes.append(
            f"{moves}: {len(whole.pairs)} items are too few to tell. About {needed} would show a "
            f"drop of {float(100 * SAFEGUARD):g} points four times out of five; run more seeds"
        )
    else:
        notes.append(
            f"{moves}: no significant change for the worse, p = {p_value(whole.p_worse)}; "
            f"a drop of {float(100 * SAFEGUARD):g} points would show four times out of five"
        )
    if whole.lost + whole.gained < fewest:
        notes.append(
            f"fewer than {fewest} items changed, so no p-value could have reached {gate.alpha:g}"
        )
    return notes
