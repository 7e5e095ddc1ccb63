"""The gates, which decide by a baseline whether a run passes, and their verdicts.

docs/statistics.md describes the gates; `terminal.views` prints verdicts.
"""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

from pytest_miniwob_agent.builtin import without_pytest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.outcome import Result, Status
from pytest_miniwob_agent.core.text import counted, listed, nearest, p_value, percent
from pytest_miniwob_agent.results.comparison import (
    GRADE,
    MEASURES,
    OF_TWINS,
    Comparison,
    Limit,
    Pair,
    Prices,
    RateChange,
    interval_name,
    measured,
)
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.rounds import Look, plan_rounds
from pytest_miniwob_agent.results.statistics import NORMAL, p_together, ratio, ratio_interval
from pytest_miniwob_agent.results.twins import find_twins
from pytest_miniwob_agent.tasks.selectors import format_seeds

MARGIN = Fraction(10, 100)  # of the items: the loss that `paired` rules out when it passes
LIMITS = 0.05  # the level of the intervals of limits
ALIKE = 0.05  # the p-value up to which items of a task are said to change together

PAIRED = "paired", "until-decided"

NEXT_ROUND = "run the next round; what is recorded replays"

USAGE = (
    "gates are items, items:M, paired[:ALPHA][:by-task], until-decided[:ALPHA][:by-task] and "
    "rate:POINTS; M is a number of samples, ALPHA a level between 0 and 1, POINTS from 0 to less "
    "than 100. Add, after commas, "
    f"limits such as calls:+10% for {', '.join(MEASURES)}, the limits perturbed:-POINTS and "
    "followed:PERCENT or grade:NAME:-POINTS, which are gates by themselves too, and lenient"
)

_VALUES = {  # what follows the name of each gate
    "items": r"(?::([1-9]\d{0,5}))?",
    **dict.fromkeys(PAIRED, r"(?::(0?\.\d{0,8}[1-9]\d{0,8}))?(:by-task)?"),
    "rate": r":(\d{1,2}(?:\.\d{1,9})?|\.\d{1,9})",
    **dict.fromkeys((*OF_TWINS, GRADE), ".*"),  # limits without a gate before them
}


@dataclass(frozen=True, slots=True)
class Gate:
    """The condition under which a run fails against its baseline.

    `items`: an item that was solved no longer is. With repeats an item counts as solved if
    `at_least` of its samples are, by default if more than half are. `paired`: the interval of the
    paired change at level 1 - `alpha` lies below zero, over the whole or, corrected for their
    number, in a category; `by_task` takes the seeds of a task as one. `until-decided`: the same,
    looking after each round of items, with `alpha` for all looks together. `rate`: the rate over
    the whole fell by more than `points` (1 is 100 %). `limits` hold for calls, tokens, cost and
    steps, for the mean grades of graders, which alone count for `grade`, and for the pairs within
    the run, which alone count for `twins`.
    A verdict that is inconclusive fails the run too, unless the gate is `lenient`. A gate that a
    plugin has `added` has what follows its name, and a function that judges.
    """

    kind: str = "items"
    alpha: float = 0.05
    points: Fraction = Fraction(0)
    at_least: int | None = None
    by_task: bool = False
    limits: tuple[Limit, ...] = ()
    lenient: bool = False
    added: str = ""
    judged_by: Callable[[Comparison], Iterable[Reason]] | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read a gate as the command line has it.

        Raises:
            UsageError: there is no such gate, or its value is out of range.
        """
        parts = [part.strip() for part in text.split(",")]
        kind = parts[0].partition(":")[0]
        others = parts if kind in (*OF_TWINS, GRADE) else parts[1:]
        found = re.fullmatch(kind + _VALUES[kind], parts[0]) if kind in _VALUES else None
        limits = tuple(Limit.parse(part) for part in others if part != "lenient")
        wrong = kind in OF_TWINS and not all(each and each.measure in OF_TWINS for each in limits)
        of_plugins = {} if kind in _VALUES else ChainMap(*without_pytest().pytest_miniwob_gates())
        if not (found or kind in of_plugins) or None in limits or wrong:
            hint = "" if kind in _VALUES else nearest(kind, [*_VALUES, *of_plugins])
            raise UsageError(f"gate {text!r} is not valid{hint}; {USAGE}")
        more: dict[str, Any] = {"limits": limits, "lenient": "lenient" in others}
        if kind in of_plugins:
            value = parts[0].partition(":")[2]
            return cls(kind, added=value, judged_by=of_plugins[kind](value), **more)
        assert found is not None
        if kind in (*OF_TWINS, GRADE):
            return cls(GRADE if kind == GRADE else "twins", **more)
        value = found[1]
        if kind == "items":
            return cls(kind, at_least=int(value) if value else None, **more)
        if kind in PAIRED:
            return cls(kind, alpha=float(value or 0.05), by_task=bool(found[2]), **more)
        return cls(kind, points=Fraction(value) / 100, **more)

    def __str__(self) -> str:
        text = "" if self.kind in ("twins", GRADE) else self.kind
        if self.kind == "items" and self.at_least:
            text += f":{self.at_least}"
        elif self.kind in PAIRED:
            text += f":{self.alpha:g}" + (":by-task" if self.by_task else "")
        elif self.kind == "rate":
            text += f":{float(100 * self.points):g}"
        elif self.added:
            text += f":{self.added}"
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
    and are, even if the gate allows them. `notes` are remarks that do not fail the run. `needed`
    are the items that were seen when the gate was decided; None if that were all.
    """

    gate: Gate
    both: Comparison
    reasons: tuple[Reason, ...]
    regressed: tuple[Pair, ...]
    progressed: tuple[Pair, ...]
    notes: tuple[str, ...]
    needed: frozenset[str] | None = None

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

    def keep_needed(self, results: Results) -> Results:
        """The results without items that ran beside the rounds that decided, by their timing."""
        if self.needed is None:
            return results
        count = len(self.both.baseline.items)
        partial = (*results.partial, f"decided by {counted(count, 'item')}, others not needed")
        return replace(results.only(self.needed), partial=partial)


