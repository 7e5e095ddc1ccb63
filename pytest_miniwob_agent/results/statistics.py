"""The statistics of paired results: numbers in, numbers out.

The unit is the item. With repeats an item counts once, with the share of its samples that were
solved, so that ten samples of one item are never taken for ten items. Differences are those of an
item's shares, after minus before, from -1 to 1; for one sample an item they are -1, 0 and 1.

docs/statistics.md says why these methods. SciPy is imported when a number is asked for: it takes
half a second.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction

FINEST = 5040
"""Differences of items with many different numbers of samples are rounded to this part of one."""


def worse(differences: Sequence[Fraction]) -> float:
    """The one-sided p-value for a change for the worse: the exact sign-flip test.

    If the change did nothing, each item's difference was as likely to come out with the other sign.
    The p-value is the share of all sign patterns whose sum is as low as the observed one. With one
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
    """Add up the distribution of the sum over all sign patterns, item by item."""
    import numpy as np

    unit = min(math.lcm(*(each.denominator for each in moved)), FINEST)
    steps = [round(each * unit) for each in moved]
    total = sum(map(abs, steps))
    # Entry k is the chance that the items that came out positive add up to k.
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for size in map(abs, steps):
        flipped = np.zeros_like(chance)
        flipped[size:] = chance[: len(chance) - size]
        chance = (chance + flipped) / 2
    gained = sum(step for step in steps if step > 0)
    return min(1.0, float(chance[: gained + 1].sum()))


def changed(differences: Sequence[Fraction]) -> float:
    """The two-sided p-value of the same test: twice the smaller tail, 1 at most."""
    return min(1.0, 2 * min(worse(differences), worse([-each for each in differences])))


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
    """Wilson's interval for a rate that was seen in a sample of `size`.

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

    It counts as many samples as would be worth the same if they were independent: the items where
    each of them always or never is solved, all `samples` where the items are alike.
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
    squared and added, less what the pairs have in common. With repeats, the intervals are those of
    `rate_interval` and the correlation that of the items' shares. `samples` counts all samples of
    both sides.
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
    """p-values of a family of tests, corrected by Holm's method (1979); in the given order."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected = [0.0] * len(values)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = least
    return corrected


def pass_at(k: int, samples: int, solved: int) -> float:
    """pass@k: the chance that one of k samples of an item is solved (Chen et al., 2021).

    The unbiased estimate from `solved` of `samples`, of which there must be k.
    """
    return 1 - math.comb(samples - solved, k) / math.comb(samples, k)


def pass_all(k: int, samples: int, solved: int) -> float:
    """pass^k: the chance that all of k samples of an item are solved (Yao et al., 2024)."""
    return math.comb(solved, k) / math.comb(samples, k)


def flip_rate(samples: int, solved: int) -> float:
    """The chance that two samples of an item disagree; `samples` must be 2 or more."""
    return solved * (samples - solved) / math.comb(samples, 2)


def fewest_moves(alpha: float) -> int:
    """How many items must have changed, all for the worse, before a p-value can reach alpha."""
    return math.ceil(math.log2(1 / alpha) - 1e-9)


def needed_items(drop: float, moved: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """About how many items the one-sided paired test needs to show a drop.

    R. J. Connor (1987), Biometrics 43, 207-211.

    Args:
        drop: the drop of the rate that should be found, above 0.
        moved: the mean square of the items' differences: for one sample an item, the share of the
            items that change, either way. A drop changes at least as many itself.
        alpha: the level of the test.
        power: the chance of finding the drop.
    """
    from scipy.stats import norm

    moved = max(drop, moved)
    reach = float(
        norm.ppf(1 - alpha) * math.sqrt(moved) + norm.ppf(power) * math.sqrt(moved - drop**2)
    )
    return max(math.ceil((reach / drop) ** 2), math.ceil(fewest_moves(alpha) / moved))


def by_chance(items: int, flips: float, risk: float) -> float:
    """The drop of the rate that chance exceeds with about this risk where a change does nothing.

    `flips` is the share of items whose outcome differs between two equal runs.
    """
    from scipy.stats import norm

    return float(norm.ppf(1 - risk)) * math.sqrt(flips / items)
