"""The gates: what makes them red, and what does not."""

from fractions import Fraction

import pytest

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.results.file import Result, Results
from pytest_miniwob_agent.results.gate import Gate, judge, weaknesses


def run(outcomes, category="n-screen-n-step", task="click-pie", partial=(), first=1):
    """Results from one letter an item: + solved, - unsolved, or d, e, w, b for what is not told.

    With repeats, one word of such letters an item.
    """
    words = {"+": "solved", "-": "unsolved", "d": "drifted", "e": "error", "w": "waiting",
             "b": "budget"}  # fmt: skip
    found = []
    for seed, samples in enumerate(outcomes, start=first):
        for repeat, letter in enumerate(samples, start=1):
            found.append(
                Result(
                    category=category, task=task, seed=seed, repeat=repeat, agent="a", model="m",
                    outcome=words[letter], solved_at=1 if letter == "+" else None,
                    endings={"+": ("correct",), "-": ("cycle", "failed")}.get(letter, ()),
                    reason="" if letter in "+-" else f"because {letter}",
                )
            )  # fmt: skip
    return Results(tuple(found), tuple(partial))


def both(*results):
    return Results(tuple(result for each in results for result in each.results))


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
            ("rate:2.5", Gate("rate", points=Fraction(25, 1000))),
            ("rate:0", Gate("rate")),
        ],
    )
    def test_gates(self, text, gate):
        assert Gate.parse(text) == gate
        assert Gate.parse(str(gate)) == gate

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("pared", r"no gate is called 'pared' \(did you mean paired\?\); gates are items, "),
            ("", r"no gate is called ''"),
            ("items:0", r"'0' is no number of samples"),
            ("items:x", r"'x' is no number of samples"),
            ("paired:5", r"'5' is no level from 0 to 1"),
            ("paired:0", r"'0' is no level"),
            ("paired:nan", r"'nan' is no level"),
            ("paired:", r"'' is no level"),
            ("rate", r"the gate rate needs the points that may be lost, as in rate:5"),
            ("rate:100", r"'100' are no points from 0 to 100"),
            ("rate:-1", r"'-1' are no points"),
            ("rate:1e3", r"'1e3' are no points"),
        ],
    )
    def test_what_is_no_gate(self, text, message):
        with pytest.raises(UsageError, match=message):
            Gate.parse(text)


class TestItems:
    def test_an_item_that_is_lost_fails(self):
        verdict = judge(run("++-"), run("+-+"), Gate())
        assert kinds(verdict) == ["regressed"]
        assert [pair.item for pair in verdict.regressed] == ["n-screen-n-step/click-pie/2"]
        assert [pair.item for pair in verdict.progressed] == ["n-screen-n-step/click-pie/3"]
        assert verdict.reasons[0].details == (
            "n-screen-n-step/click-pie/2: solved in trial 1 -> unsolved (cycle, failed)",
        )

    def test_a_known_weakness_does_not(self):
        assert judge(run("+-"), run("+-"), Gate()).passed
        assert weaknesses(run("+-"), Gate()) == {
            "n-screen-n-step/click-pie/2": "unsolved (cycle, failed)"
        }

    def test_with_repeats_more_than_half_of_the_samples_count(self):
        base = run(["+++", "++-", "--+"])
        verdict = judge(base, run(["++-", "+--", "---"]), Gate())
        assert [pair.item for pair in verdict.regressed] == ["n-screen-n-step/click-pie/2"]
        assert "2 of 3 solved (correct; correct; cycle, failed)" in verdict.reasons[0].details[0]
        assert list(weaknesses(base, Gate())) == ["n-screen-n-step/click-pie/3"]

    def test_or_as_many_as_are_asked_for(self):
        base, head = run(["+++", "++-", "--+"]), run(["++-", "+--", "---"])
        assert [p.item[-1] for p in judge(base, head, Gate.parse("items:1")).regressed] == ["3"]
        assert [p.item[-1] for p in judge(base, head, Gate.parse("items:3")).regressed] == ["1"]
        with pytest.raises(UsageError, match=r"items:4: .*click-pie/1 has 3 samples"):
            judge(base, head, Gate.parse("items:4"))


