"""Statistics, checked against figures computed by hand or by a second source."""

import itertools
import operator
import random
import subprocess
import sys
from fractions import Fraction as F
from math import erfc, sqrt

import pytest
from scipy import stats as scipy_stats

from pytest_miniwob_agent.results import statistics


def pairs(both, lost, gained, neither):
    """The shares before and after of a 2 × 2 table of pairs."""
    before = [1.0] * both + [1.0] * lost + [0.0] * gained + [0.0] * neither
    after = [1.0] * both + [0.0] * lost + [1.0] * gained + [0.0] * neither
    return before, after


def moves(lost, gained, same=0):
    return [F(-1)] * lost + [F(1)] * gained + [F(0)] * same


class TestPairedTest:
    @pytest.mark.parametrize(
        ("lost", "gained", "expected"),
        [
            (0, 0, 1),
            (5, 0, 1 / 32),
            (4, 0, 1 / 16),
            (3, 1, (4 + 1) / 16),
            (7, 2, (36 + 9 + 1) / 512),
            (0, 3, 1),
        ],
    )
    def test_with_one_sample_per_item_it_is_mcnemars_exact_test(self, lost, gained, expected):
        p = statistics.p_worse(moves(lost, gained, 90))
        assert p == pytest.approx(expected)
        if lost + gained:
            exact = scipy_stats.binomtest(lost, lost + gained, alternative="greater")
            assert p == pytest.approx(exact.pvalue)

    def test_it_equals_the_count_over_all_sign_patterns(self):
        chance = random.Random(3)
        for _ in range(10):
            differences = [F(chance.randint(-3, 3), 3) for _ in range(6)]
            differences += [F(chance.randint(-2, 2), 2) for _ in range(4)]
            patterns = itertools.product((1, -1), repeat=10)
            sixths = [int(6 * each) for each in differences]
            sums = [sum(map(operator.mul, pattern, sixths)) for pattern in patterns]
            expected = sum(each <= sum(sixths) for each in sums) / len(sums)
            assert statistics.p_worse(differences) == pytest.approx(expected)

    def test_ten_samples_of_an_item_count_as_one_item(self):
        assert statistics.p_worse([F(-7, 10)]) == 0.5

    @pytest.mark.parametrize(
        ("changes", "p"), [((7, 2), 2 * 46 / 512), ((2, 7), 2 * 46 / 512), ((2, 2), 1), ((0, 0), 1)]
    )
    def test_the_two_sided_p_value_is_twice_the_smaller_tail(self, changes, p):
        assert statistics.p_changed(moves(*changes, 5)) == pytest.approx(p)

    def test_items_with_many_different_sample_counts_are_near_the_normal_approximation(self):
        chance = random.Random(1)
        differences = [F(chance.randint(-19, 15), n) for n in range(20, 60)]
        spread = sqrt(sum(float(each) ** 2 for each in differences))
        normal = 0.5 * erfc(-float(sum(differences)) / spread / sqrt(2))
        assert statistics.p_worse(differences) == pytest.approx(normal, rel=0.1)


def test_mcnemars_chi_square_by_hand():
    # z = sqrt(10) for ten improvements and nothing else; z = (9-4)/sqrt(13).
    assert statistics.matched_chi_square(moves(0, 10)) == pytest.approx(erfc(sqrt(5)) / 2)
    assert statistics.matched_chi_square(moves(4, 9, 7)) == pytest.approx(erfc(5 / sqrt(26)) / 2)
    assert statistics.matched_chi_square(moves(0, 0, 4)) == 1


def test_the_paired_t_test_by_hand():
    # Three items, differences 1, 1, 0: mean 2/3, variance 1/3, t = 2 with 2 degrees of freedom,
    # and for these the tail is 1/2 - t / (2 sqrt(2 + t²)).
    assert statistics.paired_t([F(1), F(1), F(0)]) == pytest.approx(1 - 2 / sqrt(6))
    assert statistics.paired_t([F(0), F(0)]) == 1
    assert statistics.paired_t([F(1), F(1)]) == 0


