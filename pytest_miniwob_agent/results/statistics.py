"""Statistics of paired results: tests, intervals, power.

The unit is the item. With repeats an item counts once, with the share of its samples that were
solved, so that ten samples of one item never count as ten items. Differences are those of an item's
shares, after minus before, from -1 to 1; with one sample per item they are -1, 0 and 1.

docs/statistics.md gives the reasons for these methods. NumPy and SciPy are imported where they are
needed, as that takes half a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from statistics import NormalDist
from typing import Any

NORMAL = NormalDist()
Z = NORMAL.inv_cdf(0.975)  # for intervals at 95 %
Z_POWER = NORMAL.inv_cdf(0.8)  # the chance with which a number of items is to decide

# The number of steps that differences are rounded to if they add up to more, as those of items with
# many different sample counts do. A test of rounded differences is exact as well.
GRID = 5000


def p_worse(differences: Sequence[Fraction]) -> float:
    """The one-sided p-value for a change for the worse: the exact sign-flip test.

    If the change did nothing, each item's difference was as likely to have the other sign. The
    p-value is the share of all sign patterns whose sum is as low as the observed one. With one
    sample per item this is the exact McNemar test, a binomial test of the discordant pairs.
    """
    return p_worse_anywhere([differences])[0]


def p_worse_anywhere(parts: Sequence[Sequence[Fraction]]) -> list[float]:
    """The p-values for a change for the worse over all parts together, and in each part.

    They are corrected so that the smallest of them is the p-value of the whole family: with no
    change, the chance that any of them is `alpha` or less is at most `alpha`. The whole is weighed
    as much as all parts together. The correction is exact (Westfall and Young, 1993, with all sign
    patterns in the place of resampling): a p-value is the share of all patterns of signs for which
    the smallest weighted p-value of the family is as small as the one that is corrected. So tests
    that overlap, or that could not reach a small p-value, cost little.

    `parts` are the differences of the items of each part. The p-value of the whole comes first.
    """
    import numpy as np

    differences = [difference for part in parts for difference in part]
    total = sum(map(abs, differences))
    most = max(1, int(GRID / total)) if total else 1
    unit = min(math.lcm(*(difference.denominator for difference in differences)), most)
    steps = [[round(difference * unit) for difference in part] for part in parts]
    chances = [_distribution(part) for part in steps]
    changed = sum(map(any, steps))
    weighed = [changed * chance.cumsum() for chance in chances]
    of_whole = reduce(np.convolve, chances, np.ones(1)).cumsum()

    def corrected(p: float) -> float:
        limit = p * (1 + 1e-9)  # sums of the same chances may differ in their last digit
        if limit >= 1:
            return 1.0
        # The chances of each sum of gains over the parts so far: where a part reached the limit,
        # and where none did.
        reached, others = np.zeros(1), np.ones(1)
        for chance, tail in zip(chances, weighed, strict=True):
            reaching = np.where(tail <= limit, chance, 0.0)
            reached = np.convolve(reached, chance) + np.convolve(others, reaching)
            others = np.convolve(others, chance - reaching)
        return min(1.0, float(reached.sum() + others[of_whole <= limit].sum()))

    gains = [sum(step for step in part if step > 0) for part in steps]
    found = [of_whole[sum(gains)]]
    for tail, gain, part in zip(weighed, gains, steps, strict=True):
        found.append(tail[gain] if any(part) else 1.0)
    return [corrected(float(p)) for p in found]


def _distribution(steps: Sequence[int]) -> Any:
    """An array of the chance of each sum of the positive steps, if all signs are equally likely."""
    import numpy as np

    chance = np.zeros(sum(map(abs, steps)) + 1)
    chance[0] = 1.0
    for size in filter(None, map(abs, steps)):
        flipped = np.zeros_like(chance)
        flipped[size:] = chance[: len(chance) - size]
        chance = (chance + flipped) / 2
    return chance


def p_changed(differences: Sequence[Fraction]) -> float:
    """The two-sided p-value of the sign-flip test: twice the smaller tail, at most 1."""
    return min(1.0, 2 * min(p_worse(differences), p_worse([-d for d in differences])))


def matched_chi_square(differences: Sequence[Fraction]) -> float:
    """One-tailed p-value for an improvement by McNemar's chi-square, without a correction.

    The normal approximation of the exact test, as the reflective agent's paper uses it (table 13).
    1 where nothing changed.
    """
    from scipy.stats import norm

    squares = sum(difference**2 for difference in differences)
    return float(norm.sf(float(sum(differences)) / math.sqrt(squares))) if squares else 1.0


def paired_t(differences: Sequence[Fraction]) -> float:
    """Two-sided p-value of the paired t-test (the paper's table 7); 1 where nothing changed."""
    from scipy.stats import ttest_1samp

    if len(set(differences)) < 2:
        return 1.0 if not any(differences) else 0.0
    return float(ttest_1samp(list(map(float, differences)), 0.0).pvalue)


def wilson(rate: float, size: float) -> tuple[float, float]:
    """Wilson's interval for a rate observed in a sample of `size`, a whole number or not.

    E. B. Wilson (1927), Journal of the American Statistical Association 22, 209-212.
    """
    z2 = Z**2
    middle = (rate + z2 / (2 * size)) / (1 + z2 / size)
    half = math.sqrt(z2 * (rate * (1 - rate) / size + z2 / (4 * size * size))) / (1 + z2 / size)
    return max(0.0, middle - half), min(1.0, middle + half)


def _variance(values: Sequence[float], mean: float) -> float:
    return math.fsum((value - mean) ** 2 for value in values) / len(values)


def rate_interval(shares: Sequence[float], samples: int) -> tuple[float, float]:
    """Wilson's interval for the mean of the items' shares of solved samples.

    Its sample size is the number of independent samples that would carry the same information: the
    number of items if each of them is always or never solved, `samples` if all items are alike.
    """
    count = len(shares)
    mean = math.fsum(shares) / count
    if not 0 < mean < 1:
        return wilson(round(mean), count)
    spread = _variance(shares, mean)
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
    spread = _variance(before, rate1) * _variance(after, rate2)
    phi = common / math.sqrt(spread) if spread else 0.0
    change = rate2 - rate1

    def reach(near: float, far: float) -> float:
        return math.sqrt(max(0.0, near * near - 2 * phi * near * far + far * far))

    low = change - reach(rate2 - low2, high1 - rate1)
    high = change + reach(high2 - rate2, rate1 - low1)
    return max(-1.0, low), min(1.0, high)


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


def needed_items(drop: float, moved: float, alpha: float = 0.05) -> int:
    """Approximate number of items that the one-sided paired test needs to show a drop.

    R. J. Connor (1987), Biometrics 43, 207-211. `drop` is above 0. `moved` is the mean square of
    the items' differences, with one sample per item the share of the items that change; it is taken
    as `drop` if it is smaller.
    """
    moved = max(drop, moved)
    reach = NORMAL.inv_cdf(1 - alpha) * math.sqrt(moved) + Z_POWER * math.sqrt(moved - drop**2)
    return max(math.ceil((reach / drop) ** 2), math.ceil(fewest_changes(alpha) / moved))


def fewest_items(margin: float) -> int:
    """Number of items whose 95 % interval rules out a loss of `margin` if none of them changed."""
    return math.floor(Z**2 * (1 - margin) / margin) + 1


def deciding_items(difference: float, moved: float, margin: float, alpha: float = 0.05) -> int:
    """Approximate number of items that show a loss at level `alpha`, or rule out one of `margin`.

    `difference` of the rates and `moved`, as for `needed_items`, are estimated by the observed
    ones; the latter is taken as one in twenty if it is less, since few items do not show that none
    ever changes.
    """
    moved = max(moved, 0.05, difference**2)
    counts = []
    if difference < 0:
        counts.append(needed_items(-difference, moved, alpha))
    if difference > -margin:
        reach = (Z + Z_POWER) * math.sqrt(moved - difference**2)
        counts.append(max(math.ceil((reach / (margin + difference)) ** 2), fewest_items(margin)))
    return min(counts)