class TestWhatCannotBeTold:
    @pytest.mark.parametrize("gate", ["items", "paired", "rate:50"])
    @pytest.mark.parametrize(
        ("letter", "word", "cure"),
        [("d", "drifted", "record"), ("e", "error", "mend"), ("w", "waiting", "answered"),
         ("b", "budget", "raise the budget")],
    )  # fmt: skip
    def test_a_gate_does_not_pass_and_no_item_regressed(self, gate, letter, word, cure):
        verdict = judge(run("+++++"), run("++++" + letter), Gate.parse(gate))
        assert kinds(verdict) == ["unclear"]
        assert verdict.regressed == ()
        assert verdict.outcomes == {"solved": 4, word: 1}
        assert verdict.reasons[0].details == (f"because {letter}: n-screen-n-step/click-pie/5",)
        assert cure in verdict.reasons[0].cure

    def test_one_sample_of_several_is_enough(self):
        assert kinds(judge(run(["++"]), run(["+d"]), Gate())) == ["unclear"]

    def test_each_kind_is_a_reason_of_its_own(self):
        verdict = judge(run("++++"), run("dde-"), Gate())
        assert [reason.text for reason in verdict.reasons] == [
            "2 items could not be told: drifted",
            "1 item could not be told: error",
            "1 item solved before and no longer",
        ]

    def test_equal_reasons_are_told_once(self):
        (reason, empty) = judge(run("+" * 9), run("d" * 9), Gate()).reasons
        assert reason.details == (
            "because d: "
            + ", ".join(f"n-screen-n-step/click-pie/{seed}" for seed in range(1, 6))
            + " and 4 more",
        )
        assert empty.text == "no item could be told in both, so nothing was compared"

    def test_a_baseline_of_a_partial_run_is_noted(self):
        verdict = judge(run("+", partial=["9 items deselected"]), run("++"), Gate())
        assert verdict.passed
        assert verdict.notes[0] == (
            "the baseline is of a partial run (9 items deselected); what it does not have is not "
            "judged"
        )

    def test_what_the_baseline_could_not_tell_is_only_noted(self):
        verdict = judge(run("+e"), run("++"), Gate())
        assert verdict.passed
        assert verdict.notes == (
            "the baseline itself could not tell n-screen-n-step/click-pie/2; write it again to "
            "have them judged",
        )
        assert judge(run("+e"), run("+e"), Gate()).passed

    def test_a_new_item_is_only_noted(self):
        verdict = judge(run("+"), run("+-e"), Gate())
        assert verdict.passed
        assert verdict.new == ("n-screen-n-step/click-pie/2", "n-screen-n-step/click-pie/3")


class TestMissing:
    def test_an_item_that_did_not_run_fails(self):
        verdict = judge(run("+-+"), run("+", partial=["-x"]), Gate.parse("paired"))
        assert kinds(verdict) == ["missing"]
        assert verdict.missing == ("n-screen-n-step/click-pie/2", "n-screen-n-step/click-pie/3")
        assert verdict.reasons[0].text == "2 items of the baseline did not run (a partial run: -x)"

    def test_unless_it_was_deselected(self):
        base = run(["++", "++", "++"])
        left = {"n-screen-n-step/click-pie/2", "n-screen-n-step/click-pie/2-2"}
        verdict = judge(base, run(["++"]), Gate(), left | {"n-screen-n-step/click-pie/3"})
        assert verdict.missing == ("n-screen-n-step/click-pie/3",)
        assert verdict.left_out == ("n-screen-n-step/click-pie/2",)
        verdict = judge(run("++"), run("+"), Gate(), left)
        assert verdict.passed
        assert verdict.notes == ("left out on purpose: 1 item of the baseline",)

    def test_a_gate_that_compared_nothing_has_not_passed(self):
        assert kinds(judge(run(""), run("+"), Gate())) == ["empty"]
        assert kinds(judge(run("+"), run("+", first=2), Gate.parse("rate:5"))) == [
            "missing",
            "empty",
        ]
        left = {"n-screen-n-step/click-pie/1"}
        assert kinds(judge(run("+"), run(""), Gate.parse("paired"), left)) == ["empty"]


