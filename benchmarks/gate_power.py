"""How often the gates decide which way, by simulation: the tables of docs/statistics.md.

    python benchmarks/gate_power.py [--changes 1000] [TABLE ...]

An item is solved with a chance of its own. Baseline and changed run are drawn from the chances
independently, so that a change that does nothing flips items all the same: 5 % of them in a calm
suite, 17 % in a restless one, 50 % in a hard one. In calm and restless suites the chances are drawn
from a beta distribution with mean 0.85; most items are solved almost always or almost never. In a
hard suite every chance is 0.5. A change that costs d points lowers all chances by the same share.

Tables: `paired` (red and passing verdicts of the gate `paired`), `others` (red verdicts of the
other gates) and `baselines` (false alarms by the rule that makes a run the next baseline).

The gates are decided as `results.gate` does it, but from arrays in place of results files, which is
much faster; `tests/results/test_gate_power.py` checks that both decide alike.
Seeds are fixed: every run of this script prints the same figures.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pytest_miniwob_agent.results.gate import MARGIN, Gate
from pytest_miniwob_agent.results.statistics import Change

Chances = NDArray[np.float64]
"""The chance of each item."""

Run = NDArray[np.bool_]
"""A row for each item, with True for each of its samples that is solved."""

ALPHA = Gate("paired").alpha
DROPS = (0, 5, 10, 20)
"""Points that a change costs. A quarter as many are simulated of those that cost something."""
SIZES = (5, 10, 20, 50, 100, 325)
CATEGORIES = (1, 3)
SEEDS = 5
"""Seeds per task."""

SERIES = 10
"""Changes that do nothing, one after the other, that are judged by the baseline of a rule."""


@dataclass(frozen=True)
class Suite:
    """A suite of items, each of which is solved with a chance of its own.

    Args:
        rate: the mean of the chances.
        flips: the share of items that differ between two equal runs.
        samples: samples per item, on both sides.
        tasks: how far the chances of a task's seeds move together, up or down by chance.
        by_task: judge by task.
    """

    rate: float
    flips: float
    samples: int = 1
    tasks: float = 0.0
    by_task: bool = False

    def chances(self, draw: np.random.Generator, size: int) -> Chances:
        """The chance of each item."""
        # Two samples of an item differ with the chance 2·E[p(1-p)] = 2·rate·(1-rate)·k / (k + 1).
        most = 2 * self.rate * (1 - self.rate)
        if self.flips >= most:
            return np.full(size, self.rate)
        k = self.flips / (most - self.flips)
        return draw.beta(self.rate * k, (1 - self.rate) * k, size)


SUITES = {
    "calm": Suite(0.85, 0.05),
    "restless": Suite(0.85, 0.17),
    "hard": Suite(0.5, 0.5),
    "restless, 3 samples": Suite(0.85, 0.17, 3),
    "hard, 3 samples": Suite(0.5, 0.5, 3),
    "tasks move, by item": Suite(0.85, 0.17, 1, 0.3),
    "tasks move, by task": Suite(0.85, 0.17, 1, 0.3, by_task=True),
    "restless, by task": Suite(0.85, 0.17, by_task=True),
}


def generator(*names: object) -> np.random.Generator:
    """A random generator that is the same for the same names."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def run(draw: np.random.Generator, chances: Chances, samples: int) -> Run:
    """One run over a suite whose items are solved with these chances."""
    return draw.random((len(chances), samples)) < chances[:, None]


def category_of(size: int, categories: int) -> NDArray[np.int64]:
    """The category of each item; of three, the sizes are as in the paper, 10 : 20 : 13."""
    spread = np.arange(categories) if categories != 3 else np.repeat([0, 1, 2], [10, 20, 13])
    return np.resize(generator(categories).permutation(spread), size)


def paired(
    before: Run, after: Run, categories: NDArray[np.int64], *, by_task: bool = False
) -> tuple[bool, bool]:
    """The decision of the gate `paired`: whether a fall is shown, and whether it is ruled out."""
    unit = SEEDS if by_task else 1
    names = [f"{category}/{item // unit}" for item, category in enumerate(categories)]
    sides = [[Fraction(int(n), run.shape[1]) for n in run.sum(1)] for run in (before, after)]

    def change(items: Sequence[int]) -> Change:
        old, new = ([side[item] for item in items] for side in sides)
        return Change.of(old, new, len(items) * before.shape[1], [names[item] for item in items])

    whole = change(range(len(before)))
    low, high = whole.interval(ALPHA)
    parts = [np.flatnonzero(categories == each).tolist() for each in np.unique(categories)]
    fell = high < 0 or (
        len(parts) > 1 and any(change(items).interval(ALPHA / len(parts))[1] < 0 for items in parts)
    )
    return fell, not fell and low > -MARGIN