class TestIntervals:
    @pytest.mark.parametrize(("solved", "size"), [(81, 263), (0, 20), (20, 20), (1, 1), (15, 148)])
    def test_wilsons_interval_equals_scipys(self, solved, size):
        found = scipy_stats.binomtest(solved, size).proportion_ci(method="wilson")
        assert statistics.wilson(solved / size, size) == pytest.approx((found.low, found.high))
        shares = [1.0] * solved + [0.0] * (size - solved)
        assert statistics.rate_interval(shares, size) == pytest.approx((found.low, found.high))

    @pytest.mark.parametrize(
        ("shares", "samples", "rate", "independent"),
        [([0.5] * 10, 20, 0.5, 20), ([1.0] * 6 + [0.0] * 4, 50, 0.6, 10), ([1.0] * 10, 50, 1, 10)],
    )
    def test_samples_count_as_independent_by_how_alike_items_are(
        self, shares, samples, rate, independent
    ):
        found = statistics.rate_interval(shares, samples)
        assert found == pytest.approx(statistics.wilson(rate, independent))

    def test_the_difference_interval_equals_newcombes_example(self):
        # Statistics in Medicine 17 (1998), 2635-2650: the table 36, 12, 2, 0; his difference is
        # before less after.
        found = statistics.difference_interval(*pairs(36, 12, 2, 0), (50, 50))
        assert found == pytest.approx((-0.3404, -0.0569), abs=5e-5)

    @pytest.mark.parametrize("table", [(50, 5, 3, 42), (10, 3, 2, 6), (20, 9, 4, 17), (6, 5, 4, 5)])
    def test_the_difference_interval_equals_newcombes_formulas(self, table):
        # His formulas as printed, with the four counts; ad > bc, so phi is corrected by n/2.
        a, b, c, d = table
        n = sum(table)
        assert a * d > b * c
        product = (a + b) * (c + d) * (a + c) * (b + d)
        phi = max(a * d - b * c - n / 2, 0) / sqrt(product)
        (l1, u1), (l2, u2) = (
            scipy_stats.binomtest(k, n).proportion_ci(method="wilson") for k in (a + b, a + c)
        )
        p1, p2 = (a + b) / n, (a + c) / n
        low = sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
        high = sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
        found = statistics.difference_interval(*pairs(*table), (n, n))
        assert found == pytest.approx((-(p1 - p2 + high), -(p1 - p2 - low)))

    def test_95_percent_of_difference_intervals_contain_the_true_change(self):
        # 60 items with 3 samples; each item has its own chance; the true change is -0.1.
        chance = random.Random(5)
        held = 0
        for _ in range(200):
            before, after = [], []
            for _ in range(60):
                p = chance.betavariate(1.7, 0.3)
                before.append(sum(chance.random() < p for _ in range(3)) / 3)
                after.append(sum(chance.random() < p * (1 - 0.1 / 0.85) for _ in range(3)) / 3)
            low, high = statistics.difference_interval(before, after, (180, 180))
            held += low <= -0.1 <= high
        assert 0.93 <= held / 200 <= 1


class TestFamilyOfPairedTests:
    def test_it_equals_the_count_over_all_sign_patterns(self):
        chance = random.Random(2)
        for sizes in ((3, 3, 2), (5, 1), (3, 0, 3)):
            parts = [[F(chance.choice((-3, -3, -2, -1, 0, 3)), 3) for _ in range(n)] for n in sizes]
            moved = sum(map(any, parts))

            def weighed(parts, moved=moved):
                whole = statistics.p_worse([each for part in parts for each in part])
                return [whole, *(moved * statistics.p_worse(part) for part in parts)]

            patterns = itertools.product((1, -1), repeat=sum(sizes))
            least = []
            for pattern in patterns:
                signs = iter(pattern)
                least.append(min(weighed([[abs(d) * next(signs) for d in p] for p in parts])))
            expected = [
                1.0 if p >= 1 else sum(each <= p + 1e-9 for each in least) / len(least)
                for p in weighed(parts)
            ]
            assert statistics.p_worse_anywhere(parts) == pytest.approx(expected)

    def test_by_hand(self):
        # 4 lost in one of two parts, 1 gained in the other: 1/16 twice, less than all five at 6/32.
        # The limit of 1/8 is reached where the first part has all signs negative (2 of 32 patterns)
        # and by no other pattern of the whole than all five negative, which is one of these.
        assert statistics.p_worse_anywhere([moves(4, 0), moves(0, 1)]) == pytest.approx(
            [6 / 32, 2 / 32, 1]
        )

    def test_nothing_changed(self):
        assert statistics.p_worse_anywhere([moves(0, 0, 3), []]) == [1, 1, 1]
        assert statistics.p_worse_anywhere([]) == [1]