class TestPaired:
    def test_single_flips_fail_nothing(self):
        verdict = judge(run("+" * 96 + "--"), run("+" * 92 + "----+-"), Gate.parse("paired"))
        assert verdict.passed
        assert len(verdict.regressed) == 4
        assert len(verdict.progressed) == 1

    def test_five_lost_and_none_gained_fail(self):
        base = run("+" * 60)
        assert judge(base, run("+" * 56 + "-" * 4), Gate.parse("paired")).passed
        verdict = judge(base, run("+" * 55 + "-" * 5), Gate.parse("paired"))
        assert kinds(verdict) == ["regressed"]
        assert verdict.reasons[0].text == (
            "whole: the solved rate fell from 100 to 91.7 % over 60 items; p = 0.031 (one-sided "
            "exact McNemar test)"
        )
        assert len(verdict.reasons[0].details) == 5
        assert judge(base, run("+" * 55 + "-" * 5), Gate.parse("paired:0.03")).passed

    def test_a_level_that_is_met_exactly_is_met(self):
        verdict = judge(run("+" * 60), run("+" * 55 + "-" * 5), Gate.parse("paired:0.03125"))
        assert not verdict.passed

    def test_better_is_never_red(self):
        assert judge(run("-" * 60), run("+" * 60), Gate.parse("paired")).passed

    def test_repeats_make_no_items(self):
        # 12 of 12 samples lost, but of one item only: p = 1/2.
        base = run(["+" * 12] + ["+" * 12] * 30)
        verdict = judge(base, run(["-" * 12] + ["+" * 12] * 30), Gate.parse("paired"))
        assert verdict.passed

    def test_repeats_with_different_numbers_of_samples(self):
        base = run(["+++"] * 8 + ["+"] * 8)
        head = run(["+--"] * 8 + ["+"] * 8)
        (reason,) = judge(base, head, Gate.parse("paired")).reasons
        assert "p = 0.0039 (one-sided exact sign-flip test)" in reason.text

    def test_a_category_is_corrected_for_their_number(self):
        def runs(lost, gained):
            left = run("-" * lost + "+" * (60 - lost), "1-screen-1-step")
            right = run("+" * gained + "-" * (60 - gained), "n-screen-n-step")
            return both(left, right)

        base = runs(0, 0)
        # 5 lost: p = 1/32, times two categories more than 0.05; 6 lost: 2/64 is less.
        assert judge(base, runs(5, 5), Gate.parse("paired")).passed
        (reason,) = judge(base, runs(6, 6), Gate.parse("paired")).reasons
        assert reason.text == (
            "1-screen-1-step: the solved rate fell from 100 to 90 % over 60 items; p = 0.031 "
            "(one-sided exact McNemar test, corrected for 2 categories)"
        )
        assert all("1-screen-1-step" in detail for detail in reason.details)

    @pytest.mark.parametrize(
        ("items", "lost", "red"),
        [(1, 1, False), (2, 1, False), (2, 2, True), (4, 2, False), (4, 3, True),
         (10, 3, False), (10, 4, True)],
    )  # fmt: skip
    def test_the_safeguard_on_few_items(self, items, lost, red):
        head = run("-" * lost + "+" * (items - lost))
        verdict = judge(run("+" * items), head, Gate.parse("paired"))
        assert verdict.passed is not red
        if red:
            assert "by more than the safeguard's" in verdict.reasons[0].text

    def test_the_safeguards_risk_is_shared_among_the_categories(self):
        # 2 of 3 lost are red for a suite of their own, not for one of two categories; 3 of 3 are.
        assert not judge(run("+++"), run("--+"), Gate.parse("paired")).passed
        other = run("+" * 60, "1-screen-1-step")
        base = both(other, run("+++"))
        assert judge(base, both(other, run("--+")), Gate.parse("paired")).passed
        (reason,) = judge(base, both(other, run("---")), Gate.parse("paired")).reasons
        assert reason.text == (
            "n-screen-n-step: the solved rate fell from 100 to 0 % over 3 items, by more than the "
            "safeguard's 70 points"
        )

    def test_the_safeguard_over_many_items_is_ten_points(self):
        # 90 lost and 67 gained of 200 (11.5 points, p = 0.04) at a level that this does not meet.
        base = run("+" * 100 + "-" * 100)
        head = run("-" * 90 + "+" * 10 + "+" * 67 + "-" * 33)
        (reason,) = judge(base, head, Gate.parse("paired:0.001")).reasons
        assert "fell from 50 to 38.5 % over 200 items, by more than the safeguard's 10" in (
            reason.text
        )
        head = run("-" * 87 + "+" * 13 + "+" * 67 + "-" * 33)
        assert judge(base, head, Gate.parse("paired:0.001")).passed

    def test_too_few_items_are_said_to_be_too_few(self):
        verdict = judge(run("+" * 20), run("+" * 18 + "--"), Gate.parse("paired"))
        assert verdict.notes == (
            "2 worse, 0 better: 20 items are too few to tell. About 60 would show a drop of 10 "
            "points four times out of five; run more seeds",
            "fewer than 5 items changed, so no p-value could have reached 0.05",
        )

    def test_enough_items_are_said_to_be_enough(self):
        head = run("+" * 93 + "-----++")
        verdict = judge(run("+" * 98 + "--"), head, Gate.parse("paired"))
        assert verdict.notes == (
            "5 worse, 2 better: no significant change for the worse, p = 0.23; a drop of 10 "
            "points would show four times out of five",
        )


