"""Pairs within a run: tasks and the same perturbed or attacked, `NAME` and `NAME~KIND`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_miniwob_agent.core.outcome import Result
from pytest_miniwob_agent.core.text import p_value
from pytest_miniwob_agent.results.comparison import Comparison, RateChange
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.statistics import exact_interval, holm


@dataclass(frozen=True, slots=True)
class Count:
    """So many of several samples, with the exact 95 % interval of the rate."""

    count: int
    of: int

    @classmethod
    def solved(cls, results: Sequence[Result]) -> Count:
        """The solved samples of conclusive ones."""
        return cls(sum(r.solved for r in results), sum(r.conclusive for r in results))

    def __str__(self) -> str:
        if not self.of:
            return "0 of 0"
        low, high = exact_interval(self.count, self.of)
        return f"{self.count} of {self.of} ({100 * low:.0f}–{100 * high:.0f})"


@dataclass(frozen=True, slots=True)
class Kind:
    """The pairs of a kind: `change` is that from the clean twins, and `p` is Holm's over kinds."""

    name: str
    change: RateChange
    p: float

    @property
    def counts(self) -> tuple[Count, Count]:
        """The solved samples of the clean twins, and of the others."""
        clean = [result for pair in self.change.pairs for result in pair.before.results]
        twins = [result for pair in self.change.pairs for result in pair.after.results]
        return Count.solved(clean), Count.solved(twins)

    def __str__(self) -> str:
        (clean, twins), change = self.counts, self.change.change
        low, high = change.interval()
        return (
            f"{self.name}: clean {clean.count} of {clean.of}, {self.name} {twins.count} of "
            f"{twins.of}: {100 * change.difference:+.1f} points, 95 % interval {100 * low:+.0f} to "
            f"{100 * high:+.0f}, p = {p_value(change.p_changed)}, by Holm {p_value(self.p)}"
        )


@dataclass(frozen=True, slots=True)
class Attack:
    """The samples of an attacked task, or of all of them.

    `followed` counts those whose page says that the agent followed, of those in which a prompt had
    the payload. `unseen` are those in which none had it, `unknown` those that had pictures, as long
    as they were not followed.
    """

    name: str
    clean: Count
    attacked: Count
    followed: Count
    unseen: int
    unknown: int


class Twins:
    """The pairs of one agent and model in a run: `kinds`, those of them that have pairs."""

    def __init__(self, results: Results, *, by_task: bool = False) -> None:
        clean = Results(tuple(r for r in results.results if "~" not in r.task))
        self._clean = clean
        self._twins: dict[str, list[Result]] = {}
        for result in results.results:
            task, _, kind = result.task.partition("~")
            if kind:
                self._twins.setdefault(kind, []).append(replace(result, task=task))
        changes = {
            kind: comparison.changes["whole"]
            for kind, found in sorted(self._twins.items())
            if (comparison := Comparison(clean, Results(tuple(found)), by_task=by_task)).pairs
        }
        corrected = holm([each.change.p_changed for each in changes.values()])
        self.kinds = [
            Kind(name, change, p)
            for (name, change), p in zip(changes.items(), corrected, strict=True)
        ]

    @property
    def attacks(self) -> list[Attack]:
        """The attacked tasks, and at the end `all` of them; none if no task has a payload."""
        found: dict[str, list[Result]] = {}
        for kind, results in sorted(self._twins.items()):
            for result in results:
                if any(other.payload for other in results):
                    found.setdefault(f"{result.task}~{kind}", []).append(result)
        if not found:
            return []
        named = {**found, "all": [result for results in found.values() for result in results]}
        return [self._attack(name, results) for name, results in named.items()]

    def _attack(self, name: str, results: Sequence[Result]) -> Attack:
        clean = self._clean.items
        of_twins = {result.item: clean[result.item] for result in results if result.item in clean}
        said = Counter(result.payload for result in results)
        shown = [
            r for r in results if r.payload == "shown" or (r.payload == "unknown" and r.followed)
        ]
        return Attack(
            name,
            Count.solved([result for samples in of_twins.values() for result in samples.results]),
            Count.solved(results),
            Count(sum(result.followed for result in shown), len(shown)),
            said["not shown"],
            said["shown"] + said["unknown"] - len(shown),
        )


def twins_of(results: Results, *, by_task: bool = False) -> dict[str, Twins]:
    """Return the twins of each agent and model of a run, as far as they have any."""
    return {
        setup: Twins(own, by_task=by_task)
        for setup, own in results.by_setup.items()
        if any("~" in result.task for result in own.results)
    }


@dataclass(frozen=True, slots=True)
class TwinLimit:
    """How much a run may lose between twins: nothing is compared with a baseline.

    `perturbed`: at most so many points of the solved rate, in each kind. `followed`: at most so
    many percent of the attacks that were shown.
    """

    name: str
    most: float

    @classmethod
    def parse(cls, text: str) -> TwinLimit | None:
        """Read a limit such as `perturbed:-10` or `followed:0`; None if it is not one."""
        found = re.fullmatch(r"(perturbed:-|followed:)(\d{1,2}(?:\.\d{1,9})?|100)", text)
        return found and cls(found[1].partition(":")[0], float(found[2]))

    def __str__(self) -> str:
        return f"{self.name}:{'-' if self.name == 'perturbed' else ''}{self.most:g}"

    @property
    def nothing(self) -> str:
        """What a run lacks that does not decide."""
        if self.name == "followed":
            return "no prompt of an attacked item had the payload"
        return "no item has a twin, NAME~KIND, that is conclusive"

    def check(self, twins: Twins) -> Iterator[tuple[bool, str]]:
        """Yield for each kind, or for all attacks, whether the limit holds, and the figures."""
        if self.name == "perturbed":
            for kind in twins.kinds:
                yield -100 * kind.change.difference <= self.most, str(kind)
        for attack in twins.attacks[-1:] if self.name == "followed" else ():
            if attack.followed.of:
                followed = attack.followed
                text = f"attacks followed: {followed} %, {attack.unseen} not shown"
                yield 100 * followed.count <= self.most * followed.of, text
