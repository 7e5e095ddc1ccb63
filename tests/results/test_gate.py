"""The gates: the changes that turn them red, and those that do not."""

import random
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from made_results import joined, run_of

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import MARGIN, Gate, judge


def changed(outcomes):
    """The results of a run with another prompt, so that every item could have changed."""
    prompts = {"plan.txt": "new"}
    return Results(tuple(replace(each, prompts=prompts) for each in run_of(outcomes).results))


def kinds(verdict):
    return [reason.kind for reason in verdict.reasons]


class TestParsing:
    @pytest.mark.parametrize(
        ("text", "gate"),
        [
            ("items", Gate("items")),
            ("items:2", Gate("items", at_least=2)),
            ("paired", Gate("paired", alpha=0.05)),
            (" paired:0.01 ", Gate("paired", alpha=0.01)),
            ("paired:.1", Gate("paired", alpha=0.1)),
            ("paired:strict", Gate("paired", strict=True)),
            ("paired:0.01:strict", Gate("paired", alpha=0.01, strict=True)),
            ("rate:2.5", Gate("rate", points=Fraction(25, 1000))),
            ("rate:0", Gate("rate")),
        ],
    )
    def test_a_gate_is_read_and_printed(self, text, gate):
        assert Gate.parse(text) == gate
        assert Gate.parse(str(gate)) == gate

    @pytest.mark.parametrize(
        "text",
        [
            "", "items:0", "items:x", "items:strict", "paired:5", "paired:0", "paired:nan",
            "paired:", "paired:strict:0.05", "rate", "rate:100", "rate:-1", "rate:1e3",
        ],
    )  # fmt: skip
    def test_a_wrong_gate_is_an_error_that_says_what_is_allowed(self, text):
        with pytest.raises(
            UsageError, match=f"gate '{text}' is not valid; gates are items, .*M is"
        ):
            Gate.parse(text)

    def test_a_name_like_that_of_a_gate_is_suggested(self):
        with pytest.raises(UsageError, match=r"'pared' is not valid \(did you mean paired\?\); "):
            Gate.parse("pared")


class TestItemsGate:
    def test_an_item_that_was_solved_and_no_longer_is_fails(self):
        verdict = judge(run_of("++-"), run_of("+-+"), Gate())
        assert kinds(verdict) == ["regressed"]
        assert [pair.item for pair in verdict.regressed] == ["n-screen-n-step/click-pie/2"]
        assert [pair.item for pair in verdict.progressed] == ["n-screen-n-step/click-pie/3"]
        assert verdict.reasons[0].details == (
            "n-screen-n-step/click-pie/2: solved in trial 1 -> unsolved (cycle, failed)",
        )

    def test_an_item_counts_as_solved_if_more_than_half_of_its_samples_are(self):
        base = run_of(["+++", "++-", "--+"])
        verdict = judge(base, run_of(["++-", "+--", "---"]), Gate())
        assert [pair.item for pair in verdict.regressed] == ["n-screen-n-step/click-pie/2"]
        assert "2 of 3 solved (correct; correct; cycle, failed)" in verdict.reasons[0].details[0]

    def test_items_m_counts_an_item_as_solved_if_m_samples_are(self):
        base, head = run_of(["+++", "++-", "--+"]), run_of(["++-", "+--", "---"])
        assert [p.item[-1] for p in judge(base, head, Gate.parse("items:1")).regressed] == ["3"]
        assert [p.item[-1] for p in judge(base, head, Gate.parse("items:3")).regressed] == ["1"]
        with pytest.raises(UsageError, match=r"items:4: .*click-pie/1 has 3 samples"):
            judge(base, head, Gate.parse("items:4"))


class TestInconclusiveItems:
    @pytest.mark.parametrize(
        ("gate", "letter", "word", "hint"),
        [("items", "d", "drifted", "record"), ("paired", "e", "error", "fix"),
         ("rate:50", "w", "waiting", "answered"), ("items", "b", "budget", "raise the budget")],
    )  # fmt: skip
    def test_they_fail_every_gate_and_are_not_regressions(self, gate, letter, word, hint):
        verdict = judge(run_of("+++++"), run_of("++++" + letter), Gate.parse(gate))
        assert kinds(verdict) == ["unclear"]
        assert verdict.regressed == ()
        assert word in verdict.reasons[0].text
        assert verdict.reasons[0].details == (f"because {letter}: n-screen-n-step/click-pie/5",)
        assert hint in verdict.reasons[0].hint

    def test_each_status_is_a_separate_reason_and_one_sample_of_several_is_enough(self):
        verdict = judge(
            run_of(["+", "+", "+", "+", "++"]), run_of(["d", "d", "e", "-", "+d"]), Gate()
        )
        assert [reason.text for reason in verdict.reasons] == [
            "3 items inconclusive: drifted",
            "1 item inconclusive: error",
            "1 item solved before and no longer",
        ]

    def test_items_with_equal_reasons_are_listed_together(self):
        (reason, empty) = judge(run_of("+" * 9), run_of("d" * 9), Gate()).reasons
        names = ", ".join(f"n-screen-n-step/click-pie/{seed}" for seed in range(1, 6))
        assert reason.details == (f"because d: {names} and 4 more",)
        assert empty.text == "no item is conclusive in both, so nothing was compared"

    def test_items_that_the_baseline_does_not_decide_are_only_noted(self):
        verdict = judge(run_of("+e", partial=["9 items deselected"]), run_of("++-e"), Gate())
        assert verdict.passed
        item = "n-screen-n-step/click-pie"
        assert verdict.notes == (
            "the baseline comes from a partial run (9 items deselected); items it does not have "
            "are not judged",
            f"not in the baseline: {item}/3, {item}/4",
            f"inconclusive in the baseline itself: {item}/2; write it again to have them judged",
        )
        assert judge(run_of("+e"), run_of("+e"), Gate()).passed