def judge(
    baseline: Results,
    head: Results,
    gate: Gate,
    deselected: Container[str] = (),
    prices: Prices | None = None,
    wanted: Set[str] | None = None,
) -> Verdict:
    """Judge a run by its baseline, or by its own twins alone.

    `deselected` are the ids of cases that the run left out on purpose. Every other item of the
    baseline must be in the run, and conclusive there. `prices` are for a limit of the cost. If both
    are set-ups of one run, `wanted` are the items that must be in both, and conclusive.

    Raises:
        UsageError: the gate asks for more samples than an item has.
    """
    if gate.kind == "twins":
        return _judge_alone(head, gate)
    both = Comparison(baseline, head, by_task=gate.by_task, wanted=wanted)
    if gate.kind == "until-decided":
        return _judge_in_rounds(both, gate, deselected, prices)
    return _judge(both, gate, deselected, prices, Look())


def judge_setups(
    results: Results,
    first: str,
    gate: Gate,
    prices: Prices | None = None,
    wanted: Set[str] | None = None,
) -> Verdict:
    """Judge a set-up of a run by another one, the `first`; raises as `judge` does.

    `wanted` are the items that both should have, without their set-up: by default, all there are.
    """
    setups = replace(results, partial=()).by_setup
    before = setups.pop(first, Results(()))
    head = next(iter(setups.values()), Results(()))
    items = before.items.keys() | head.items.keys() if wanted is None else wanted
    verdict = judge(before, head, gate, prices=prices, wanted=items)
    if verdict.needed is None:
        return verdict
    kept = {one.item for one in results.results if replace(one, setup="").item in verdict.needed}
    return replace(verdict, needed=frozenset(kept))


def _judge_in_rounds(
    whole: Comparison, gate: Gate, deselected: Container[str], prices: Prices | None
) -> Verdict:
    """Judge the rounds one after the other, up to the first that decides or is not complete."""
    left_out = _left_out(whole.baseline, whole.baseline.items, deselected)
    planned = whole.baseline.items if whole.wanted is None else whole.wanted
    rounds = plan_rounds(planned, left_out, by_task=gate.by_task)
    ends = list(accumulate(map(len, rounds)))
    shares = tuple(end / max(1, ends[-1]) for end in ends)
    seen: set[str] = set()
    both, look, decided = whole, Look(shares), False
    for number, items in enumerate(rounds, start=1):
        if number > 1 and whole.head.items.keys().isdisjoint(items):
            break  # it was not begun
        seen.update(items)
        both, look = whole.only(seen), Look(shares, number)
        if _lacking(both, ()) or not both.pairs:
            break
        found, _ = _paired(both, gate, look)
        limits, _ = _within(both, gate, prices or {}, look)
        fell = any(reason.kind == "regressed" for reason in found)
        # What more items may decide has a hint; an unknown price has none.
        if decided := fell or not any(reason.hint for reason in found + limits):
            break
    verdict = _judge(both, gate, deselected, prices, look)
    where = f"round {look.number} of {len(rounds)}, {len(seen)} of {ends[-1]} items"
    note = f"decided in {where}" if decided else f"not decided in {where}"
    left = [f"left out on purpose: {counted(len(left_out), 'item')} of the baseline"]
    notes = (note, *verdict.notes, *(left if left_out else []))
    needed = frozenset(seen) if decided and not look.last else None
    return replace(verdict, notes=notes, needed=needed)


