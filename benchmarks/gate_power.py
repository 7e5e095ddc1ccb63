"""How often the gates decide which way, by simulation: the figures of docs/statistics.md.

    python benchmarks/gate_power.py [--changes 2000] [TABLE ...]

An item is solved with a chance of its own. Baseline and changed run are drawn from the chances
independently, so that a change that does nothing flips items all the same: 5 % of them in a calm
suite, 17 % in a restless one, 50 % in a hard one. In calm and restless suites the chances are drawn
from a beta distribution with mean 0.85; most items are solved almost always or almost never. In a
hard suite every chance is 0.5. A change that costs d points lowers all chances by the same share,
or breaks as many whole tasks.

Cells with several figures are for a change that costs 0, 5, 10 and 20 points, in percent.

The gates are decided as `results.gate` does it, but for all changes at once, from arrays, which is
much faster; `tests/results/test_gate_power.py` checks that both decide alike.
Seeds are fixed: every run of this script prints the same figures.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_miniwob_agent.results.gate import ALIKE, MARGIN, Gate
from pytest_miniwob_agent.results.rounds import LEAST_ITEMS, LEAST_TASKS, ROUNDS, Look
from pytest_miniwob_agent.results.statistics import p_together, p_worse, ratio_interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Runs = NDArray[np.bool_]
"""Of each change a row, with a row for each item, with True for each sample that is solved."""

Level = Callable[[float], float]
"""The level at which a look judges, by that of all looks."""

ALPHA = Gate("paired").alpha
DROPS = (0, 5, 10, 20)
SIZES = (40, 80, 120, 300)
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
        tasks: how far a task's seeds move together by chance in each run: the standard deviation of
            what is added to the logits of their chances.
        by_task: judge by task.
        seeds: seeds per task.
        breaks: True if a change breaks whole tasks.
    """

    rate: float
    flips: float
    samples: int = 1
    tasks: float = 0.0
    by_task: bool = False
    seeds: int = SEEDS
    breaks: bool = False

    def chances(self, draw: np.random.Generator, count: int, size: int) -> Floats:
        """The chance of each item, for each change."""
        # Two samples of an item differ with the chance 2·E[p(1-p)] = 2·rate·(1-rate)·k / (k + 1).
        most = 2 * self.rate * (1 - self.rate)
        if self.flips >= most:
            return np.full((count, size), self.rate)
        k = self.flips / (most - self.flips)
        return draw.beta(self.rate * k, (1 - self.rate) * k, (count, size))

    def moved(self, draw: np.random.Generator, chances: Floats) -> Floats:
        """The chances in one run, in which tasks have moved."""
        if not self.tasks:
            return chances
        count, size = chances.shape
        shift = draw.normal(0, self.tasks, (count, -(-size // self.seeds)))
        odds = chances / np.maximum(1 - chances, 1e-12)
        odds = odds * np.exp(np.repeat(shift, self.seeds, axis=1)[:, :size])
        return odds / (1 + odds)


SUITES = {
    "calm": Suite(0.85, 0.05),
    "restless": Suite(0.85, 0.17),
    "hard": Suite(0.5, 0.5),
    "restless, 3 samples": Suite(0.85, 0.17, 3),
    "restless, by task": Suite(0.85, 0.17, by_task=True),
    "tasks move by 1, by item": Suite(0.85, 0.17, 1, 1.0),
    "tasks move by 1, by task": Suite(0.85, 0.17, 1, 1.0, by_task=True),
}


def generator(*names: object) -> np.random.Generator:
    """A random generator that is the same for the same names."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def run(draw: np.random.Generator, chances: Floats, samples: int) -> Runs:
    """One run, for each change, over a suite whose items are solved with these chances."""
    return draw.random((*chances.shape, samples)) < chances[..., None]


def changes_of(suite: Suite, size: int, drop: float, count: int) -> tuple[Runs, Runs]:
    """Runs before and after each of `count` changes that cost `drop` points."""
    draw = generator(suite, size, drop)
    chances = suite.chances(draw, count, size)
    before = run(draw, suite.moved(draw, chances), suite.samples)
    lost, after = drop / 100 / suite.rate, suite.moved(draw, chances)
    if suite.breaks:
        broken = draw.random((count, -(-size // suite.seeds))) < lost
        after = after * ~np.repeat(broken, suite.seeds, axis=1)[:, :size]
    else:
        after = after * max(0.0, 1 - lost)
    return before, run(draw, after, suite.samples)


def category_of(size: int, categories: int) -> NDArray[np.int64]:
    """The category of each item; of three, the sizes are as in the paper, 10 : 20 : 13."""
    spread = np.arange(categories) if categories != 3 else np.repeat([0, 1, 2], [10, 20, 13])
    return np.resize(generator(categories).permutation(spread), size)


@dataclass(frozen=True)
class Changes:
    """`results.statistics.Change` of the same items, for many changes at once.

    Args:
        difference, flips, size: those of each change.
        exact: the sums of tasks, of which the exact test is made; None by item.
    """

    difference: Floats
    flips: Floats
    size: Floats
    exact: Floats | None = None

    @classmethod
    def of(cls, before: Runs, after: Runs, names: Sequence[str]) -> Changes:
        old, new = before.mean(2), after.mean(2)
        moves, count = new - old, len(names)
        units = sorted({*names})
        if len(units) == count:
            flips = (old * (1 - new) + new * (1 - old)).sum(1) / count
            squares = (moves**2).sum(1)
            size = np.minimum(before[0].size, count**2 * flips / np.maximum(squares, 1e-12))
            return cls(moves.sum(1) / count, flips, np.where(squares > 0, size, count))
        member = np.array([[name == unit for unit in units] for name in names], float)
        lost, gained = np.maximum(-moves, 0) @ member, np.maximum(moves, 0) @ member
        largest = member.sum(0).max()
        whole = count + 2 * largest
        flips = (lost.sum(1) + gained.sum(1) + 2 * largest) / whole
        squares = (lost**2).sum(1) + (gained**2).sum(1) + 2 * largest**2
        size = np.minimum(whole, whole**2 * flips / squares)
        return cls(moves.sum(1) / whole, flips, size, gained - lost)

    def statistic(self, change: float) -> Floats:
        """Tango's statistic for a true change."""
        lost = (self.flips - self.difference) / 2
        b, c = (2 - self.difference) * change - self.flips, -lost * change * (1 - change)
        likeliest = (np.sqrt(np.maximum(0.0, b * b - 8 * c)) - b) / 4
        variance = 2 * likeliest + change * (1 - change)
        distance = self.difference - change
        found = distance * np.sqrt(self.size / np.maximum(variance, 1e-12))
        return np.where(variance > 1e-12, found, 0.0)

    def fell(self, level: float) -> Bools:
        """Whether a fall is shown."""
        if self.exact is None:
            return self.statistic(0.0) <= -NormalDist().inv_cdf(1 - level / 2)
        return np.array([whole_tasks(tuple(row)) <= level / 2 for row in self.exact.tolist()])

    def ruled_out(self, level: float) -> Bools:
        """Whether a loss of the margin is ruled out."""
        return self.statistic(-float(MARGIN)) >= NormalDist().inv_cdf(1 - level / 2)


def whole_tasks(sums: tuple[float, ...]) -> float:
    """The exact one-sided p-value of the changes of whole tasks."""
    # With tasks of eight items or fewer, p is not below 0.025 nearer to zero.
    if sum(sums) > -1.2 * math.hypot(*sums) or not any(sums):
        return 1.0
    return p_worse([Fraction(each).limit_denominator(60) for each in sums])


def names_of(suite: Suite, categories: NDArray[np.int64]) -> list[str]:
    """What is independent, item by item: the item, or the task."""
    unit = suite.seeds if suite.by_task else 1
    return [f"{category}/{item // unit}" for item, category in enumerate(categories)]


def paired(
    suite: Suite, before: Runs, after: Runs, categories: NDArray[np.int64], level: Level = float
) -> tuple[Bools, Bools]:
    """The decisions of the gate `paired`: whether a fall is shown, and whether it is ruled out."""
    whole, parts = by_category(suite, before, after, categories, level)
    fell = whole.fell(level(ALPHA)) | np.any(parts, axis=0)
    return fell, ~fell & whole.ruled_out(level(ALPHA))


def by_category(
    suite: Suite, before: Runs, after: Runs, categories: NDArray[np.int64], level: Level = float
) -> tuple[Changes, Bools]:
    """The changes over the whole, and whether a fall is shown in each category, if several."""
    names = names_of(suite, categories)
    kinds = np.unique(categories)
    parts = [
        Changes.of(
            before[:, categories == kind],
            after[:, categories == kind],
            [name for name, each in zip(names, categories, strict=True) if each == kind],
        ).fell(level(ALPHA / len(kinds)))
        for kind in (kinds if len(kinds) > 1 else ())
    ]
    none = np.zeros((1, len(before)), bool)
    return Changes.of(before, after, names), np.array(parts) if parts else none


def ends_of(suite: Suite, size: int) -> list[int]:
    """The number of items that each look of the gate `until-decided` sees."""
    unit = suite.seeds if suite.by_task else 1
    units = -(-size // unit)
    count = max(1, min(ROUNDS, units // (LEAST_TASKS if suite.by_task else LEAST_ITEMS)))
    return [min(size, unit * -(-units * number // count)) for number in range(1, count + 1)]


Decided = tuple[Bools, Bools, Floats]
"""Whether a fall is shown, whether it is ruled out, and the number of items until then."""


def until_decided(
    suite: Suite, before: Runs, after: Runs, categories: NDArray[np.int64]
) -> Decided:
    """The decisions of the gate `until-decided`."""
    ends = ends_of(suite, before.shape[1])
    shares = tuple(end / ends[-1] for end in ends)
    looks = []
    for number, end in enumerate(ends, start=1):
        level = Look(shares, number).level
        seen = before[:, :end], after[:, :end], categories[:end]
        looks.append((end, *paired(suite, *seen, level)))
    return first_decision(looks, len(before))


def first_decision(looks: Sequence[tuple[int, Bools, Bools]], count: int) -> Decided:
    """What the first look that decides has found, for each change."""
    red, passed = np.zeros(count, bool), np.zeros(count, bool)
    items = np.full(count, float(looks[-1][0]))
    for end, fell, out in looks:
        open_ = ~(red | passed)
        items[open_ & (fell | out)] = end
        red, passed = red | (open_ & fell), passed | (open_ & out)
    return red, passed, items


def bets(before: Runs, after: Runs, ends: Sequence[int]) -> Decided:
    """The decisions of two e-processes at the same looks, in place of `until-decided`.

    One bets on losses against gains, the other against a mean loss of the margin, each with a
    mixture of twenty stakes: I. Waudby-Smith and A. Ramdas, JRSS B 86 (2024), 1-27.
    """
    moves = after[..., 0].astype(float) - before[..., 0]
    margin, stakes = float(MARGIN), np.linspace(0.05, 1, 20) * 0.999
    sides = [
        [np.cumsum(np.log1p(stake * gain), 1) for stake in stakes]
        for gain in (-moves, (moves + margin) / (1 - margin))
    ]
    wealth = [np.logaddexp.reduce(np.array(side), 0) - math.log(len(stakes)) for side in sides]
    enough = -math.log(ALPHA / 2)
    looks = [(end, *(side[:, end - 1] >= enough for side in wealth)) for end in ends]
    return first_decision([(end, fell, out & ~fell) for end, fell, out in looks], len(moves))


def other_gates(before: Runs, after: Runs) -> tuple[Bools, Bools, Bools]:
    """The decisions of the other gates: whether `items`, `rate:5` and `rate:10` are red."""
    lost = ((before.mean(2) > 0.5) & (after.mean(2) <= 0.5)).any(1)
    fell = before.sum((1, 2)) - after.sum((1, 2))
    return lost, 20 * fell > before[0].size, 10 * fell > before[0].size


def paired_shares(
    suite: Suite, size: int, categories: int, drop: float, count: int
) -> tuple[float, float]:
    """The shares of changes for which `paired` is red, and for which it passes."""
    red, passed = paired(
        suite, *changes_of(suite, size, drop, count), category_of(size, categories)
    )
    return float(red.mean()), float(passed.mean())


Rule = Callable[[Runs, Runs, Bools], Bools]

RULES: dict[str, Rule] = {
    "never": lambda baseline, head, red: np.zeros(len(red), bool),
    "the run of each change that is kept, whatever it shows": lambda baseline, head, red: ~red,
    "each run that came out better": lambda baseline, head, red: (
        head.sum((1, 2)) > baseline.sum((1, 2))
    ),
}
"""Rules by which a run becomes the next baseline."""


def false_alarms(rule: str, suite: Suite, size: int, count: int) -> list[float]:
    """The shares of red verdicts on each of `SERIES` changes that do nothing, one after the other.

    The baseline of each is that which the rule has left.
    """
    draw, spread = generator(suite, size), category_of(size, 3)
    chances = suite.chances(draw, count, size)
    baseline, red = run(draw, chances, suite.samples), []
    for _ in range(SERIES):
        head = run(draw, chances, suite.samples)
        failed, _ = paired(suite, baseline, head, spread)
        red.append(float(failed.mean()))
        baseline = np.where(RULES[rule](baseline, head, failed)[:, None, None], head, baseline)
    return red


def _percents(shares: Iterable[Any]) -> str:
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def paired_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `paired`: both gates of pairs, with three categories."""
    yield "suite", "items", "red", "passed", "until decided: red", "passed", "mean items"
    for name, suite in SUITES.items():
        for size in SIZES:
            spread = category_of(size, 3)
            columns: list[list[float]] = []
            for drop in DROPS:
                runs = changes_of(suite, size, drop, changes)
                found = [*paired(suite, *runs, spread), *until_decided(suite, *runs, spread)]
                columns.append([float(each.mean()) for each in found])
            *shares, items = zip(*columns, strict=True)
            yield name, size, *map(_percents, shares), " / ".join(f"{one:.0f}" for one in items)


def sequential_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `sequential`: the fixed gate, that of rounds, and e-processes."""
    yield "suite", "items", "method", "red", "passed", "mean items"
    for name in ("calm", "restless", "hard"):
        suite = SUITES[name]
        for size in SIZES[1:]:
            one, ends = category_of(size, 1), ends_of(suite, size)
            found: dict[str, list[list[float]]] = {}
            for drop in DROPS:
                runs = changes_of(suite, size, drop, changes)
                fixed = *paired(suite, *runs, one), np.array([float(size)])
                methods = {
                    "fixed": fixed,
                    "rounds": until_decided(suite, *runs, one),
                    "bets": bets(*runs, ends),
                }
                for method, decided in methods.items():
                    means = [float(each.mean()) for each in decided]
                    found.setdefault(method, []).append(means)
            for method, columns in found.items():
                red, passed, items = zip(*columns, strict=True)
                shown = " / ".join(f"{each:.0f}" for each in items)
                yield name, size, method, _percents(red), _percents(passed), shown


def extended_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `extended`: false alarms if undecided suites get twice the items, once."""
    yield "suite", "items", "red", "red after both"
    for name in ("calm", "restless", "hard"):
        suite = SUITES[name]
        for size in SIZES[:3]:
            before, after = changes_of(suite, 2 * size, 0, changes)
            spread = category_of(2 * size, 3)
            first = until_decided(suite, before[:, :size], after[:, :size], spread[:size])
            second, _, _ = until_decided(suite, before, after, spread)
            both = first[0] | (~first[1] & second)
            yield name, size, _percents([first[0].mean()]), _percents([both.mean()])


def proposed(suite: Suite, before: Runs, after: Runs) -> Bools:
    """Whether a loss is ruled out by the score interval of the net changes of whole tasks."""
    size = before.shape[1]
    moves = after[..., 0].astype(float) - before[..., 0]
    net = moves.reshape(len(moves), -1, suite.seeds).sum(2)
    flips, squares = np.abs(moves).mean(1), (net**2).sum(1)
    units = np.minimum(size, size**2 * flips / np.maximum(squares, 1e-12))
    units = np.where(squares > 0, units, size / suite.seeds)
    return Changes(moves.mean(1), flips, units).ruled_out(ALPHA)


def task_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `tasks`: how often a loss passes by task, of items or of whole tasks."""
    yield "tasks", "seeds", "change", "red", "passed", "passed by net changes alone"
    for tasks, seeds in ((6, 3), (10, 3), (20, 3), (43, 3), (80, 3), (10, 8), (80, 5)):
        for what, drop, breaks in (("none", 0, False), ("items", 10, False), ("tasks", 10, True)):
            suite = Suite(0.85, 0.17, by_task=True, seeds=seeds, breaks=breaks)
            runs = changes_of(suite, tasks * seeds, drop, changes)
            red, passed = paired(suite, *runs, category_of(tasks * seeds, 1))
            net = proposed(suite, *runs) & ~red
            yield tasks, seeds, what, *(_percents([each.mean()]) for each in (red, passed, net))


def moving_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `moving`: tasks that move by chance, false alarms, and the note of it."""
    yield "tasks move by", "items", "red by item", "red by task", "noted"
    for moves in (0.0, 1.0, 2.0):
        for size in SIZES:
            suites = [Suite(0.85, 0.17, 1, moves, by_task=by_task) for by_task in (False, True)]
            red = [paired_shares(suite, size, 3, 0, changes)[0] for suite in suites]
            before, after = changes_of(suites[0], size, 0, changes // 4)
            names = [str(item // SEEDS) for item in range(size)]
            noted = [
                p_together([Fraction(int(move)) for move in row], names) <= ALIKE
                for row in (after[..., 0].astype(int) - before[..., 0]).tolist()
            ]
            yield moves, size, *(_percents([each]) for each in (*red, np.mean(noted)))


def category_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `categories`: false alarms of the whole, of any category, and of both."""
    yield "suite", "items", "categories", "whole", "a category", "either", "a wrong category"
    for name in ("calm", "restless", "hard"):
        suite = SUITES[name]
        for size in SIZES[1:]:
            for count in (3, 6):
                spread = category_of(size, count)
                before, after = changes_of(suite, size, 0, changes)
                whole, parts = by_category(suite, before, after, spread)
                fell, any_ = whole.fell(ALPHA), parts.any(0)
                broken = after & ~((spread == 0)[None, :, None] & (after.cumsum(1) % 2 == 0))
                _, named = by_category(suite, before, broken, spread)
                figures = fell, any_, fell | any_, named[1:].any(0)
                yield name, size, count, *(_percents([each.mean()]) for each in figures)


def limit_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `limits`: how often the interval of a ratio of sums lies off the truth."""
    yield "items", "spread of items", "above", "below"
    for size in (6, 20, *SIZES):
        for spread in (0.5, 1.0):
            draw, off = random.Random(repr((size, spread))), [0, 0]
            count = changes // 4
            for _ in range(count):
                before = [draw.lognormvariate(0, spread) for _ in range(size)]
                after = [each * draw.lognormvariate(-0.045, 0.3) for each in before]
                low, high = ratio_interval(before, after)
                off[0], off[1] = off[0] + (low > 1), off[1] + (high < 1)
            yield size, spread, *(_percents([each / count]) for each in off)


def other_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `others`."""
    yield "suite", "items", "`items`", "`rate:5`", "`rate:10`"
    for name, suite in SUITES.items():
        for size in SIZES:
            runs = [changes_of(suite, size, drop, changes) for drop in DROPS]
            red = zip(*([each.mean() for each in other_gates(*one)] for one in runs), strict=True)
            yield name, size, *map(_percents, red)


def baseline_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `baselines`."""
    yield "next baseline", "suite", "items", *(f"change {number}" for number in (1, 2, 5, SERIES))
    for rule in RULES:
        for name in ("restless", "hard"):
            red = false_alarms(rule, SUITES[name], 120, changes)
            shown = (red[number - 1] for number in (1, 2, 5, SERIES))
            yield rule, name, 120, *(f"{100 * share:.1f}" for share in shown)


TABLES = {
    "paired": paired_rows,
    "sequential": sequential_rows,
    "extended": extended_rows,
    "tasks": task_rows,
    "moving": moving_rows,
    "categories": category_rows,
    "limits": limit_rows,
    "others": other_rows,
    "baselines": baseline_rows,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables as Markdown, in percent; cells with several figures are for `DROPS`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--changes", type=int, default=2000, metavar="N", help="default: 2000")
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help=f"default: all of {', '.join(TABLES)}"
    )
    options = parser.parse_args(argv)
    say = partial(print, flush=True)
    for name in options.tables or TABLES:
        if name not in TABLES:
            parser.error(f"no table {name}; there are {', '.join(TABLES)}")
        print(f"table {name}", file=sys.stderr)
        for number, row in enumerate(TABLES[name](options.changes)):
            say("| " + " | ".join(map(str, row)) + " |")
            if not number:
                left = [":--" if cell in ("suite", "next baseline") else "--:" for cell in row]
                say("| " + " | ".join(left) + " |")
        say()


if __name__ == "__main__":
    main()
