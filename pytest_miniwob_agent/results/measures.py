"""Calls, tokens, cost and steps of two runs, item by item, and limits for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_miniwob_agent.models.budget import Price, cost_of
from pytest_miniwob_agent.results.comparison import Pair
from pytest_miniwob_agent.results.file import Result, Samples
from pytest_miniwob_agent.results.statistics import median_interval

Prices = Mapping[str, Price]
"""Prices by the model's id."""

MEASURES: Mapping[str, Callable[[Result, Prices], float | None]] = {
    "calls": lambda result, prices: sum(result.calls.values()),
    "tokens": lambda result, prices: result.usage.tokens if not result.usage.uncounted else None,
    "cost": lambda result, prices: cost_of(result.usage, prices.get(result.model)),
    "steps": lambda result, prices: result.steps,
}
"""What limits may be set for: the number of a sample, None where it is not known."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a measure may grow: 0.1 is 10 % of what it was."""

    measure: str
    share: float

    @classmethod
    def parse(cls, text: str) -> Limit | None:
        """Read a limit such as `calls:+10%`; None if it is not one."""
        found = re.fullmatch(r"(\w+):\+(\d{1,4}(?:\.\d{1,4})?)%", text)
        if not found or found[1] not in MEASURES:
            return None
        return cls(found[1], float(found[2]) / 100)

    def __str__(self) -> str:
        return f"{self.measure}:+{100 * self.share:g}%"


@dataclass(frozen=True, slots=True)
class Growth:
    """The median over the items of how much a measure grew, with its 95 % interval."""

    measure: str
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        median, low, high = (f"{100 * each:+.1f}" for each in (self.median, self.low, self.high))
        return f"{self.measure} per item: {median} % (median, 95 % interval {low} to {high})"


def measured(pairs: Sequence[Pair], measure: str, prices: Prices) -> Growth | str:
    """Return how much a measure grew, or why that is not known."""
    changes = []
    for pair in pairs:
        before, after = (_mean(side, measure, prices) for side in (pair.before, pair.after))
        if before is None or after is None:
            what = "the price or a token count" if measure == "cost" else "a token count"
            return f"{what} of {pair.item} is unknown"
        changes.append(round(after / before - 1, 9) if before else math.inf if after else 0.0)
    return Growth(measure, *median_interval(changes))


def _mean(samples: Samples, measure: str, prices: Prices) -> float | None:
    numbers = [MEASURES[measure](each, prices) for each in samples.results if each.conclusive]
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if len(known) == len(numbers) else None
