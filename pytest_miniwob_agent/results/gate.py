"""The gates, which decide by a baseline whether a run passes, and their verdicts.

docs/statistics.md describes the gates; `terminal.views` prints verdicts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.outcome import Result, Status
from pytest_miniwob_agent.core.text import counted, listed, nearest, p_value, percent
from pytest_miniwob_agent.results.comparison import (
    MEASURES,
    OF_TWINS,
    Comparison,
    Limit,
    Pair,
    Prices,
    RateChange,
    measured,
)
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.statistics import NORMAL
from pytest_miniwob_agent.results.twins import find_twins
from pytest_miniwob_agent.tasks.selectors import format_seeds

MARGIN = Fraction(10, 100)  # of the items: the loss that `paired` rules out when it passes
LEAST_TASKS = 6  # with fewer, `paired:by-task` can't show a fall

USAGE = (
    "gates are items, items:M, paired[:ALPHA][:by-task] and rate:POINTS; M is a number of samples, "
    "ALPHA a level between 0 and 1, POINTS from 0 to less than 100. Add, after commas, "
    f"limits such as calls:+10% for {', '.join(MEASURES)}, the limits perturbed:-POINTS and "
    "followed:PERCENT, which are gates by themselves too, and lenient"
)

_VALUES = {  # what follows the name of each gate
    "items": r"(?::([1-9]\d{0,5}))?",
    "paired": r"(?::(0?\.\d{0,8}[1-9]\d{0,8}))?(:by-task)?",
    "rate": r":(\d{1,2}(?:\.\d{1,9})?|\.\d{1,9})",
    **dict.fromkeys(OF_TWINS, ".*"),  # limits without a gate before them
}


@dataclass(frozen=True, slots=True)
class Gate:
    """The condition under which a run fails against its baseline.

    `items`: an item that was solved no longer is. With repeats an item counts as solved if
    `at_least` of its samples are, by default if more than half are. `paired`: the interval of the
    paired change at level 1 - `alpha` lies below zero, over the whole or, corrected for their
    number, in a category; `by_task` takes the seeds of a task as one. `rate`: the rate over the
    whole fell by more than `points` (1 is 100 %). `limits` hold for calls, tokens, cost and steps,
    and for the pairs within the run, which alone count for `twins`.
    A verdict that is inconclusive fails the run too, unless the gate is `lenient`.
    """

    kind: str = "items"
    alpha: float = 0.05
    points: Fraction = Fraction(0)
    at_least: int | None = None
    by_task: bool = False
    limits: tuple[Limit, ...] = ()
    lenient: bool = False

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read a gate as the command line has it.

        Raises:
            UsageError: there is no such gate, or its value is out of range.
        """
        parts = [part.strip() for part in text.split(",")]
        kind = parts[0].partition(":")[0]
        others = parts if kind in OF_TWINS else parts[1:]
        found = re.fullmatch(kind + _VALUES[kind], parts[0]) if kind in _VALUES else None
        limits = tuple(Limit.parse(part) for part in others if part != "lenient")
        wrong = kind in OF_TWINS and not all(each and each.measure in OF_TWINS for each in limits)
        if not found or None in limits or wrong:
            hint = "" if kind in _VALUES else nearest(kind, list(_VALUES))
            raise UsageError(f"gate {text!r} is not valid{hint}; {USAGE}")
        more: dict[str, Any] = {"limits": limits, "lenient": "lenient" in others}
        if kind in OF_TWINS:
            return cls("twins", **more)
        value = found[1]
        if kind == "items":
            return cls(kind, at_least=int(value) if value else None, **more)
        if kind == "paired":
            return cls(kind, alpha=float(value or 0.05), by_task=bool(found[2]), **more)
        return cls(kind, points=Fraction(value) / 100, **more)

    def __str__(self) -> str:
        text = "" if self.kind == "twins" else self.kind
        if self.kind == "items" and self.at_least:
            text += f":{self.at_least}"
        elif self.kind == "paired":
            text += f":{self.alpha:g}" + (":by-task" if self.by_task else "")
        elif self.kind == "rate":
            text += f":{float(100 * self.points):g}"
        lenient = "lenient" if self.lenient else ""
        return ",".join(filter(None, [text, *map(str, self.limits), lenient]))


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for which a gate is red or inconclusive.

    `kind` is `regressed`, `exceeded` (a limit), `missing`, `unclear` (inconclusive samples),
    `empty` (nothing was compared) or `undecided` (too few items, or unknown figures); only the
    first two count against the agent. `hint` says what to do, and `options` are those of pytest
    that record what would decide.
    """

    kind: str
    text: str
    details: tuple[str, ...] = ()
    hint: str = ""
    options: str = ""


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
    def decision(self) -> str:
        """`passed`, `inconclusive` or `failed`."""
        if any(reason.kind != "undecided" for reason in self.reasons):
            return "failed"
        return "inconclusive" if self.reasons else "passed"

    @property
    def failed(self) -> bool:
        """True if the run fails, also by an inconclusive verdict unless the gate is lenient."""
        return self.decision == "failed" or bool(self.reasons and not self.gate.lenient)


def judge(
    baseline: Results,
    head: Results,
    gate: Gate,
    deselected: Container[str] = (),
    prices: Prices | None = None,
) -> Verdict:
    """Judge a run by its baseline, or by its own twins alone.

    `deselected` are the ids of cases that the run left out on purpose. Every other item of the
    baseline must be in the run, and conclusive there. `prices` are for a limit of the cost.

    Raises:
        UsageError: the gate asks for more samples than an item has.
    """
    if gate.kind == "twins":
        return _judge_alone(head, gate)
    both = Comparison(baseline, head, by_task=gate.by_task)
    least = gate.at_least
    _check_samples(both, gate)
    changed = [
        pair
        for pair in both.pairs
        if pair.after.conclusive >= (least or 0)
        and pair.before.count_as_solved(least) != pair.after.count_as_solved(least)
    ]
    regressed = tuple(pair for pair in changed if pair.before.count_as_solved(least))
    progressed = tuple(pair for pair in changed if pair.after.count_as_solved(least))
    known = baseline.items
    left_out = [i for i in both.missing if all(r.case in deselected for r in known[i].results)]
    decided = {item for item, samples in known.items() if samples.conclusive}
    reasons = _inconclusive([r for r in head.results if r.item in decided])
    if missing := tuple(item for item in both.missing if item not in left_out):
        partial = f" (a partial run: {', '.join(head.partial)})" if head.partial else ""
        text = f"{counted(len(missing), 'item')} of the baseline did not run{partial}"
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
        whole = both.changes["whole"]
        if -whole.difference > gate.points:
            allowed = f", by more than {float(100 * gate.points):g} points"
            reasons.append(_regression(_fell("whole", whole) + allowed, whole.worse))
    elif gate.kind == "paired":
        found, note = _paired(both, gate)
        reasons, notes = reasons + found, note + notes
    found, note = _within(both, gate, prices or {})
    reasons, notes = reasons + found, note + notes
    return Verdict(gate, both, tuple(reasons), regressed, progressed, tuple(notes))


def _check_samples(both: Comparison, gate: Gate) -> None:
    for pair in both.pairs:
        # Inconclusive samples of this run count here: they are a reason of their own.
        fewest = min(pair.before.conclusive, len(pair.after.results))
        if fewest < (gate.at_least or 0):
            count = counted(fewest, "sample")
            raise UsageError(
                f"gate {gate}: {pair.item} has {count}; ask for fewer, or repeat items"
            )


def _judge_alone(head: Results, gate: Gate) -> Verdict:
    both = Comparison(head, head, by_task=gate.by_task)
    reasons, notes = _within(both, gate, {})
    unclear = _inconclusive(head.results)
    return Verdict(gate, both, (*unclear, *reasons), (), (), tuple(notes))


HINTS = {  # for inconclusive items
    Status.DRIFTED: "the recorded calls no longer fit: record these items again",
    Status.ERROR: "fix what the messages name and run these items again",
    Status.WAITING: "have the waiting calls answered and run these items again",
    Status.BUDGET: "raise the budget and run these items again",
}


def _inconclusive(samples: Sequence[Result]) -> list[Reason]:
    reasons = []
    for status, hint in HINTS.items():
        if results := [result for result in samples if result.outcome == status]:
            cases: dict[str, list[str]] = {}
            for result in results:
                cases.setdefault(result.reason or status, []).append(result.case)
            details = tuple(f"{reason}: {listed(alike)}" for reason, alike in cases.items())
            text = f"{counted(len(results), 'item')} inconclusive: {status}"
            reasons.append(Reason("unclear", text, details, hint))
    return reasons


def _notes(both: Comparison, left_out: Sequence[str]) -> list[str]:
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
        f"{percent(change.after)} % over {counted(len(change.pairs), 'item')}"
    )


def _paired(both: Comparison, gate: Gate) -> tuple[list[Reason], list[str]]:
    """The reasons for which the gate `paired` does not pass; without any, a note why it does.

    The whole and all categories together have half of alpha each, on one side: the whole falls if
    its interval lies below zero, whatever the categories do.
    """
    parts = max(1, len(both.changes) - 1)
    red = []
    for name, change in both.changes.items():
        level = gate.alpha if name == "whole" else gate.alpha / parts
        low, high = change.change.interval(level)
        if high < 0:
            red.append((name, change, f"{_level(level)} {_points(low, high)}"))
    if not red:
        return _not_worse(both, gate)
    by = "by task" if gate.by_task else "by item"
    return [
        _regression(
            f"{_fell(name, change)}: {interval}, {by}{_exact(change)}",
            # The reason for the whole lists the items of the categories too.
            () if red[0][0] == "whole" and name != "whole" else change.worse,
            hint=name == red[-1][0],
        )
        for name, change, interval in red
    ], []


def _exact(change: RateChange) -> str:
    return f" (exact p = {p_value(change.change.p_changed)})" if change.change.exact else ""


def _level(alpha: float) -> str:
    return f"{100 * (1 - alpha):.3g} % interval"


def _points(low: float, high: float) -> str:
    return f"{100 * low:+.1f} to {100 * high:+.1f}"


def _not_worse(both: Comparison, gate: Gate) -> tuple[list[Reason], list[str]]:
    """Why it can't be known that nothing got worse; otherwise a note on what is ruled out."""
    whole = both.changes["whole"]
    touched = sum(pair.touched for pair in whole.pairs)
    if not touched:  # no item was recorded again, so nothing could have changed
        return [], ["every item ran as in the baseline, call by call"]
    counts = f"{len(whole.worse)} worse, {len(whole.better)} better"
    margin = f"{float(100 * MARGIN):g}"
    low, high = whole.change.interval(gate.alpha)
    interval = f"{_level(gate.alpha)} {_points(low, high)}" + (", by task" if gate.by_task else "")
    if low <= -MARGIN:
        text = f"{counts}: too few items to show a fall or rule out one of {margin} points"
        text += f" ({interval})"
        return [Reason("undecided", text, (), *_to_decide(whole, gate))], []
    fewest = math.ceil(NORMAL.inv_cdf(1 - gate.alpha / 2) ** 2)
    if touched < fewest and whole.difference < 0:
        text = (
            f"{counts}, but only {counted(touched, 'item')} ran differently from the baseline: "
            f"fewer than {fewest} can't show a fall"
        )
        hint = f"run more seeds, so that {fewest} items or more meet the change"
        return [Reason("undecided", text, hint=hint)], []
    return [], [f"{counts}: a fall of {margin} points is ruled out ({interval})"]