def other_gates(before: Run, after: Run) -> tuple[bool, bool, bool]:
    """The decisions of the other gates: whether `items`, `rate:5` and `rate:10` are red."""
    lost = bool(((before.mean(1) > 0.5) & (after.mean(1) <= 0.5)).any())
    fell = before.sum() - after.sum()
    return lost, bool(20 * fell > before.size), bool(10 * fell > before.size)


def changes_of(suite: Suite, size: int, drop: int, count: int) -> Iterator[tuple[Run, Run]]:
    """Runs before and after each of `count` changes that cost `drop` points."""
    draw = generator(suite.rate, suite.flips, suite.samples, suite.tasks, size, drop)
    for _ in range(count):
        chances = suite.chances(draw, size)
        sides = []
        for lower in (0, drop):
            moved = np.repeat(draw.choice([-1, 1], -(-size // SEEDS)), SEEDS)[:size]
            shifted = np.clip(chances + suite.tasks * moved, 0, 1) if suite.tasks else chances
            lowered = shifted * max(0.0, 1 - lower / 100 / suite.rate)
            sides.append(run(draw, lowered, suite.samples))
        yield sides[0], sides[1]


def paired_shares(
    suite: Suite, size: int, categories: int, drop: int, count: int
) -> tuple[float, float]:
    """The shares of changes for which `paired` is red, and for which it passes."""
    spread = category_of(size, categories)
    runs = changes_of(suite, size, drop, count)
    found = [paired(*change, spread, by_task=suite.by_task) for change in runs]
    return sum(red for red, _ in found) / count, sum(passed for _, passed in found) / count


RULES: dict[str, Callable[[Run, Run, bool], bool]] = {
    "never": lambda baseline, head, red: False,
    "the run of each change that is kept, whatever it shows": lambda baseline, head, red: not red,
    "each run that came out better": lambda baseline, head, red: head.sum() > baseline.sum(),
}
"""Rules by which a run becomes the next baseline."""


def false_alarms(rule: str, suite: Suite, size: int, count: int) -> list[float]:
    """The shares of red verdicts on each of `SERIES` changes that do nothing, one after the other.

    The baseline of each is that which the rule has left.
    """
    draw = generator(suite, size)
    spread = category_of(size, 3)
    red = [0] * SERIES
    for _ in range(count):
        chances = suite.chances(draw, size)
        baseline = run(draw, chances, suite.samples)
        for number in range(SERIES):
            head = run(draw, chances, suite.samples)
            failed, _ = paired(baseline, head, spread)
            red[number] += failed
            if RULES[rule](baseline, head, failed):
                baseline = head
    return [number / count for number in red]


def number_of(changes: int, drop: int) -> int:
    """The number of changes that are simulated of a drop."""
    return changes if not drop else -(-changes // 4)


def _percents(shares: Sequence[float]) -> str:
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def paired_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `paired`."""
    yield "suite", "items", "categories", "red", "passed"
    for name, suite in SUITES.items():
        for size in SIZES:
            for categories in CATEGORIES:
                shares = [
                    paired_shares(suite, size, categories, drop, number_of(changes, drop))
                    for drop in DROPS
                ]
                red, passed = zip(*shares, strict=True)
                yield name, size, categories, _percents(red), _percents(passed)


def other_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `others`."""
    yield "suite", "items", "`items`", "`rate:5`", "`rate:10`"
    for name, suite in SUITES.items():
        for size in SIZES:
            red = []
            for drop in DROPS:
                count = number_of(changes, drop)
                found = [other_gates(*change) for change in changes_of(suite, size, drop, count)]
                red.append([sum(kinds) / count for kinds in zip(*found, strict=True)])
            yield name, size, *map(_percents, zip(*red, strict=True))


def baseline_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `baselines`."""
    yield "next baseline", "suite", "items", *(f"change {number}" for number in (1, 2, 5, SERIES))
    for rule in RULES:
        for name in ("restless", "hard"):
            red = false_alarms(rule, SUITES[name], 100, changes)
            shown = (red[number - 1] for number in (1, 2, 5, SERIES))
            yield rule, name, 100, *(f"{100 * share:.1f}" for share in shown)


TABLES = {
    "paired": paired_rows,
    "others": other_rows,
    "baselines": baseline_rows,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables as Markdown, in percent; cells with several figures are for `DROPS`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--changes", type=int, default=1000, metavar="N", help="default: 1000")
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help=f"default: all of {', '.join(TABLES)}"
    )
    options = parser.parse_args(argv)
    for name in options.tables or TABLES:
        if name not in TABLES:
            parser.error(f"no table {name}; there are {', '.join(TABLES)}")
        print(f"table {name}", file=sys.stderr)
        for number, row in enumerate(TABLES[name](options.changes)):
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
            if not number:
                left = [":--" if cell in ("suite", "next baseline") else "--:" for cell in row]
                print("| " + " | ".join(left) + " |")
        print()


if __name__ == "__main__":
    main()