def _left_out(baseline: Results, items: Iterable[str], deselected: Container[str]) -> list[str]:
    known = baseline.items
    return [i for i in items if all(r.case in deselected for r in known[i].results)]


def _lacking(both: Comparison, left_out: Sequence[str]) -> list[Reason]:
    """Why the run does not have what is to be judged: items that are missing or inconclusive."""
    head = both.head
    if both.wanted is not None:
        unclear = [one for one in both.baseline.results + head.results if not one.conclusive]
        reasons = _inconclusive([*{one.case: one for one in unclear}.values()])
        if lacking := sorted(both.wanted - (both.baseline.items.keys() & head.items.keys())):
            text = f"{counted(len(lacking), 'item')} did not run with both set-ups"
            reasons.insert(0, Reason("missing", text, tuple(lacking), "run them with both"))
        return reasons
    decided = {item for item, samples in both.baseline.items.items() if samples.conclusive}
    reasons = _inconclusive([r for r in head.results if r.item in decided])
    if missing := tuple(item for item in both.missing if item not in left_out):
        partial = f" (a partial run: {', '.join(head.partial)})" if head.partial else ""
        text = f"{counted(len(missing), 'item')} of the baseline did not run{partial}"
        hint = "run them too; if they were removed on purpose, write the baseline again"
        reasons.insert(0, Reason("missing", text, missing, hint))
    return reasons


def _judge(
    both: Comparison, gate: Gate, deselected: Container[str], prices: Prices | None, look: Look
) -> Verdict:
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
    left_out = _left_out(both.baseline, both.missing, deselected)
    reasons = _lacking(both, left_out)
    notes = _notes(both, left_out) if both.wanted is None else []
    if not both.pairs:
        shared = both.baseline.items.keys() & both.head.items.keys()
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
    elif gate.judged_by is not None:
        reasons += gate.judged_by(both)
    elif gate.kind == "paired" or (gate.kind == "until-decided" and not reasons):
        found, note = _paired(both, gate, look)
        reasons, notes = reasons + found, note + _together(both.pairs, gate) + notes
    found, note = _within(both, gate, prices or {}, look)
    reasons, notes = reasons + found, note + notes
    if both.wanted is not None:  # no baseline is written again
        reasons = [replace(one, hint="") if one.kind == "regressed" else one for one in reasons]
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
    reasons, notes = _within(both, gate, {}, Look())
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


def _paired(both: Comparison, gate: Gate, look: Look) -> tuple[list[Reason], list[str]]:
    """The reasons for which a gate of pairs does not pass; without any, a note why it does.

    The whole and all categories together have half of alpha each, on one side: the whole falls if
    its interval lies below zero, whatever the categories do.
    """
    parts = max(1, len(both.changes) - 1)
    red = []
    for name, change in both.changes.items():
        level = look.level(gate.alpha if name == "whole" else gate.alpha / parts)
        if change.change.fell(level):
            low, high = change.change.interval(level)
            red.append((name, change, f"{interval_name(level)} {_points(low, high)}"))
    if not red:
        return _not_worse(both, gate, look)
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


def _together(pairs: Sequence[Pair], gate: Gate) -> list[str]:
    tasks = [pair.task for pair in pairs]
    if gate.by_task or len({*tasks}) == len(pairs):
        return []
    p = p_together([pair.change for pair in pairs], tasks)
    if p > ALIKE:
        return []
    return [
        f"the items of a task changed alike (p = {p_value(p)}), which by item raises false alarms: "
        f"{gate.kind}:by-task allows for it"
    ]


def _exact(change: RateChange) -> str:
    return f" (exact p = {p_value(change.change.p_changed)})" if change.change.exact else ""


def _points(low: float, high: float) -> str:
    return f"{100 * low:+.1f} to {100 * high:+.1f}"


