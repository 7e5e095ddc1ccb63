"""Statistics of paired results: tests, intervals, power.

The unit is the item. With repeats an item counts once, with the share of its samples that were
solved, so that ten samples of one item never count as ten items. Differences are those of an item's
shares, after minus before, from -1 to 1; with one sample per item they are -1, 0 and 1.

docs/statistics.md gives the reasons for these methods.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist, median

NORMAL = NormalDist()
Z = NORMAL.inv_cdf(0.975)  # for intervals at 95 %

# Units that changed, up to which p-values are exact: the score test is too bold for so few.
FEW = 25

# The number of steps that differences are rounded to if they add up to more, as those of items with
# many different sample counts do. A test of rounded differences is exact as well.
GRID = 5000


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
    Statistics in Medicine 33 (2014), 2850-2875).

    Args:
        difference: the rate after minus that before, from -1 to 1.
        flips: the chance that a sample of an item before and one after disagree.
        size: the number of independent pairs of samples with the same information.
        exact: the one-sided p-values for the worse and for the better by the exact test, None if
            more than `FEW` units changed. They can disagree with the interval.
    """

    difference: float
    flips: float
    size: float
    exact: tuple[float, float] | None = None

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
        Of tasks there are few, so that the test is no bolder than `p_worse` of their changes.
        """
        count = len(before)
        pairs = list(zip(before, after, strict=True))
        flips = float(sum(old * (1 - new) + new * (1 - old) for old, new in pairs)) / count
        sums: dict[str, Fraction] = defaultdict(Fraction)
        for unit, (old, new) in zip(units, pairs, strict=True):
            sums[unit] += new - old
        squares = sum(each**2 for each in sums.values())
        whole = sum(sums.values())
        size = min(samples, count**2 * flips / float(squares)) if squares else len(sums)
        few = sum(each != 0 for each in sums.values()) <= FEW
        exact = None
        if few or len(sums) < count:
            exact = p_worse(list(sums.values())), p_worse([-each for each in sums.values()])
        if exact and whole and len(sums) < count:
            # There is no quantile of 0.
            z = NORMAL.inv_cdf(min(max(min(exact), 1e-300), 0.5))
            size = max(1.0, min(size, flips * (z * count / float(whole)) ** 2))
        return cls(float(whole) / count, flips, float(size), exact if few else None)

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

    def decides(self, margin: float, alpha: float) -> bool:
        """True if the interval lies below zero, or above a loss of `margin`."""
        low, high = self.interval(alpha)
        return high < 0 or low > -margin

    def deciding_share(self, margin: float, alpha: float) -> float:
        """How many times the items decide, if further ones change as these: from 1."""
        times = 1.0
        while not replace(self, size=self.size * times).decides(margin, alpha):
            times *= 2
        return border(
            lambda each: replace(self, size=self.size * each).decides(margin, alpha),
            times / 2,
            times,
        )


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

    low = border(lambda rate: at_least(count, rate) >= 0.025, 0.0, 1.0)
    high = border(lambda rate: 1 - at_least(count + 1, rate) <= 0.025, 0.0, 1.0)
    return low, high


def rate_interval(shares: Sequence[Fraction], samples: int) -> tuple[float, float]:
    """Wilson's interval for the mean of the items' shares of solved samples.

    Its sample size is the number of independent samples that would carry the same information: the
    number of items if each of them is always or never solved, `samples` if all items are alike.
    """
    count = len(shares)
    mean = math.fsum(shares) / count
    if not 0 < mean < 1:
        return wilson(round(mean), count)
    spread = math.fsum((share - mean) ** 2 for share in shares) / count
    return wilson(mean, min(samples, count * mean * (1 - mean) / spread) if spread else samples)


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median of paired differences, and its 95 % interval: two of the values in their order.

    It is the interval of the sign test (H. A. David and H. N. Nagaraja, Order Statistics, 7.1). Of
    five values or fewer it is their range, which may hold the median less often.
    """
    ordered, count = sorted(values), len(values)
    tail, inside = 0.5**count, 0  # the chance that the median lies outside of the values left
    while 2 * tail <= 0.05:
        inside += 1
        tail += math.comb(count, inside) * 0.5**count
    outermost = max(0, inside - 1)
    return median(ordered), ordered[outermost], ordered[count - 1 - outermost]


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