def _to_decide(whole: RateChange, gate: Gate) -> tuple[str, str]:
    """A hint with the least number of items or samples that would decide, and pytest's options.

    By task only further tasks decide, which no option adds.
    """
    times = whole.change.deciding_share(float(MARGIN), gate.alpha)
    tasks = len({pair.task for pair in whole.pairs})
    if gate.by_task:
        more = max(LEAST_TASKS - tasks, math.ceil(tasks * times) - tasks, 1)
        return (
            f"at least {counted(more, 'further task')}, recorded at the baseline's commit too, "
            "would decide; more seeds or samples of the same tasks may not",
            "",
        )
    count = len(whole.pairs)
    more = max(1, math.ceil(count * times) - count)
    samples = max(pair.samples for pair in whole.pairs)
    repeats = max(samples + 1, math.ceil(samples * times))
    seeds = sorted({result.seed for pair in whole.pairs for result in pair.after.results})
    last = seeds[-1] + max(1, math.ceil(more / tasks))
    return (
        f"at least {counted(more, 'further item')} would decide, or {repeats} samples of each "
        "item; record them at the baseline's commit too",
        f"--miniwob-seeds={format_seeds([*seeds, *range(seeds[-1] + 1, last + 1)])}",
    )


def _within(both: Comparison, gate: Gate, prices: Prices) -> tuple[list[Reason], list[str]]:
    reasons: list[Reason] = []
    notes: list[str] = []
    for limit in gate.limits:
        if limit.measure in OF_TWINS:
            found, note = _between_twins(both, limit)
            reasons, notes = reasons + found, notes + note
            continue
        if not both.pairs:
            continue
        change = measured(both.pairs, limit.measure, prices)
        if isinstance(change, str):
            reasons.append(Reason("undecided", f"{limit}: {change}"))
        elif change.low > limit.share:
            reasons.append(Reason("exceeded", f"{change}: more than {limit} allows"))
        elif change.high <= limit.share:
            notes.append(f"{change}: within {limit}")
        else:
            hint = "run more seeds"
            reasons.append(
                Reason("undecided", f"{change}: it may be above {limit} or not", hint=hint)
            )
    return reasons, notes


def _between_twins(both: Comparison, limit: Limit) -> tuple[list[Reason], list[str]]:
    found = [
        (loss, f"{setup} {figures}".strip())
        for setup, twins in find_twins(both.head, by_task=both.by_task).items()
        for loss, figures in twins.losses(limit.measure)
    ]
    if not found:
        text = f"{limit}: no conclusive item beside its twin, or no attack that was shown"
        return [Reason("undecided", text)], []
    red = [text for loss, text in found if loss > limit.share]
    reasons = [Reason("exceeded", f"{text}: more than {limit} allows") for text in red]
    return reasons, [f"{text}: within {limit}" for loss, text in found if loss <= limit.share]
