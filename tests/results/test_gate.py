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

ITEM = "n-screen-n-step/click-pie"
PAIRED = Gate("paired")


def changed(outcomes):
    """The results of a run with another prompt, so that every item could have changed."""
    prompts = {"plan.txt": "new"}
    return Results(tuple(replace(each, prompts=prompts) for each in run_of(outcomes).results))


def kinds(verdict):
    return [reason.kind for reason in verdict.reasons]


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
def test_a_gate_is_read_and_printed(text, gate):
    assert Gate.parse(text) == gate
    assert Gate.parse(str(gate)) == gate


@pytest.mark.parametrize(
    "text", ["", "items:0", "items:strict", "paired:5", "paired:0", "rate", "rate:100", "rate:1e3"]
)
def test_a_wrong_gate_is_an_error_that_says_what_is_allowed(text):
    with pytest.raises(UsageError, match=f"gate '{text}' is not valid; gates are items, .*M is"):
        Gate.parse(text)


def test_a_name_like_that_of_a_gate_is_suggested():
    with pytest.raises(UsageError, match=r"'pared' is not valid \(did you mean paired\?\); "):
        Gate.parse("pared")


@pytest.mark.parametrize(
    ("gate", "before", "after", "failed"),
    [
        pytest.param("paired", "+" * 98, "+" * 94 + "----", False, id="four lost"),
        pytest.param("paired", "+" * 60, "+" * 55 + "-" * 5, True, id="five lost, none gained"),
        pytest.param("paired:0.03", "+" * 60, "+" * 55 + "-" * 5, False, id="p above alpha"),
        pytest.param("paired:0.03125", "+" * 60, "+" * 55 + "-" * 5, True, id="p is alpha"),
        pytest.param("paired", "-" * 60, "+" * 60, False, id="better"),
        # Of five samples one in six is lost by chance, while a single one can't be lost in part:
        # with all samples, equal runs would be red again and again.
        pytest.param(
            "paired", ["+"] * 20, ["++++-"] * 10 + ["+++++"] * 10, False, id="later samples lost"
        ),
        pytest.param(
            "paired", ["+"] * 20, ["-++++"] * 10 + ["+++++"] * 10, True, id="first samples lost"
        ),
        pytest.param("rate:5", "+" * 20, "+" * 19 + "-", False, id="exactly the points"),
        pytest.param("rate:12.5", ["++"] * 4, ["++"] * 3 + ["+-"], False, id="one sample of 8"),
        pytest.param("rate:12.5", ["++"] * 4, ["++"] * 3 + ["--"], True, id="two samples of 8"),
    ],
)
def test_a_gate_fails_by_what_was_lost(gate, before, after, failed):
    assert judge(run_of(before), run_of(after), Gate.parse(gate)).failed == failed


