"""Statistics, checked against figures computed by hand or by a second source."""

import itertools
import operator
import random
from fractions import Fraction as F
from math import erfc, log, sqrt

import pytest

from pytest_miniwob_agent.results import statistics


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
    def test_with_one_sample_per_item_it_is_mcnemars_exact_test(
        self, scipy, lost, gained, expected
    ):
        p = statistics.p_worse(moves(lost, gained, 90))
        assert p == pytest.approx(expected)
        if lost + gained:
            exact = scipy.stats.binomtest(lost, lost + gained, alternative="greater")
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

    def test_items_with_many_different_sample_counts_are_near_the_normal_approximation(self):
        chance = random.Random(1)
        differences = [F(chance.randint(-19, 15), n) for n in range(20, 60)]
        spread = sqrt(sum(float(each) ** 2 for each in differences))
        normal = 0.5 * erfc(-float(sum(differences)) / spread / sqrt(2))
        assert statistics.p_worse(differences) == pytest.approx(normal, rel=0.1)


class TestIntervals:
    @pytest.mark.parametrize(("solved", "size"), [(81, 263), (0, 20), (20, 20), (1, 1), (15, 148)])
    def test_wilsons_interval_equals_scipys(self, scipy, solved, size):
        found = scipy.stats.binomtest(solved, size).proportion_ci(method="wilson")
        assert statistics.wilson(solved / size, size) == pytest.approx((found.low, found.high))
        shares = [F(1)] * solved + [F(0)] * (size - solved)
        items = list(map(str, range(size)))
        by_item = statistics.rate_interval(shares, size, items)
        assert by_item == pytest.approx((found.low, found.high))

    @pytest.mark.parametrize(
        ("shares", "samples", "rate", "independent"),
        [
            ([F(1, 2)] * 10, 20, 0.5, 20),
            ([F(1)] * 6 + [F(0)] * 4, 50, 0.6, 10),
            ([F(1)] * 10, 50, 1, 10),
        ],
    )
    def test_samples_count_as_independent_by_how_alike_items_are(
        self, shares, samples, rate, independent
    ):
        found = statistics.rate_interval(shares, samples, list(map(str, range(10))))
        assert found == pytest.approx(statistics.wilson(rate, independent))

    def test_by_task_the_seeds_of_a_task_that_are_solved_together_count_as_one(self):
        shares, tasks = [F(1)] * 15 + [F(0)] * 5, list("aaaaabbbbbcccccddddd")
        found = statistics.rate_interval(shares, 20, tasks)
        assert found == pytest.approx(statistics.wilson(0.75, 4))
        assert statistics.rate_interval([F(1)] * 20, 20, tasks) == statistics.wilson(1, 4)
        apart = statistics.rate_interval(([F(1)] * 3 + [F(0), F(1)]) * 4, 20, tasks)
        assert apart == statistics.wilson(0.8, 20)


def change_of(lost, gained, same, units=None):
    count = lost + gained + same
    before = [F(1)] * lost + [F(0)] * gained + [F(1)] * same
    after = [F(0)] * lost + [F(1)] * gained + [F(1)] * same
    return statistics.Change.of(before, after, count, units or list(map(str, range(count))))