def test_figures_of_repeats_by_hand():
    # Counted: of the 10 pairs of 5 samples with 2 solved, 3 hold none and 1 holds both.
    assert [statistics.pass_at(k, 5, 2) for k in (1, 2, 4)] == pytest.approx([0.4, 0.7, 1])
    assert [statistics.pass_all(k, 5, 2) for k in (1, 2, 3)] == pytest.approx([0.4, 0.1, 0])
    # 2 solved and 3 not: 6 of the 10 pairs disagree.
    flips = [statistics.flip_rate(*counts) for counts in ((5, 2), (2, 1), (4, 4))]
    assert flips == pytest.approx([0.6, 1, 0])


def test_fewest_changes_by_hand():
    assert [statistics.fewest_changes(p) for p in (0.05, 1 / 32, 0.01, 0.5)] == [5, 5, 7, 1]


def test_numbers_of_items_by_hand():
    # ((1.6449 sqrt(0.17) + 0.8416 sqrt(0.17 - 0.01)) / 0.1)² = 102.98
    assert statistics.needed_items(0.1, 0.17) == 103
    # A drop of 10 points changes 10 % of the items itself.
    assert statistics.needed_items(0.1, 0.0) == statistics.needed_items(0.1, 0.1) == 60
    # Wilson's bound of n of n is n / (n + z²), which is above 0.9 from n > 9 z² = 34.57.
    assert statistics.fewest_items(0.1) == 35
    for count in (34, 35):
        low, _ = statistics.difference_interval(*pairs(count, 0, 0, 0), (count, count))
        assert (low > -0.1) == (count == 35)
    # No difference: ((1.9600 + 0.8416) sqrt(0.17) / 0.1)² = 133.4
    assert statistics.deciding_items(0.0, 0.17, 0.1) == 134
    # A loss of 10 points can't be ruled out, only shown.
    assert statistics.deciding_items(-0.1, 0.17, 0.1) == statistics.needed_items(0.1, 0.17)
    # Between them the easier one: ((1.6449 sqrt(0.17) + 0.8416 sqrt(0.1675)) / 0.05)² = 418.3
    assert statistics.deciding_items(-0.05, 0.17, 0.1) == 419
    # Nothing has changed yet: one item in twenty may.
    assert statistics.deciding_items(0.0, 0.0, 0.1) == 40


@pytest.mark.integration
def test_scipy_is_not_imported_before_it_is_used():
    code = (
        "import sys\n"
        "from pytest_miniwob_agent.results import gate, statistics\n"
        "from pytest_miniwob_agent.results.file import Results\n"
        "from pytest_miniwob_agent.terminal import comparison, tables\n"
        "gate.judge(Results(()), Results(()), gate.Gate.parse('items'))\n"
        "assert 'scipy' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
        found = statistics.matched_chi_square(moves(0, fifth - first, 25 - fifth + first))
        assert f"{found:.2g}" == ours
        assert (f"{found:.3f}" == printed) == (
            task in ("click-tab-2", "email-inbox", "use-autocomplete")
        )

    def test_two_printed_p_values_are_of_other_counts_and_of_another_test(self):
        assert f"{statistics.matched_chi_square(moves(0, 3)):.3f}" == "0.042"
        assert f"{statistics.paired_t(moves(0, 13, 12)) / 2:.1e}" == "1.6e-05"

    def test_exact_p_values_for_the_same_counts(self):
        found = [statistics.p_worse(moves(gained, 0)) for gained in (10, 6, 8, 1, 4, 13, 41, 7, 48)]
        assert [f"{each:.2g}" for each in found] == [
            "0.00098", "0.016", "0.0039", "0.5", "0.062", "0.00012", "4.5e-13", "0.0078", "3.6e-15",
        ]  # fmt: skip

    def test_p_values_of_the_t_test_over_all_tasks(self):
        # 235, 276 and 283 of 325 by table 12.
        for gained, printed, ours in ((41, "2e-10", "4e-11"), (7, "0.002", "0.008")):
            found = statistics.paired_t(moves(0, gained, 325 - gained))
            assert f"{found:.1g}" == ours != printed
        assert f"{statistics.paired_t(moves(0, 48, 277)):.1g}" == "6e-13"
        # McNemar's chi-square, which the appendix uses, comes nearer to what is printed.
        assert f"{statistics.matched_chi_square(moves(0, 48, 277)):.0e}" == "2e-12"