class TestItemsGate:
    def test_an_item_that_was_solved_and_no_longer_is_fails(self):
        verdict = judge(run_of("++-"), run_of("+-+"), Gate())
        assert kinds(verdict) == ["regressed"]
        assert [pair.item for pair in verdict.regressed] == [f"{ITEM}/2"]
        assert [pair.item for pair in verdict.progressed] == [f"{ITEM}/3"]
        lost = f"{ITEM}/2: solved in trial 1 -> unsolved (cycle, failed)"
        assert verdict.reasons[0].details == (lost,)

    @pytest.mark.parametrize(("gate", "lost"), [("items", "2"), ("items:1", "3"), ("items:3", "1")])
    def test_an_item_counts_as_solved_if_more_than_half_or_m_of_its_samples_are(self, gate, lost):
        base, head = run_of(["+++", "++-", "--+"]), run_of(["++-", "+--", "---"])
        verdict = judge(base, head, Gate.parse(gate))
        assert [pair.item for pair in verdict.regressed] == [f"{ITEM}/{lost}"]
        assert re.search(r"\d of 3 solved \(.*; .*; .*\) -> ", verdict.reasons[0].details[0])
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
        (reason,) = verdict.reasons
        assert word in reason.text
        assert reason.details == (f"because {letter}: {ITEM}/5",)
        assert hint in reason.hint

    def test_each_status_is_a_separate_reason_and_one_sample_of_several_is_enough(self):
        base, head = run_of(["+", "+", "+", "+", "++"]), run_of(["d", "d", "e", "-", "+d"])
        assert [reason.text for reason in judge(base, head, Gate()).reasons] == [
            "3 items inconclusive: drifted",
            "1 item inconclusive: error",
            "1 item solved before and no longer",
        ]

    def test_items_with_equal_reasons_are_listed_together(self):
        (reason, empty) = judge(run_of("+" * 9), run_of("d" * 9), Gate()).reasons
        names = ", ".join(f"{ITEM}/{seed}" for seed in range(1, 6))
        assert reason.details == (f"because d: {names} and 4 more",)
        assert empty.text == "no item is conclusive in both, so nothing was compared"

    def test_items_that_the_baseline_does_not_decide_are_only_noted(self):
        verdict = judge(run_of("+e", partial=["9 items deselected"]), run_of("++-e"), Gate())
        assert verdict.passed
        assert verdict.notes == (
            "the baseline comes from a partial run (9 items deselected); items it does not have "
            "are not judged",
            f"not in the baseline: {ITEM}/3, {ITEM}/4",
            f"inconclusive in the baseline itself: {ITEM}/2; write it again to have them judged",
        )
        assert judge(run_of("+e"), run_of("+e"), Gate()).passed


class TestMissingItems:
    def test_an_item_that_did_not_run_fails(self):
        verdict = judge(run_of("+-+"), run_of("+", partial=["-x"]), PAIRED)
        assert kinds(verdict) == ["missing"]
        assert verdict.reasons[0].details == (f"{ITEM}/2", f"{ITEM}/3")
        assert verdict.reasons[0].text == "2 items of the baseline did not run (a partial run: -x)"

    def test_an_item_that_was_deselected_does_not_fail(self):
        left = {f"{ITEM}/2", f"{ITEM}/2-2"}
        verdict = judge(run_of(["++"] * 3), run_of(["++"]), Gate(), left | {f"{ITEM}/3"})
        assert verdict.reasons[0].details == (f"{ITEM}/3",)
        verdict = judge(run_of("++"), run_of("+"), Gate(), left)
        assert verdict.passed
        assert verdict.notes == ("left out on purpose: 1 item of the baseline",)

    def test_a_gate_that_compared_nothing_fails(self):
        assert kinds(judge(run_of(""), run_of("+"), Gate())) == ["empty"]
        other = judge(run_of("+"), run_of("+", first=2), Gate.parse("rate:5"))
        assert kinds(other) == ["missing", "empty"]
        assert kinds(judge(run_of("+"), run_of(""), PAIRED, {f"{ITEM}/1"})) == ["empty"]


class TestReasons:
    @pytest.mark.parametrize(
        ("gate", "before", "after", "text"),
        [
            (
                "paired",
                "+" * 60,
                "+" * 55 + "-" * 5,
                "60 items; p = 0.031 (one-sided exact McNemar",
            ),
            ("paired", ["+++"] * 8, ["+--"] * 8, "8 items; p = 0.0039 (one-sided exact sign-flip"),
            ("rate:5", "+" * 20, "+" * 18 + "--", "to 90 % over 20 items, by more than 5 points"),
        ],
        ids=["mcnemar", "sign-flip", "rate"],
    )
    def test_a_reason_has_the_figures_and_the_items(self, gate, before, after, text):
        (reason,) = judge(run_of(before), run_of(after), Gate.parse(gate)).reasons
        assert reason.kind == "regressed"
        assert reason.text.startswith("whole: the solved rate fell from 100 to ")
        assert text in reason.text
        assert reason.details[0].startswith(f"{ITEM}/")

    def test_the_whole_and_the_categories_hold_the_level_together(self):
        def runs(lost, gained):
            left = run_of("-" * lost + "+" * (60 - lost), "1-screen-1-step")
            return joined(left, run_of("+" * gained + "-" * (60 - gained), "n-screen-n-step"))

        base = runs(0, 0)
        # All 5 lost in one of two categories: 1/32, and 1/32 more for the other, is above 0.05.
        # All 6 lost: 1/64 twice, less both at once (1/4096), and 36 more of all 4096 patterns where
        # the whole has two gains at most.
        assert not judge(base, runs(5, 5), PAIRED).failed
        (reason,) = judge(base, runs(6, 6), PAIRED).reasons
        assert reason.text == (
            "1-screen-1-step: the solved rate fell from 100 to 90 % over 60 items; p = 0.04 "
            "(one-sided exact McNemar test, corrected for the whole and 2 categories)"
        )
        assert all("1-screen-1-step" in detail for detail in reason.details)

    def test_the_rate_over_all_items_counts_not_that_of_a_category(self):
        base = joined(run_of("++", "1-screen-1-step"), run_of("-" * 18 + "++"))
        head = joined(run_of("--", "1-screen-1-step"), run_of("+" * 18 + "++"))
        assert judge(base, head, Gate.parse("rate:5")).passed