class TestChange:
    def test_for_no_change_it_is_mcnemars_score_test(self, scipy):
        for lost, gained in ((26, 0), (15, 13), (9, 20), (95, 0)):
            z = (gained - lost) / sqrt(gained + lost)
            found = change_of(lost, gained, 20)
            assert found.statistic() == pytest.approx(z)
            assert found.p_worse == pytest.approx(scipy.stats.norm.cdf(z), rel=1e-6, abs=0)
            assert found.p_changed == pytest.approx(
                2 * scipy.stats.norm.sf(abs(z)), rel=1e-6, abs=0
            )

    def test_where_few_pairs_differ_p_is_that_of_mcnemars_exact_test(self, scipy):
        for lost, gained in ((5, 0), (5, 3), (2, 9), (25, 0), (13, 12), (0, 5)):
            found = change_of(lost, gained, 20)
            for p, side in ((found.p_worse, "less"), (found.p_changed, "two-sided")):
                exact = scipy.stats.binomtest(gained, gained + lost, alternative=side).pvalue
                assert p == pytest.approx(exact)
        assert change_of(5, 0, 31).p_changed == 0.0625
        assert change_of(0, 0, 7).p_changed == 1

    @pytest.mark.parametrize(("lost", "gained", "same"), [(12, 2, 36), (0, 1, 43), (5, 4, 11)])
    def test_at_the_bounds_the_likelihood_has_a_score_of_1_96(self, scipy, lost, gained, same):
        """The likeliest shares by a search, in the place of the closed form."""
        found, count = change_of(lost, gained, same), lost + gained + same
        for bound, sign in zip(found.interval(), (1, -1), strict=True):

            def unlikelihood(share, bound=bound):
                shares = (share, share + bound, 1 - 2 * share - bound)
                counted = zip((lost, gained, same), shares, strict=True)
                return -sum(number * log(p) for number, p in counted if number)

            ends = max(0, -bound) + 1e-12, (1 - bound) / 2 - 1e-12
            likeliest = scipy.optimize.minimize_scalar(unlikelihood, bounds=ends, method="bounded")
            variance = (2 * likeliest.x + bound * (1 - bound)) / count
            score = ((gained - lost) / count - bound) / sqrt(variance)
            assert score == pytest.approx(sign * statistics.Z, rel=1e-3)

    def test_nothing_lost_rules_a_loss_of_ten_points_out_from_35_items(self):
        # As Wilson's bound of n of n, n / (n + z²), which is above 0.9 from n > 9 z² = 34.57.
        for count in (34, 35):
            found = change_of(0, 0, count)
            assert (found.interval()[0] > -0.1) == (count == 35)
            assert found.interval()[0] == pytest.approx(statistics.wilson(1.0, count)[0] - 1)

    def test_samples_of_an_item_add_up_as_far_as_they_are_independent(self):
        shares = [F(2, 3), F(1), F(1, 3), F(0)], [F(0), F(1), F(1, 3), F(0)]
        found = statistics.Change.of(*shares, 12, list("abcd"))
        assert found.flips == pytest.approx((2 / 3 + 4 / 9) / 4)
        # The statistic is the sum of the changes by the root of that of their squares, here one.
        assert found.statistic() == pytest.approx(-1)
        assert found.size == pytest.approx(10)
        alike = statistics.Change.of([F(1)] * 4, [F(0)] * 4, 12, list("abcd"))
        assert alike.size == 4

    def test_by_task_a_fall_is_shown_by_the_exact_test_of_whole_tasks(self):
        tasks = ["a"] * 3 + ["b"] * 2 + ["c"] + list("defghij") * 2
        by_item, by_task = change_of(6, 0, 14), change_of(6, 0, 14, tasks)
        assert by_item.p_worse == 1 / 2**6
        assert by_item.fell(0.05)
        assert by_task.p_worse == pytest.approx(1 / 8)
        assert (by_task.fell(0.24), by_task.fell(0.26)) == (False, True)
        many = change_of(18, 8, 26, [str(number) for number in range(26)] * 2)
        assert many.p_worse == statistics.p_worse(moves(18, 8))  # of any number of tasks

    def test_by_task_one_lost_and_one_gained_task_are_added(self):
        """By hand: losses of 2 and 1, a gain of 1, and two tasks of 3 items that changed."""
        found = change_of(3, 1, 14, [*"aab", "b", *"aabbcccdddeeff"])
        assert found.difference == pytest.approx(-2 / 26)
        assert found.flips == pytest.approx(12 / 26)
        squares = 4 + 1 + 1 + 16 + 16
        assert found.size == pytest.approx(26**2 * found.flips / squares)

    @pytest.mark.parametrize("seed", range(8))
    def test_by_task_more_losses_never_help_and_more_gains_never_hurt(self, seed):
        chance = random.Random(seed)
        tasks, seeds = chance.randint(6, 40), chance.randint(2, 6)
        names = [str(task) for task in range(tasks) for _ in range(seeds)]
        flips = chance.choice((0.02, 0.1, 0.3))
        moved = [chance.random() < flips and chance.choice((-1, 1)) for _ in names]
        if seed % 2:
            moved[:seeds] = [chance.choice((-1, 1))] * seeds  # a task as a whole
        found = []
        for _ in range(12):
            before = [F(move < 0) for move in moved]
            after = [F(move > 0) for move in moved]
            change = statistics.Change.of(before, after, len(names), names)
            found.append((change.interval()[0], change.p_worse))
            moved[chance.choice([n for n, move in enumerate(moved) if move < 1])] += 1
        # Each step loses an item less, or gains one more.
        for figures in zip(*found, strict=True):
            assert all(a <= b + 1e-9 for a, b in itertools.pairwise(figures))

    def test_95_percent_of_intervals_contain_the_true_change(self):
        # 60 items with 3 samples; each item has its own chance; the true change is -0.1.
        chance = random.Random(5)
        held = 0
        for _ in range(200):
            before, after = [], []
            for _ in range(60):
                p = chance.betavariate(1.7, 0.3)
                before.append(F(sum(chance.random() < p for _ in range(3)), 3))
                after.append(F(sum(chance.random() < p * (1 - 0.1 / 0.85) for _ in range(3)), 3))
            found = statistics.Change.of(before, after, 180, list(map(str, range(60))))
            low, high = found.interval()
            held += low <= -0.1 <= high
        assert 0.93 <= held / 200 <= 1


