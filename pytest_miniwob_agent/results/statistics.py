"""Statistics of paired results: tests, intervals, power.

The unit is the item. With repeats an item counts once, with the share of its samples that were
solved, so that ten samples of one item never count as ten items. Differences are those of an item's
shares, after minus before, from -1 to 1; with one sample per item they are -1, 0 and 1.

docs/statistics.md gives the reasons for these methods.
"""

from __future__ import annotations

import math
import operator
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import NormalDist

NORMAL = NormalDist()
Z = NORMAL.inv_cdf(0.975)  # for intervals at 95 %

# Units that changed, up to which p-values are exact: the score test is too bold for so few.
FEW = 25

# The number of steps that differences are rounded to if they add up to more, as those of items with
# many different sample counts do. A test of rounded differences is exact as well.
GRID = 5000

# The samples that are drawn of a run's units, with a seed: equal runs have equal intervals.
DRAWS = 1000

POINTS = 161  # of a sum's density, for levels of which two digits hold


def p_worse(differences: Sequence[Fraction]) -> float:
    """The one-sided p-value for a change for the worse: the exact sign-flip test.

    If the change did nothing, each difference was as likely to have the other sign. The p-value is
    the share of all sign patterns whose sum is as low as the observed one. With differences of -1,
    0 and 1 this is the exact McNemar test, a binomial test of the discordant pairs.
    """
    total = sum(map(abs, differences))
    most = max(1, int(GRID / total)) if total else 1
    unit = min(math.lcm(*(difference.denominator for difference in differences)), most)
    steps = [round(difference * unit) for difference in differences]
    sizes = [abs(step) for step in steps if step]
    patterns = [1]  # with each sum of the positive steps
    for size in sizes:
        without, flipped = patterns + [0] * size, [0] * size + patterns
        patterns = list(map(operator.add, without, flipped))
    return float(sum(patterns[: sum(step for step in steps if step > 0) + 1]) / 2 ** len(sizes))


def p_changed(differences: Sequence[Fraction]) -> float:
    """The two-sided p-value of the exact sign-flip test: twice the smaller one-sided one."""
    return min(1.0, 2 * min(p_worse(differences), p_worse([-each for each in differences])))


@dataclass(frozen=True, slots=True)
class Change:
    """The change of the solved rate between two runs of the same items: its test and its interval.

    Both are one method, Tango's score test (Statistics in Medicine 17 (1998), 891-908), which for
    no change is McNemar's, and the interval of the changes that it does not reject. So an interval
    lies below zero exactly if the test shows a change for the worse. Fagerland, Lydersen and
    Laake compare such tests and intervals (BMC Medical Research Methodology 13 (2013), 91;
    Statistics in Medicine 33 (2014), 2850-2875). By task, the test is the exact one.

    Args:
        difference: the rate after minus that before, from -1 to 1; the middle of the interval.
        flips: the chance that a sample of an item before and one after disagree.
        size: the number of independent pairs of samples with the same information.
        exact: the one-sided p-values for the worse and for the better by the exact test, None if
            more than `FEW` items changed. By item they can disagree with the interval.
        by_task: True if several items are of one task, and only tasks are independent.
    """

    difference: float
    flips: float
    size: float
    exact: tuple[float, float] | None = None
    by_task: bool = False

    @classmethod
    def of(
        cls,
        before: Sequence[Fraction],
        after: Sequence[Fraction],
        samples: int,
        units: Sequence[str],
    ) -> Change:
        """The change of the items' shares of solved samples; neither side may be empty.

        `units` name, item by item, what is independent: the items themselves, or their tasks. The
        test's statistic is the sum of the units' changes by the root of the sum of their squares.

        By task, the lost and the gained items of a task count separately, as a task that breaks may
        hide behind its gains, and two tasks are added, one that was lost as a whole and one that
        was gained: few tasks do not show how far others move.
        """
        count = len(before)
        pairs = list(zip(before, after, strict=True))
        lost, gained = defaultdict[str, Fraction](Fraction), defaultdict[str, Fraction](Fraction)
        for unit, (old, new) in zip(units, pairs, strict=True):
            lost[unit] += max(old - new, Fraction(0))
            gained[unit] += max(new - old, Fraction(0))
        net = [gained[unit] - lost[unit] for unit in lost]
        by_task = len(net) < count
        exact = None
        if by_task or sum(each != 0 for each in net) <= FEW:
            exact = p_worse(net), p_worse([-each for each in net])
        if by_task:
            largest = Fraction(max(Counter(units).values()))
            sums = [*lost.values(), *gained.values(), largest, largest]
            count += 2 * int(largest)
            flips, most = sum(sums) / count, count
        else:
            sums, most = net, samples
            flips = sum(old * (1 - new) + new * (1 - old) for old, new in pairs) / count
        squares = sum(each**2 for each in sums)
        size = min(most, float(count**2 * flips / squares)) if squares else count
        return cls(float(sum(net) / count), float(flips), size, exact, by_task)

    def statistic(self, change: float = 0.0) -> float:
        """The test's statistic for a change: standard normal, if that is the true one."""
        lost = (self.flips - self.difference) / 2
        # The likeliest share of lost items, given the change: a root of 2x² + bx + c.
        b, c = (2 - self.difference) * change - self.flips, -lost * change * (1 - change)
        likeliest = (math.sqrt(max(0.0, b * b - 8 * c)) - b) / 4
        variance = 2 * likeliest + change * (1 - change)
        distance = self.difference - change
        return distance * math.sqrt(self.size / variance) if distance and variance > 0 else 0.0

    @property
    def p_worse(self) -> float:
        """The one-sided p-value for a change for the worse, exact if few units changed."""
        return self.exact[0] if self.exact else below(self.statistic())

    @property
    def p_changed(self) -> float:
        """The two-sided p-value, exact if few units changed."""
        if self.exact:
            return min(1.0, 2 * min(self.exact))
        return 2 * below(-abs(self.statistic()))

    def interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """The interval that holds the true change with the chance 1 - alpha."""
        z = NORMAL.inv_cdf(1 - alpha / 2)
        low, high = (
            border(lambda each: abs(self.statistic(each)) >= z, self.difference, end)
            for end in (-1.0, 1.0)
        )
        return low, high

    def fell(self, alpha: float) -> bool:
        """True if a change for the worse is shown, on one side of a test at level alpha."""
        if self.by_task and self.exact:
            return self.exact[0] <= alpha / 2
        return self.interval(alpha)[1] < 0