class TestRate:
    def test_a_drop_of_just_the_points_passes(self):
        base = run("+" * 20)
        assert judge(base, run("+" * 19 + "-"), Gate.parse("rate:5")).passed
        (reason,) = judge(base, run("+" * 18 + "--"), Gate.parse("rate:5")).reasons
        assert reason.text == (
            "whole: the solved rate fell from 100 to 90 % over 20 items, by more than 5 points"
        )

    def test_only_the_whole_counts(self):
        base = both(run("++", "1-screen-1-step"), run("-" * 18 + "++"))
        head = both(run("--", "1-screen-1-step"), run("+" * 18 + "++"))
        assert judge(base, head, Gate.parse("rate:5")).passed

    def test_with_repeats_the_mean_share_counts(self):
        assert judge(run(["++"] * 4), run(["++"] * 3 + ["+-"]), Gate.parse("rate:12.5")).passed
        assert not judge(run(["++"] * 4), run(["++"] * 3 + ["--"]), Gate.parse("rate:12.5")).passed


def test_lines_fit_and_name_items_and_cure():
    verdict = judge(run("+" * 30), run("-" * 25 + "+" * 4), Gate())
    for width in (60, 80, 200):
        lines = verdict.lines(width, most=3)
        assert max(map(len, lines)) <= width
    assert verdict.lines(100, most=3) == [
        "gate items: FAILED",
        "  1 item of the baseline did not run",
        "    n-screen-n-step/click-pie/30",
        "  -> run them too; if they were removed on purpose, write the baseline again",
        "  25 items solved before and no longer",
        "    n-screen-n-step/click-pie/1: solved in trial 1 -> unsolved (cycle, failed)",
        "    n-screen-n-step/click-pie/10: solved in trial 1 -> unsolved (cycle, failed)",
        "    n-screen-n-step/click-pie/11: solved in trial 1 -> unsolved (cycle, failed)",
        "    and 22 more",
        "  -> mend the change; if the loss is wanted, write the baseline again",
    ]
    assert judge(run("+"), run("+"), Gate()).lines() == ["gate items: passed"]


def test_lines_list_what_the_gate_allows():
    verdict = judge(run("++++-+"), run("+--+++"), Gate.parse("rate:50"))
    assert verdict.lines(200, most=1, more="all with -v") == [
        "gate rate:50: passed",
        "  2 items no longer solved, which this gate allows",
        "    n-screen-n-step/click-pie/2: solved in trial 1 -> unsolved (cycle, failed)",
        "    and 1 more (all with -v)",
        "  1 item solved now and not in the baseline",
        "    n-screen-n-step/click-pie/5: unsolved (cycle, failed) -> solved in trial 1",
    ]
    assert len(verdict.lines(200, most=None)) == 6
    assert verdict.lines(200, changes=False) == ["gate rate:50: passed"]


def test_lines_name_an_item_once():
    """The whole names the items; a category that is red too does not name them again."""
    base = both(run("+" * 40), run("+" * 40, "1-screen-1-step"))
    head = both(run("-" * 12 + "+" * 28), run("-" + "+" * 39, "1-screen-1-step"))
    verdict = judge(base, head, Gate.parse("paired"))
    assert [reason.text.partition(":")[0] for reason in verdict.reasons] == [
        "whole",
        "n-screen-n-step",
    ]
    assert [bool(reason.cure) for reason in verdict.reasons] == [False, True]
    lines = verdict.lines(200)
    for pair in verdict.regressed:
        assert lines.count(f"    {pair}") == 1
