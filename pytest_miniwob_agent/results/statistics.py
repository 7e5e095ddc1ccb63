"""Statistics of paired results: tests, intervals, power.

The unit is the item. With repeats an item counts once, with the share of its samples that were
solved, so that ten samples of one item never count as ten items. Differences are those of an item's
shares, after minus before, from -1 to 1; with one sample an item they are -1, 0 and 1.

docs/statistics.md gives the reasons for these methods. SciPy is imported only when a function needs
it, since that takes half a second.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction

RESOLUTION = 5040
"""Differences are rounded to multiples of 1/5040 if items have many different sample counts."""


def p_worse(differences: Sequence[Fraction]) -> float:
    """The one-sided p-value for a change for the worse: the exact sign-flip test.

    If the change did nothing, each item's difference was as likely to have the other sign. The
    p-value is the share of all sign patterns whose sum is as low as the observed one. With one
    sample an item this is the exact McNemar test, a binomial test of the discordant pairs.
    """
    moved = [each for each in differences if each]
    if not moved:
        return 1.0
    if len({abs(each) for each in moved}) == 1:
        from scipy.stats import binomtest

        lost = sum(each < 0 for each in moved)
        return float(binomtest(lost, len(moved), alternative="greater").pvalue)
    return _sign_flips(moved)


def _sign_flips(moved: Sequence[Fraction]) -> float:
    """The p-value from the distribution of the sum over all sign patterns, built item by item."""
    import numpy as np

    unit = min(math.lcm(*(each.denominator for each in moved)), RESOLUTION)
    steps = [round(each * unit) for each in moved]
    total = sum(map(abs, steps))
    # Entry k is the chance that the positive differences add up to k.
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for size in map(abs, steps):
        flipped = np.zeros_like(chance)
        flipped[size:] = chance[: len(chance) - size]
        chance = (chance + flipped) / 2
    gained = sum(step for step in steps if step > 0)
    return min(1.0, float(chance[: gained + 1].sum()))


def p_changed(differences: Sequence[Fraction]) -> float:
    """The two-sided p-value of the sign-flip test: twice the smaller tail, at most 1."""
    return min(1.0, 2 * min(p_worse(differences), p_worse([-each for each in differences])))


def matched_chi_square(differences: Sequence[Fraction]) -> float:
    """One-tailed p-value for an improvement by McNemar's chi-square, without a correction.

    The normal approximation of the exact test, as the reflective agent's paper uses it (table 13).
    1 where nothing changed.
    """
    from scipy.stats import norm

    squares = sum(each * each for each in differences)
    return float(norm.sf(float(sum(differences)) / math.sqrt(squares))) if squares else 1.0


def paired_t(differences: Sequence[Fraction]) -> float:
    """Two-sided p-value of the paired t-test (the paper's table 7); 1 where nothing changed."""
    from scipy.stats import ttest_1samp

    if len(set(differences)) < 2:
        return 1.0 if not any(differences) else 0.0
    return float(ttest_1samp([float(each) for each in differences], 0.0).pvalue)


def wilson(rate: float, size: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a rate observed in a sample of `size`.

    E. B. Wilson (1927), Journal of the American Statistical Association 22, 209-212. `size` need
    not be a whole number: see `rate_interval`.
    """
    from scipy.stats import norm

    z2 = float(norm.ppf((1 + level) / 2)) ** 2
    middle = (rate + z2 / (2 * size)) / (1 + z2 / size)
    half = math.sqrt(z2 * (rate * (1 - rate) / size + z2 / (4 * size * size))) / (1 + z2 / size)
    return max(0.0, middle - half), min(1.0, middle + half)


def rate_interval(shares: Sequence[float], samples: int) -> tuple[float, float]:
    """Wilson's interval for the mean of the items' shares of solved samples.

    Its sample size is the number of independent samples that would carry the same information: the
    number of items if each of them is always or never solved, `samples` if all items are alike.
    """
    count = len(shares)
    mean = math.fsum(shares) / count
    if not 0 < mean < 1:
        return wilson(round(mean), count)
    spread = statistics.pvariance(shares, mean)
    return wilson(mean, min(samples, count * mean * (1 - mean) / spread) if spread else samples)


def difference_interval(
    before: Sequence[float], after: Sequence[float], samples: tuple[int, int]
) -> tuple[float, float]:
    """The 95 % interval for the difference of the two mean shares of the same items.

    Newcombe's method 10 (Statistics in Medicine 17 (1998), 2635-2650): the two rates' intervals,
    squared and added, minus the covariance of the pairs. With repeats, the intervals are those of
    `rate_interval` and the correlation is that of the items' shares. `samples` are the numbers of
    samples before and after.
    """
    count = len(before)
    rate1, rate2 = math.fsum(before) / count, math.fsum(after) / count
    low1, high1 = rate_interval(before, samples[0])
    low2, high2 = rate_interval(after, samples[1])
    common = math.fsum(x * y for x, y in zip(before, after, strict=True)) / count - rate1 * rate2
    if common > 0:  # Newcombe's correction for small samples
        common = max(common - 0.5 / count, 0.0)
    spread = statistics.pvariance(before, rate1) * statistics.pvariance(after, rate2)
    phi = common / math.sqrt(spread) if spread else 0.0
    change = rate2 - rate1

    def reach(near: float, far: float) -> float:
        return math.sqrt(max(0.0, near * near - 2 * phi * near * far + far * far))

    low = change - reach(rate2 - low2, high1 - rate1)
    high = change + reach(high2 - rate2, rate1 - low1)
    return max(-1.0, low), min(1.0, high)


def holm(values: Sequence[float]) -> list[float]:
    """Correct the p-values of a family of tests by Holm's method (1979); keep their order."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected = [0.0] * len(values)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = least
    return corrected


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


def fewest_changes(alpha: float) -> int:
    """Number of items that must change, all for the worse, before a p-value can reach alpha."""
    return math.ceil(math.log2(1 / alpha) - 1e-9)


def needed_items(drop: float, moved: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Approximate number of items that the one-sided paired test needs to show a drop.

    R. J. Connor (1987), Biometrics 43, 207-211.

    Args:
        drop: the drop of the rate to detect, above 0.
        moved: the mean square of the items' differences: with one sample an item, the share of the
            items that change, either way. Taken as `drop` if it is smaller.
        alpha: the level of the test.
        power: the chance of detecting the drop.
    """
    from scipy.stats import norm

    moved = max(drop, moved)
    reach = float(
        norm.ppf(1 - alpha) * math.sqrt(moved) + norm.ppf(power) * math.sqrt(moved - drop**2)
    )
    return max(math.ceil((reach / drop) ** 2), math.ceil(fewest_changes(alpha) / moved))


def drop_by_chance(items: int, flips: float, risk: float) -> float:
    """The drop of the rate that chance alone exceeds with probability `risk`, approximately.

    `flips` is the share of items whose outcomes differ between two equal runs.
    """
    from scipy.stats import norm

    return float(norm.ppf(1 - risk)) * math.sqrt(flips / items)