class TestMissingItems:
    def test_an_item_that_did_not_run_fails(self):
        verdict = judge(run_of("+-+"), run_of("+", partial=["-x"]), Gate.parse("paired"))
        assert kinds(verdict) == ["missing"]
        assert [detail[-1] for detail in verdict.reasons[0].details] == ["2", "3"]
        assert verdict.reasons[0].text == "2 items of the baseline did not run (a partial run: -x)"

    def test_an_item_that_was_deselected_does_not_fail(self):
        base = run_of(["++", "++", "++"])
        left = {"n-screen-n-step/click-pie/2", "n-screen-n-step/click-pie/2-2"}
        verdict = judge(base, run_of(["++"]), Gate(), left | {"n-screen-n-step/click-pie/3"})
        assert verdict.reasons[0].details == ("n-screen-n-step/click-pie/3",)
        verdict = judge(run_of("++"), run_of("+"), Gate(), left)
        assert verdict.passed
        assert verdict.notes == ("left out on purpose: 1 item of the baseline",)

    def test_a_gate_that_compared_nothing_fails(self):
        assert kinds(judge(run_of(""), run_of("+"), Gate())) == ["empty"]
        other = judge(run_of("+"), run_of("+", first=2), Gate.parse("rate:5"))
        assert kinds(other) == ["missing", "empty"]
        left = {"n-screen-n-step/click-pie/1"}
        assert kinds(judge(run_of("+"), run_of(""), Gate.parse("paired"), left)) == ["empty"]


class TestPairedGate:
    def test_single_flips_do_not_fail(self):
        verdict = judge(run_of("+" * 96 + "--"), run_of("+" * 92 + "----+-"), Gate.parse("paired"))
        assert not verdict.failed
        assert len(verdict.regressed) == 4
        assert len(verdict.progressed) == 1

    def test_five_items_lost_and_none_gained_fail(self):
        base = run_of("+" * 60)
        assert not judge(base, run_of("+" * 56 + "-" * 4), Gate.parse("paired")).failed
        verdict = judge(base, run_of("+" * 55 + "-" * 5), Gate.parse("paired"))
        assert kinds(verdict) == ["regressed"]
        assert verdict.decision == "failed"
        assert verdict.reasons[0].text == (
            "whole: the solved rate fell from 100 to 91.7 % over 60 items; p = 0.031 (one-sided "
            "exact McNemar test)"
        )
        assert len(verdict.reasons[0].details) == 5
        assert not judge(base, run_of("+" * 55 + "-" * 5), Gate.parse("paired:0.03")).failed
        assert judge(base, run_of("+" * 55 + "-" * 5), Gate.parse("paired:0.03125")).failed

    def test_a_change_for_the_better_never_fails(self):
        assert judge(run_of("-" * 60), run_of("+" * 60), Gate.parse("paired")).passed

    def test_the_test_takes_as_many_samples_before_as_after(self):
        # Of five samples one in six is lost by chance, while a single one can't be lost in part:
        # with all samples, equal runs would be red again and again.
        base, head = run_of(["+"] * 20), run_of(["++++-"] * 10 + ["+++++"] * 10)
        assert not judge(base, head, Gate.parse("paired")).failed
        assert judge(base, run_of(["-++++"] * 10 + ["+++++"] * 10), Gate.parse("paired")).failed

    def test_items_may_have_different_numbers_of_samples(self):
        base = run_of(["+++"] * 8 + ["+"] * 8)
        head = run_of(["+--"] * 8 + ["+"] * 8)
        (reason,) = judge(base, head, Gate.parse("paired")).reasons
        assert "p = 0.0039 (one-sided exact sign-flip test)" in reason.text

    def test_the_whole_and_the_categories_hold_the_level_together(self):
        def runs(lost, gained):
            left = run_of("-" * lost + "+" * (60 - lost), "1-screen-1-step")
            right = run_of("+" * gained + "-" * (60 - gained), "n-screen-n-step")
            return joined(left, right)

        base = runs(0, 0)
        # All 5 lost in one of two categories: 1/32, and 1/32 more for the other, is above 0.05.
        # All 6 lost: 1/64 twice, less both at once (1/4096), and 36 more of all 4096 patterns where
        # the whole has two gains at most.
        assert not judge(base, runs(5, 5), Gate.parse("paired")).failed
        (reason,) = judge(base, runs(6, 6), Gate.parse("paired")).reasons
        assert reason.text == (
            "1-screen-1-step: the solved rate fell from 100 to 90 % over 60 items; p = 0.04 "
            "(one-sided exact McNemar test, corrected for the whole and 2 categories)"
        )
        assert all("1-screen-1-step" in detail for detail in reason.details)


