"""Cohen's kappa, checked against figures computed by hand or by a second source."""

from math import log, sqrt

import pytest

from pytest_miniwob_agent.plugins.judges.kappa import kappa
from pytest_miniwob_agent.results.statistics import Z


class TestKappa:
    @pytest.mark.parametrize(
        ("table", "by_hand"),
        [
            ([[20, 5], [10, 15]], (0.7 - 0.5) / (1 - 0.5)),
            ([[3, 0], [0, 37]], 1),  # and yet its interval is no point
            ([[1, 6], [9, 2]], (3 / 18 - 158 / 18**2) / (1 - 158 / 18**2)),
        ],
    )
    def test_its_interval_ends_where_the_likelihood_is_too_low(self, scipy, table, by_hand):
        counts = [count for row in table for count in row]

        def loss(chances):
            return -sum(n * log(max(p, 1e-12)) for n, p in zip(counts, chances, strict=True) if n)

        def expected(chances):
            first, second = chances[0] + chances[1], chances[0] + chances[2]
            by_chance = first * second + (1 - first) * (1 - second)
            return (chances[0] + chances[3] - by_chance) / (1 - by_chance)

        best = loss([count / sum(counts) for count in counts])
        value, *ends = kappa(table)
        assert value == pytest.approx(by_hand)
        assert ends[0] < ends[1] <= 1 + 1e-9
        for end in (each for each in ends if each != value):
            found = scipy.optimize.minimize(
                loss,
                [(count + 1) / (sum(counts) + 4) for count in counts],
                method="SLSQP",
                bounds=[(1e-9, 1)] * 4,
                constraints=[
                    {"type": "eq", "fun": lambda chances: sum(chances) - 1},
                    {"type": "eq", "fun": lambda chances, end=end: expected(chances) - end},
                ],
            )
            assert found.success
            assert 2 * (found.fun - best) == pytest.approx(scipy.stats.chi2.ppf(0.95, 1), rel=1e-3)

    def test_of_many_items_its_interval_is_that_of_the_standard_error(self):
        """That of even margins (Fleiss, Cohen, Everitt, Psychological Bulletin 72 (1969))."""
        value, low, high = kappa([[4000, 1000], [1000, 4000]])
        half = Z * sqrt((1 - value**2) / 10_000)
        assert (low, high) == pytest.approx((value - half, value + half), abs=2e-4)

    @pytest.mark.parametrize("table", [[[5, 0], [0, 0]], [[0, 0], [0, 5]]])
    def test_it_is_undefined_if_both_give_one_answer_to_everything(self, table):
        assert kappa(table) is None