class TestInconclusiveVerdict:
    """Too few items to show a loss, and to rule one out."""

    def test_it_names_the_items_that_would_decide_and_fails_only_if_strict(self):
        runs = run_of("+" * 20), changed("+" * 18 + "--")
        verdict = judge(*runs, PAIRED)
        assert (verdict.decision, verdict.failed, verdict.passed) == ("inconclusive", False, False)
        assert verdict.reasons[0].text == (
            "2 worse, 0 better: no change for the worse is shown (p = 0.25), and no loss of 10 "
            "points ruled out (95 % interval -30.1 to +7.7)"
        )
        hint = "about 60 items would decide four times out of five: run more seeds"
        assert verdict.reasons[0].hint == hint
        strict = judge(*runs, Gate("paired", strict=True))
        assert (strict.failed, kinds(strict)) == (True, ["undecided"])

    def test_where_there_are_some_items_repeats_would_decide_too(self):
        hint = judge(run_of("+" * 60), changed("+" * 56 + "----"), PAIRED).reasons[0].hint
        assert re.search(r"seeds, or repeat every item in both runs, about [2-9] samples", hint)

    def test_a_gate_that_passes_rules_a_loss_out(self):
        runs = run_of("+" * 98 + "--"), changed("+" * 96 + "--++")
        verdict = judge(*runs, Gate("paired", strict=True))
        assert verdict.decision == "passed"
        assert verdict.notes == (
            "2 worse, 2 better: no significant change for the worse, p = 0.69; a loss of 10 points "
            "is ruled out (95 % interval -5.2 to +5.2)",
        )

    def test_a_replay_of_the_baseline_passes_however_few_its_items(self):
        verdict = judge(run_of("+-"), run_of("+-"), PAIRED)
        assert verdict.decision == "passed"
        assert verdict.notes == ("every item ran as in the baseline, call by call",)

    def test_a_change_that_few_items_meet_is_inconclusive_if_these_got_worse(self):
        base, after = run_of("+" * 200), "+" * 196 + "----"
        assert judge(base, run_of(after), PAIRED).reasons[0].text == (
            "4 worse, 0 better, but only 4 items ran differently from the baseline: fewer than 5 "
            "can't give a p-value of 0.05"
        )
        assert judge(base, changed(after), PAIRED).passed

    def test_the_items_that_are_named_decide_about_four_times_out_of_five(self):
        chance = random.Random(3)
        items = statistics.deciding_items(0.0, 0.2, float(MARGIN))
        decided = 0
        for _ in range(16):
            moved = [chance.choice("+-") if chance.random() < 0.4 else "=" for _ in range(items)]
            after = "".join(chance.choice("+-") if each != "=" else "+" for each in moved)
            before = run_of("".join(moved).replace("=", "+"))
            decided += judge(before, changed(after), PAIRED).decision != "inconclusive"
        assert 0.65 <= decided / 16 <= 0.95