def below(z: float) -> float:
    """The chance of less than z, also where that of `NORMAL.cdf` is rounded to 0."""
    return math.erfc(-z / math.sqrt(2)) / 2


def border(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return the number between two from which on a condition holds, towards the second one."""
    # Halves the range until floats have no number in between.
    for _ in range(50):
        middle = (inside + outside) / 2
        if holds(middle):
            outside = middle
        else:
            inside = middle
    return outside


def power(items: int, change: float, flips: float) -> float:
    """Return the chance that a change of the solved rate is found (McNemar's test, two-sided, 5 %).

    `flips` is the share of items that differ between the runs.
    R. J. Connor, Biometrics 43 (1987), 207-211.
    """
    flips = max(flips, abs(change))
    spread = math.sqrt(flips - change**2)
    return NORMAL.cdf((abs(change) * math.sqrt(items) - Z * math.sqrt(flips)) / spread)


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, in the given order.

    S. Holm (1979), Scandinavian Journal of Statistics 6, 65-70: if nothing differs, the chance
    that any of them is `alpha` or less is at most `alpha`.
    """
    corrected = [1.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = highest
    return corrected


def wilson(rate: float, size: float) -> tuple[float, float]:
    """Wilson's interval for a rate observed in a sample of `size`, a whole number or not.

    E. B. Wilson (1927), Journal of the American Statistical Association 22, 209-212.
    """
    z2 = Z**2
    middle = (rate + z2 / (2 * size)) / (1 + z2 / size)
    half = math.sqrt(z2 * (rate * (1 - rate) / size + z2 / (4 * size * size))) / (1 + z2 / size)
    return max(0.0, middle - half), min(1.0, middle + half)


def exact_interval(count: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval for a rate of `count` in a sample, which is not too short for any.

    C. J. Clopper and E. S. Pearson (1934), Biometrika 26, 404-413.
    """

    def at_least(least: int, rate: float) -> float:
        return math.fsum(
            math.comb(of, n) * rate**n * (1 - rate) ** (of - n) for n in range(least, of + 1)
        )

    # At zero the search ends at the smallest rate that it tries.
    low = border(lambda rate: at_least(count, rate) >= 0.025, 0.0, 1.0) if count else 0.0
    high = border(lambda rate: 1 - at_least(count + 1, rate) <= 0.025, 0.0, 1.0)
    return low, high


def rate_interval(
    shares: Sequence[Fraction], samples: int, units: Sequence[str]
) -> tuple[float, float]:
    """Wilson's interval for the mean of the items' shares of solved samples.

    Its sample size is the number of independent samples that would carry the same information: the
    number of items if each of them is always or never solved, `samples` if all items are alike.
    `units` name, item by item, what is independent: the items themselves, or their tasks.
    """
    count = len(shares)
    mean = math.fsum(shares) / count
    beyond: dict[str, float] = defaultdict(float)
    for unit, share in zip(units, shares, strict=True):
        beyond[unit] += share - mean
    if not 0 < mean < 1:
        return wilson(round(mean), len(beyond))
    squares = math.fsum(each**2 for each in beyond.values())
    size = count**2 * mean * (1 - mean) / squares if squares else samples
    if len(beyond) == 1 < count:  # a single task says nothing about others
        size = 1
    return wilson(mean, min(samples, size))


def ratio_interval(
    before: Sequence[float], after: Sequence[float], alpha: float = 0.05
) -> tuple[float, float]:
    """The interval at level 1 - alpha of the ratio of two sums, by the bootstrap percentiles.

    Of fewer than ten units it is the range of their ratios, in which that of the sums must lie.
    B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
    """
    pairs = list(zip(before, after, strict=True))
    draw = random.Random(0)
    samples = [draw.choices(pairs, k=len(pairs)) for _ in range(DRAWS)]
    if len(pairs) < 10:
        samples = [[pair] for pair in pairs]
    ratios = sorted(ratio(*map(math.fsum, zip(*sample, strict=True))) for sample in samples)
    outside = int(len(ratios) * alpha / 2)
    return ratios[outside], ratios[-1 - outside]


def ratio(before: float, after: float) -> float:
    """Return how many times as much there is after; nothing twice is as much."""
    # Rounded, so that 1.1 is 10 % more than 1, and not a little beyond that.
    return round(after / before, 9) if before else math.inf if after else 1.0


def p_together(changes: Sequence[Fraction], tasks: Sequence[str]) -> float:
    """The p-value for items of a task that change in the same direction, by a permutation test.

    The statistic is the sum of the squares of the tasks' changes. What the changed items came to is
    shuffled among them, so that a task whose items are often lost or gained is no evidence.
    P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses (2005), chapter 3.
    """
    moved = [(task, float(each)) for task, each in zip(tasks, changes, strict=True) if each]

    def squares(values: Sequence[float]) -> float:
        sums: dict[str, float] = defaultdict(float)
        for (task, _), value in zip(moved, values, strict=True):
            sums[task] += value
        return math.fsum(each**2 for each in sums.values())

    values, draw = [value for _, value in moved], random.Random(0)
    observed = squares(values) - 1e-9
    as_far = sum(squares(draw.sample(values, len(values))) >= observed for _ in range(DRAWS))
    return (1 + as_far) / (1 + DRAWS)


def pass_at(k: int, samples: int, solved: int) -> float:
    """pass@k: the chance that one of k samples of an item is solved (Chen et al., 2021).

    The unbiased estimate from `solved` of `samples`; `samples` must be at least k.
    """
    return 1 - math.comb(samples - solved, k) / math.comb(samples, k)


def pass_all(k: int, samples: int, solved: int) -> float:
    """pass^k: the chance that all of k samples of an item are solved (Yao et al., 2024)."""
    return math.comb(solved, k) / math.comb(samples, k)


def flip_rate(samples: int, solved: int) -> float:
    """The chance that two samples of an item disagree; `samples` must be at least 2."""
    return solved * (samples - solved) / math.comb(samples, 2)


@cache
def levels_at_looks(shares: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """The one-sided levels of tests that look at growing data, which together reject in `alpha`.

    `shares` are those of all data that each look sees, up to 1. `alpha` is spent with the square of
    the share, so that the last look has a level not far below it: K. Kim and D. L. DeMets,
    Biometrika 74 (1987), 149-154. The recursion is that of P. Armitage, C. K. McPherson and B. C.
    Rowe, JRSS A 132 (1969), 235-244, over the sums of looks that have not rejected.
    """
    levels: list[float] = []
    sums, density, seen = [0.0], [1.0], 0.0
    for share in shares:
        root, variance = math.sqrt(share), share - seen
        width = 12 * root / (POINTS - 1)  # from -6 to 6 standard deviations of the sum
        points = [-6 * root + width * number for number in range(POINTS)]
        scale = width * NORMAL.pdf(0) / math.sqrt(variance)
        found = [
            scale
            * math.fsum(
                chance * math.exp(-((point - before) ** 2) / (2 * variance))
                for before, chance in zip(sums, density, strict=True)
            )
            for point in points
        ]
        left, place = alpha * (share**2 - seen**2), POINTS - 1
        while found[place] < left:
            left -= found[place]
            place -= 1
        bound = points[place] + width * (0.5 - left / found[place])
        levels.append(below(-bound / root))
        sums, density, seen = points[: place + 1], found[: place + 1], share
        density[-1] -= left
    return tuple(levels)