def _not_worse(both: Comparison, gate: Gate, look: Look) -> tuple[list[Reason], list[str]]:
    """Why it can't be known that nothing got worse; otherwise a note on what is ruled out."""
    whole = both.changes["whole"]
    touched = sum(pair.touched for pair in whole.pairs)
    if not touched:  # no item was recorded again, so nothing could have changed
        if look.last:
            return [], ["every item ran as in the baseline, call by call"]
        # At the baseline's commit all rounds replay, and then new seeds are recorded.
        text = "every item so far ran as in the baseline, call by call"
        return [Reason("undecided", text, (), *_to_decide(both, gate, look))], []
    counts = f"{len(whole.worse)} worse, {len(whole.better)} better"
    margin = f"{float(100 * MARGIN):g}"
    level = look.level(gate.alpha)
    low, high = whole.change.interval(level)
    interval = f"{interval_name(level)} {_points(low, high)}" + (
        ", by task" if gate.by_task else ""
    )
    if low <= -MARGIN:
        text = f"{counts}: too few items to show a fall or rule out one of {margin} points"
        text += f" ({interval})"
        return [Reason("undecided", text, (), *_to_decide(both, gate, look))], []
    fewest = math.ceil(NORMAL.inv_cdf(1 - level / 2) ** 2)
    if 0 < touched < fewest and whole.difference < 0:
        text = (
            f"{counts}, but only {counted(touched, 'item')} ran differently from the baseline: "
            f"fewer than {fewest} can't show a fall"
        )
        hint = f"run more seeds, so that {fewest} items or more meet the change"
        return [Reason("undecided", text, hint=hint)], []
    return [], [f"{counts}: a fall of {margin} points is ruled out ({interval})"]


def _to_decide(both: Comparison, gate: Gate, look: Look) -> tuple[str, str]:
    """A hint how to decide, and pytest's options that select twice as many seeds.

    By task only further tasks decide, which no option adds.
    """
    if not look.last:
        return NEXT_ROUND, f"--miniwob-gate={gate}"
    too = ", at the baseline's commit first" if both.wanted is None else ""
    if gate.by_task:
        return f"record further tasks{too}: more seeds may not decide", ""
    seeds = sorted({result.seed for pair in both.pairs for result in pair.after.results})
    more = range(seeds[-1] + 1, seeds[-1] + 1 + len(seeds))
    return (
        f"record more seeds{too}, for instance twice as many; "
        "--miniwob-plan shows how many find a loss",
        f"--miniwob-seeds={format_seeds([*seeds, *more])}",
    )


def _within(
    both: Comparison, gate: Gate, prices: Prices, look: Look
) -> tuple[list[Reason], list[str]]:
    reasons: list[Reason] = []
    notes: list[str] = []
    level = look.level(LIMITS)
    hint = "run more seeds" if look.last else NEXT_ROUND
    for limit in gate.limits:
        if limit.measure in OF_TWINS:
            found, note = _between_twins(both, limit)
            reasons, notes = reasons + found, notes + note
            continue
        if not both.pairs:
            continue
        if limit.grader:
            found, note = _mean_grade(both, limit, level, hint)
            reasons, notes = reasons + found, notes + note
            continue
        change = measured(both.pairs, limit.measure, prices, level, by_task=both.by_task)
        if isinstance(change, str):
            reasons.append(Reason("undecided", f"{limit}: {change}"))
        elif change.low > 1 + limit.share:
            reasons.append(Reason("exceeded", f"{change}: more than {limit} allows"))
        elif change.high <= 1 + limit.share:
            notes.append(f"{change}: within {limit}")
        else:
            undecided = f"{change}: it may be above {limit} or not"
            reasons.append(Reason("undecided", undecided, hint=hint))
    return reasons, notes


def _mean_grade(
    both: Comparison, limit: Limit, level: float, hint: str
) -> tuple[list[Reason], list[str]]:
    changes = both.grade_changes(limit.grader)
    if not changes:
        known = sorted(both.graders)
        hint = nearest(limit.grader, known)
        text = f"{limit}: no item has grades by {limit.grader} in both runs{hint}"
        return [Reason("undecided", text, tuple(known))], []
    counts, sums = [len(each) for each in changes], [math.fsum(each) for each in changes]
    mean, (low, high) = ratio(sum(counts), math.fsum(sums)), ratio_interval(counts, sums, level)
    by = "task" if both.by_task else "item"
    text = f"{limit.measure}: {100 * mean:+.1f} points in the mean ({interval_name(level)} "
    text += f"{_points(low, high)}, by {by})"
    if high < -limit.share:
        return [Reason("exceeded", f"{text}: more than {limit} allows")], []
    if low < -limit.share:
        undecided = f"{text}: it may have lost more than {limit} allows or not"
        return [Reason("undecided", undecided, hint=hint)], []
    return [], [f"{text}: within {limit}"]


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
