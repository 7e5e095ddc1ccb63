"""Pairs within a run: tasks and the same perturbed or attacked, `NAME` and `NAME~KIND`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

from pytest_miniwob_agent.core.case import split_task
from pytest_miniwob_agent.core.outcome import Result
from pytest_miniwob_agent.core.text import p_value
from pytest_miniwob_agent.results.comparison import Comparison, RateChange
from pytest_miniwob_agent.results.file import Results, Samples
from pytest_miniwob_agent.results.rounds import task_name
from pytest_miniwob_agent.results.statistics import exact_interval, holm, rate_interval


@dataclass(frozen=True, slots=True)
class Count:
    """So many of several samples; as text with the 95 % interval of the rate.

    The interval is exact, by task only if none or all count.
    """

    count: int
    of: int
    interval: tuple[float, float] = (0, 1)

    @classmethod
    def among(cls, counted: Iterable[tuple[bool, Result]], *, by_task: bool) -> Count:
        """Count samples, each beside whether it counts."""
        found = [(counts, task_name(one.item)) for counts, one in counted]
        count, tasks = sum(counts for counts, _ in found), [task for _, task in found]
        if not found:
            return cls(0, 0)
        if by_task and 0 < count < len(found):
            shares = [Fraction(counts) for counts, _ in found]
            return cls(count, len(found), rate_interval(shares, len(found), tasks))
        units = len({*tasks}) if by_task else len(found)
        return cls(count, len(found), exact_interval(min(count, units), units))

    @classmethod
    def solved(cls, results: Iterable[Result], *, by_task: bool) -> Count:
        decided = ((one.solved, one) for one in results if one.conclusive)
        return cls.among(decided, by_task=by_task)

    @property
    def rate(self) -> float:
        return self.count / self.of if self.of else 0

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count} of {self.of} ({100 * low:.0f}–{100 * high:.0f})"


@dataclass(frozen=True, slots=True)
class Kind:
    """The pairs of a kind: solved samples, and the change of the rate with its interval.

    `p` is two-sided, and `p_holm` the same corrected for the number of kinds.
    """

    kind: str
    pairs: int
    clean: Count
    twin: Count
    difference: float
    interval: tuple[float, float]
    p: float
    p_holm: float = 1

    @classmethod
    def of(cls, kind: str, change: RateChange, *, by_task: bool) -> Kind:
        clean, twin = (
            Count.solved((one for side in sides for one in side.results), by_task=by_task)
            for sides in zip(*((pair.before, pair.after) for pair in change.pairs), strict=True)
        )
        found = change.change
        figures = float(change.difference), found.interval(), found.p_changed
        return cls(kind, len(change.pairs), clean, twin, *figures)

    @property
    def points(self) -> str:
        """The change in points, and its 95 % interval: `-19.4 (-35 to -8)`."""
        return "{:+.1f} ({:+.0f} to {:+.0f})".format(
            *(100 * each for each in (self.difference, *self.interval))
        )

    def __str__(self) -> str:
        return (
            f"clean {self.clean}, {self.kind} {self.twin}: {self.points} points, "
            f"p = {p_value(self.p)}, by Holm {p_value(self.p_holm)}"
        )


@dataclass(frozen=True, slots=True)
class Attack:
    """The samples of an attacked task, or of all of them.

    `followed` is over those in which a prompt had the payload. `unseen` are those in which none had
    it, `unknown` those that had pictures and were not followed.
    """

    task: str
    clean: Count
    attacked: Count
    followed: Count
    unseen: int
    unknown: int

    @classmethod
    def of(
        cls, task: str, results: Sequence[Result], clean: Mapping[str, Samples], *, by_task: bool
    ) -> Attack:
        """Count the samples of a task or more; `clean` has those of the clean items."""
        said = Counter((result.payload, result.followed) for result in results)
        seen = [
            (one.followed, one)
            for one in results
            if one.payload == "shown" or (one.payload == "unknown" and one.followed)
        ]
        items = {result.item for result in results} & clean.keys()
        before = (each for item in items for each in clean[item].results)
        return cls(
            task,
            Count.solved(before, by_task=by_task),
            Count.solved(results, by_task=by_task),
            Count.among(seen, by_task=by_task),
            said["not shown", True] + said["not shown", False],
            said["unknown", False],
        )


class Twins:
    """The pairs of one agent and model in a run.

    `kinds` are those that have pairs. `attacks` are the tasks with a payload, and at the end `all`
    of them, if there are any.
    """

    def __init__(self, results: Results, *, by_task: bool = False) -> None:
        by_kind: dict[str, list[Result]] = {"": []}
        for result in results.results:
            task, kind = split_task(result.task)
            by_kind.setdefault(kind, []).append(replace(result, task=task))
        clean = Results(tuple(by_kind.pop("")))
        attacked: dict[str, list[Result]] = {}
        kinds = []
        for kind, found in sorted(by_kind.items()):
            pairs = Comparison(clean, Results(tuple(found)), by_task=by_task)
            kinds += [Kind.of(kind, pairs.changes["whole"], by_task=by_task)] if pairs.pairs else []
            for result in found if any(each.payload for each in found) else ():
                attacked.setdefault(f"{result.task}~{kind}", []).append(result)
        corrected = holm([kind.p for kind in kinds])
        self.kinds = [replace(kind, p_holm=p) for kind, p in zip(kinds, corrected, strict=True)]
        named = attacked and {**attacked, "all": [*chain.from_iterable(attacked.values())]}
        self.attacks = [
            Attack.of(task, own, clean.items, by_task=by_task) for task, own in named.items()
        ]

    def losses(self, measure: str) -> Iterator[tuple[float, str]]:
        """Yield what a limit is for, as a share and in words: of each kind, or of all attacks."""
        if measure == "perturbed":
            for kind in self.kinds:
                yield -kind.difference, str(kind)
        elif self.attacks and (followed := self.attacks[-1].followed).of:
            unseen = self.attacks[-1].unseen
            yield followed.rate, f"followed attacks: {followed}, {unseen} not shown"


def find_twins(results: Results, *, by_task: bool = False) -> dict[str, Twins]:
    """Return the twins of each agent and model of a run that has pairs or attacks."""
    found = {setup: Twins(own, by_task=by_task) for setup, own in results.by_setup.items()}
    return {setup: twins for setup, twins in found.items() if twins.kinds or twins.attacks}
