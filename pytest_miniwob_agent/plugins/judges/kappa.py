"""Cohen's kappa: the agreement of two raters beyond chance."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

from pytest_miniwob_agent.results.statistics import Z, border


def kappa(table: Sequence[Sequence[int]]) -> tuple[float, float, float] | None:
    """Cohen's kappa of two raters who say yes or no, and its 95 % interval; None if undefined.

    `table` has a row for each answer of the first rater and a column for each of the second one.
    Kappa is undefined if both raters gave one and the same answer to everything.

    J. Cohen (1960), Educational and Psychological Measurement 20, 37-46. The interval has the
    values that a likelihood-ratio test does not reject (D. J. Venzon and S. H. Moolgavkar (1988),
    Applied Statistics 37, 87-94): unlike the one of a standard error it is no point if the raters
    agree on everything.
    """
    counts = [count for row in table for count in row]
    size = sum(counts)
    rows, columns = (
        [sum(row) for row in table],
        [sum(column) for column in zip(*table, strict=True)],
    )
    by_chance = sum(map(operator.mul, rows, columns)) / size**2
    if by_chance == 1:
        return None
    value = ((table[0][0] + table[1][1]) / size - by_chance) / (1 - by_chance)
    least = _log_likelihood(counts, [count / size for count in counts]) - Z**2 / 2
    low, high = (
        border(lambda each: _likeliest(counts, each) < least, value, end) for end in (-1.0, 1.0)
    )
    return value, low, high


def _log_likelihood(counts: Sequence[int], chances: Sequence[float]) -> float:
    pairs = zip(counts, chances, strict=True)
    return math.fsum(count * math.log(max(chance, 1e-300)) for count, chance in pairs if count)


def _likeliest(counts: Sequence[int], value: float) -> float:
    """Return the largest log-likelihood of a table whose kappa has a given value."""

    def chances(first: float, second: float) -> tuple[float, float, float, float]:
        """Return those of the four cells, from each rater's share of the first answer."""
        differ = (1 - value) * (first + second - 2 * first * second)
        both = (first + second - differ) / 2
        return both, first - both, second - both, 1 - first - second + both

    def seconds(first: float) -> tuple[float, float]:
        """Return the range of the second rater's share; the chances are linear in it."""
        low, high = 0.0, 1.0
        for start, end in zip(chances(first, 0), chances(first, 1), strict=True):
            if max(start, end) < 0:
                return 1.0, 0.0
            if start < 0:
                low = max(low, start / (start - end))
            elif end < 0:
                high = min(high, start / (start - end))
        return low, high

    def of_first(first: float) -> float:
        low, high = seconds(first)
        return _maximum(lambda second: _log_likelihood(counts, chances(first, second)), low, high)

    def impossible(first: float) -> bool:
        low, high = seconds(first)
        return low > high

    return _maximum(of_first, border(impossible, 0.5, 0.0), border(impossible, 0.5, 1.0))


def _maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the largest value of a function that rises up to its maximum and then falls."""
    ratio = (math.sqrt(5) - 1) / 2  # golden-section search
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(30):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
    return max(at_left, at_right)
