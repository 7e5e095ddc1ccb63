"""The rounds of the gate `until-decided`: which items each look sees, in an order that is fixed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.results.statistics import levels_at_looks

ROUNDS = 8
LEAST_ITEMS, LEAST_TASKS = 10, 5
"""The fewest units of a round, if there are several rounds."""


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the items of the first rounds.

    Args:
        shares: of all items that each look sees, up to 1.
        number: which look it is, from 1.
    """

    shares: tuple[float, ...] = (1.0,)
    number: int = 1

    @property
    def last(self) -> bool:
        return self.number == len(self.shares)

    def level(self, alpha: float) -> float:
        """The level at which this look judges, so that all looks together have that of `alpha`."""
        if len(self.shares) == 1:
            return alpha
        return 2 * levels_at_looks(self.shares, alpha / 2)[self.number - 1]


def task_name(item: str) -> str:
    """Return the category and the task of an item: `<category>/<task>`."""
    return "/".join(item.split("/")[-3:-1])


def plan_rounds(
    items: Iterable[str], left_out: Collection[str] = (), *, by_task: bool = False
) -> list[list[str]]:
    """Return the items of each round, without those left out.

    A seed of every task comes before a further seed of any, in an order that mixes tasks; new seeds
    that are larger come last. By task, each round has tasks with all of their seeds.
    """
    seeds: dict[str, list[int]] = defaultdict(list)
    for item in items:
        seeds[item.rpartition("/")[0]].append(int(item.rpartition("/")[2]))
    ordered = [
        (rank, f"{task}/{seed}") for task in seeds for rank, seed in enumerate(sorted(seeds[task]))
    ]
    if by_task:
        ordered.sort(key=lambda one: (digest(task_name(one[1])), one))
    else:
        ordered.sort(key=lambda one: (one[0], digest(one[1])))
    units: dict[str, list[str]] = defaultdict(list)
    for _, item in ordered:
        if item not in left_out:
            units[task_name(item) if by_task else item].append(item)
    count = max(1, min(ROUNDS, len(units) // (LEAST_TASKS if by_task else LEAST_ITEMS)))
    rounds: list[list[str]] = [[] for _ in range(count)]
    for place, unit in enumerate(units.values()):
        rounds[place * count // len(units)] += unit
    return rounds
