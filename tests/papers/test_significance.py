"""The tests of tables 7 and 13, checked against figures computed by hand or by a second source."""

import random
from fractions import Fraction as F
from math import erfc, sqrt

import pytest

from pytest_miniwob_agent.plugins.papers.tables import matched_chi_square, paired_t
from pytest_miniwob_agent.results.statistics import p_worse


def moves(lost, gained, same=0):
    return [F(-1)] * lost + [F(1)] * gained + [F(0)] * same


def test_mcnemars_chi_square_by_hand():
    # z = sqrt(10) for ten improvements and nothing else; z = (9-4)/sqrt(13).
    assert matched_chi_square(moves(0, 10)) == pytest.approx(erfc(sqrt(5)) / 2)
    assert matched_chi_square(moves(4, 9, 7)) == pytest.approx(erfc(5 / sqrt(26)) / 2)
    assert matched_chi_square(moves(0, 0, 4)) == 1


def test_the_paired_t_test_by_hand():
    # Three items, differences 1, 1, 0: mean 2/3, variance 1/3, t = 2 with 2 degrees of freedom,
    # and for these the tail is 1/2 - t / (2 sqrt(2 + t²)).
    assert paired_t([F(1), F(1), F(0)]) == pytest.approx(1 - 2 / sqrt(6))
    assert paired_t([F(0), F(0)]) == 1
    assert paired_t([F(1), F(1)]) == 0
    assert paired_t([F(1)]) is None


def test_both_equal_scipys(scipy):
    chance = random.Random(1)
    for size in (2, 3, 25, 325, 1075) * 4:
        for weights in ((0, 1, 1), (2, 50, 5), (1, 1, 1)):
            gains = [F(n, 3) for n in chance.choices((-1, 0, 3), weights, k=size)]
            if len(set(gains)) > 1:
                z = float(sum(gains)) / sqrt(sum(gain**2 for gain in gains))
                t_test = scipy.stats.ttest_1samp(list(map(float, gains)), 0)
                assert matched_chi_square(gains) == pytest.approx(
                    scipy.stats.norm.sf(z), rel=1e-9, abs=0
                )
                assert paired_t(gains) == pytest.approx(t_test.pvalue, rel=1e-9, abs=0)


class TestFiguresOfThePaper:
    """Tables 7 and 13 of the reflective agent's paper, from the counts that it prints."""

    @pytest.mark.parametrize(
        ("task", "first", "fifth", "printed", "ours"),
        [
            ("click-tab-2", 11, 17, "0.007", "0.0072"),
            ("email-inbox", 24, 25, "0.159", "0.16"),
            ("use-autocomplete", 18, 24, "0.007", "0.0072"),
            ("click-menu-2", 9, 19, "0.008", "0.00078"),
            ("click-tab-2-hard", 8, 16, "0.0024", "0.0023"),
            ("email-inbox-nl-turk", 19, 23, "0.042", "0.023"),
            ("search-engine", 5, 18, "0.000016", "0.00016"),
        ],
    )
    def test_chi_square_agrees_with_three_printed_p_values(self, task, first, fifth, printed, ours):
        found = matched_chi_square(moves(0, fifth - first, 25 - fifth + first))
        assert f"{found:.2g}" == ours
        assert (f"{found:.3f}" == printed) == (
            task in ("click-tab-2", "email-inbox", "use-autocomplete")
        )

    def test_two_printed_p_values_are_of_other_counts_and_of_another_test(self):
        assert f"{matched_chi_square(moves(0, 3)):.3f}" == "0.042"
        assert f"{paired_t(moves(0, 13, 12)) / 2:.1e}" == "1.6e-05"

    def test_exact_p_values_for_the_same_counts(self):
        found = [p_worse(moves(gained, 0)) for gained in (10, 6, 8, 1, 4, 13, 41, 7, 48)]
        assert [f"{each:.2g}" for each in found] == [
            "0.00098", "0.016", "0.0039", "0.5", "0.062", "0.00012", "4.5e-13", "0.0078", "3.6e-15",
        ]  # fmt: skip

    def test_p_values_of_the_t_test_over_all_tasks(self):
        # 235, 276 and 283 of 325 by table 12.
        for gained, printed, ours in ((41, "2e-10", "4e-11"), (7, "0.002", "0.008")):
            found = paired_t(moves(0, gained, 325 - gained))
            assert f"{found:.1g}" == ours != printed
        assert f"{paired_t(moves(0, 48, 277)):.1g}" == "6e-13"
        # McNemar's chi-square, which the appendix uses, comes nearer to what is printed.
        assert f"{matched_chi_square(moves(0, 48, 277)):.0e}" == "2e-12"