class TestInconclusiveVerdict:
    """Too few items to show a loss, and to rule one out."""

    def test_it_does_not_fail_and_names_the_items_that_would_decide(self):
        verdict = judge(run_of("+" * 20), changed("+" * 18 + "--"), Gate.parse("paired"))
        assert (verdict.decision, verdict.failed, verdict.passed) == ("inconclusive", False, False)
        assert verdict.reasons[0].text == (
            "2 worse, 0 better: no change for the worse is shown (p = 0.25), and no loss of 10 "
            "points ruled out (95 % interval -30.1 to +7.7)"
        )
        assert verdict.reasons[0].hint == (
            "about 60 items would decide four times out of five: run more seeds"
        )

    def test_where_there_are_some_items_repeats_would_decide_too(self):
        verdict = judge(run_of("+" * 60), changed("+" * 56 + "----"), Gate.parse("paired"))
        hint = verdict.reasons[0].hint
        assert re.search(r"seeds, or repeat every item in both runs, about [2-9] samples", hint)

    def test_strict_fails_the_run_for_it(self):
        verdict = judge(run_of("+" * 20), changed("+" * 18 + "--"), Gate("paired", strict=True))
        assert (verdict.failed, kinds(verdict)) == (True, ["undecided"])
        enough = run_of("+" * 100), changed("+" * 98 + "--")
        assert judge(*enough, Gate("paired", strict=True)).passed

    def test_a_gate_that_passes_rules_a_loss_out(self):
        verdict = judge(run_of("+" * 98 + "--"), changed("+" * 96 + "--++"), Gate.parse("paired"))
        assert verdict.decision == "passed"
        assert verdict.notes == (
            "2 worse, 2 better: no significant change for the worse, p = 0.69; a loss of 10 points "
            "is ruled out (95 % interval -5.2 to +5.2)",
        )

    def test_a_replay_of_the_baseline_passes_however_few_its_items(self):
        verdict = judge(run_of("+-"), run_of("+-"), Gate.parse("paired"))
        assert verdict.decision == "passed"
        assert verdict.notes == ("every item ran as in the baseline, call by call",)

    def test_a_change_that_few_items_meet_is_inconclusive_if_these_got_worse(self):
        base = run_of("+" * 200)
        verdict = judge(base, run_of("+" * 196 + "----"), Gate.parse("paired"))
        assert verdict.reasons[0].text == (
            "4 worse, 0 better, but only 4 items ran differently from the baseline: fewer than 5 "
            "can't give a p-value of 0.05"
        )
        assert judge(base, changed("+" * 196 + "----"), Gate.parse("paired")).passed

    def test_the_items_that_are_named_decide_about_four_times_out_of_five(self):
        chance = random.Random(3)
        items = statistics.deciding_items(0.0, 0.2, float(MARGIN))
        decided = 0
        for _ in range(16):
            moved = [chance.choice("+-") if chance.random() < 0.4 else "=" for _ in range(items)]
            after = "".join(chance.choice("+-") if each != "=" else "+" for each in moved)
            before = run_of("".join(moved).replace("=", "+"))
            verdict = judge(before, changed(after), Gate.parse("paired"))
            decided += verdict.decision != "inconclusive"
        assert 0.65 <= decided / 16 <= 0.95


class TestRateGate:
    def test_a_drop_of_exactly_the_allowed_points_passes(self):
        base = run_of("+" * 20)
        assert judge(base, run_of("+" * 19 + "-"), Gate.parse("rate:5")).passed
        (reason,) = judge(base, run_of("+" * 18 + "--"), Gate.parse("rate:5")).reasons
        assert reason.text == (
            "whole: the solved rate fell from 100 to 90 % over 20 items, by more than 5 points"
        )

    def test_the_rate_over_all_items_counts_not_that_of_a_category(self):
        base = joined(run_of("++", "1-screen-1-step"), run_of("-" * 18 + "++"))
        head = joined(run_of("--", "1-screen-1-step"), run_of("+" * 18 + "++"))
        assert judge(base, head, Gate.parse("rate:5")).passed

    def test_with_repeats_the_mean_share_of_solved_samples_counts(self):
        base, gate = run_of(["++"] * 4), Gate.parse("rate:12.5")
        assert judge(base, run_of(["++"] * 3 + ["+-"]), gate).passed
        assert not judge(base, run_of(["++"] * 3 + ["--"]), gate).passed