class TestRatio:
    def test_of_fewer_than_ten_units_it_is_the_range(self):
        assert statistics.ratio_interval([1, 2, 4], [2, 2, 2]) == (0.5, 2)
        assert statistics.ratio_interval([0.0], [1.0])[1] == statistics.ratio(0, 1)

    def test_95_percent_of_intervals_contain_the_true_ratio(self):
        chance, held = random.Random(2), 0
        for _ in range(60):
            before = [chance.lognormvariate(0, 0.5) for _ in range(40)]
            after = [each * chance.lognormvariate(-0.045, 0.3) * 1.2 for each in before]
            low, high = statistics.ratio_interval(before, after)
            held += low <= 1.2 <= high
        assert held / 60 >= 0.85

    def test_few_items_that_take_much_more_widen_it(self):
        assert statistics.ratio_interval([1.0] * 100, [1.1] * 100) == (1.1, 1.1)
        low, high = statistics.ratio_interval([1.0] * 100, [1.0] * 70 + [4.0] * 30)
        assert 1.5 < low < 1.9 < high < 2.3


class TestTogether:
    def test_tasks_whose_items_change_alike_are_found(self):
        names = [task for task in "abcdefghij" for _ in range(4)]
        alike = [F(move) for move in (-1, 1) * 5 for _ in range(4)]
        mixed = [F(move) for move in (-1, 1) * 20]
        assert statistics.p_together(alike, names) < 0.01
        assert statistics.p_together(mixed, names) == 1
        assert statistics.p_together([F(0)] * 40, names) == 1

    def test_tasks_whose_items_change_often_are_not(self):
        names = ["often"] * 20 + [str(number) for number in range(20)]
        chance, found = random.Random(4), 0
        for _ in range(40):
            moves = [F(chance.choice((-1, 1))) for _ in range(20)]
            found += statistics.p_together(moves + [F(0)] * 20, names) <= 0.05
        assert found <= 6


def test_155_items_have_a_power_of_80_percent_for_10_points_where_20_percent_differ():
    """By the formula of Connor: (1.96 √0.2 + 0.84 √0.19)² / 0.1² = 154.6."""
    assert statistics.power(154, 0.1, 0.2) < 0.8 < statistics.power(155, -0.1, 0.2)
    assert statistics.power(40, 0.1, 0.05) == statistics.power(40, 0.1, 0.1)


def test_the_exact_test_of_few_pairs_has_two_sides():
    assert statistics.p_changed(moves(5, 0, 9)) == statistics.p_changed(moves(0, 5)) == 0.0625
    assert statistics.p_changed(moves(5, 5, 1)) == 1.0


def test_holms_correction_by_hand():
    # 3 · 0.01, then 2 · 0.03, and the largest is no smaller than those before it.
    assert statistics.holm([0.03, 0.01, 0.05]) == pytest.approx([0.06, 0.03, 0.06])
    assert statistics.holm([0.6, 0.7]) == [1, 1]


def test_figures_of_repeats_by_hand():
    # Counted: of the 10 pairs of 5 samples with 2 solved, 3 hold none and 1 holds both.
    assert [statistics.pass_at(k, 5, 2) for k in (1, 2, 4)] == pytest.approx([0.4, 0.7, 1])
    assert [statistics.pass_all(k, 5, 2) for k in (1, 2, 3)] == pytest.approx([0.4, 0.1, 0])
    # 2 solved and 3 not: 6 of the 10 pairs disagree.
    flips = [statistics.flip_rate(*counts) for counts in ((5, 2), (2, 1), (4, 4))]
    assert flips == pytest.approx([0.6, 1, 0])
