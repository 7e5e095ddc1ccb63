"""The gates: the changes that turn them red, and those that do not."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from support.made_results import joined, make_result, run_of

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.grades import Grade
from pytest_miniwob_agent.core.outcome import Tokens
from pytest_miniwob_agent.models.budget import Price
from pytest_miniwob_agent.results.comparison import Limit
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import Gate, judge

ITEM = "n-screen-n-step/click-pie"
PAIRED = Gate("paired")


def changed(outcomes, **more):
    """The results of a run with another prompt, so that every item could have changed."""
    found = run_of(outcomes, **more).results
    return Results(tuple(replace(each, prompts={"plan.txt": "new"}) for each in found))


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
        ("paired:by-task", Gate("paired", by_task=True)),
        ("paired:0.01:by-task", Gate("paired", alpha=0.01, by_task=True)),
        ("paired, lenient", Gate("paired", lenient=True)),
        ("items,calls:+10%,cost:+2.5%", Gate(limits=(Limit("calls", 0.1), Limit("cost", 0.025)))),
        ("rate:2.5", Gate("rate", points=Fraction(25, 1000))),
        ("rate:0", Gate("rate")),
        ("grade:keeps-others:-5", Gate("grade", limits=(Limit("grade:keeps-others", 0.05),))),
        ("items,grade:a:-2.5", Gate(limits=(Limit("grade:a", 0.025),))),
    ],
)
def test_a_gate_is_read_and_printed(text, gate):
    assert Gate.parse(text) == gate
    assert Gate.parse(str(gate)) == gate


@pytest.mark.parametrize(
    "text",
    ["", "items:0", "paired:strict", "paired:5", "paired:0", "rate", "rate:100", "rate:1e3",
     "calls:+10%", "items,calls", "items,calls:10%", "items,time:+10%", "items,", "lenient",
     "twins", "twins,perturbed:-10", "perturbed", "perturbed:-10,calls:+10%", "followed:1,items",
     "grade", "grade:polite", "grade:polite:5", "grade::-5"],
)  # fmt: skip
def test_a_wrong_gate_is_an_error_that_says_what_is_allowed(text):
    with pytest.raises(
        UsageError, match=rf"gate {re.escape(repr(text))} is not v.*; gates are items, .*M is"
    ):
        Gate.parse(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("paird", " (did you mean paired?)"), ("perturb", " (did you mean perturbed?)"), ("twin", "")],
)
def test_a_name_like_that_of_a_gate_is_suggested(text, hint):
    with pytest.raises(UsageError, match=rf"'{text}' is not valid{re.escape(hint)}; "):
        Gate.parse(text)


@pytest.mark.parametrize(
    ("gate", "before", "after", "failed"),
    [
        pytest.param("paired,lenient", "+" * 98, "+" * 95 + "---", False, id="three lost"),
        pytest.param("paired", "+" * 60, "+" * 56 + "-" * 4, True, id="four lost, none gained"),
        pytest.param("paired", "+" * 5, "+----", True, id="four of five lost"),
        pytest.param("paired:0.045,lenient", "+" * 5, "+----", False, id="p above half of alpha"),
        pytest.param("paired:0.046", "+" * 5, "+----", True, id="p up to half of alpha"),
        pytest.param("paired", "-" * 60, "+" * 60, False, id="better"),
        # Of five samples one in six is lost by chance, while a single one can't be lost in part:
        # with all samples, equal runs would be red again and again.
        pytest.param(
            "paired,lenient", ["+"] * 20, ["++++-"] * 10 + ["+++++"] * 10, False, id="later lost"
        ),
        pytest.param("paired", ["+"] * 20, ["-++++"] * 10 + ["+++++"] * 10, True, id="first lost"),
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
        with pytest.raises(UsageError, match=r"items:2: .*click-pie/1 has 1 sample;"):
            judge(run_of("+"), run_of("+"), Gate.parse("items:2"))

    @pytest.mark.parametrize("samples", ["++d", "+ed", "ddd"])
    def test_samples_that_are_inconclusive_fail_it_and_are_not_too_few(self, samples):
        verdict = judge(run_of(["+++"]), run_of([samples]), Gate.parse("items:3"))
        assert verdict.decision == "failed"
        assert set(kinds(verdict)) - {"empty"} == {"unclear"}
        assert verdict.regressed == ()


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
        assert verdict.decision == "passed"
        assert verdict.notes == (
            "the baseline comes from a partial run (9 items deselected); items it does not have "
            "are not judged",
            f"not in the baseline: {ITEM}/3, {ITEM}/4",
            f"inconclusive in the baseline itself: {ITEM}/2; write it again to have them judged",
        )
        assert judge(run_of("+e"), run_of("+e"), Gate()).decision == "passed"


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
        assert verdict.decision == "passed"
        assert verdict.notes == ("left out on purpose: 1 item of the baseline",)

    def test_a_gate_that_compared_nothing_fails(self):
        assert kinds(judge(run_of(""), run_of("+"), Gate())) == ["empty"]
        other = judge(run_of("+"), run_of("+", first=2), Gate.parse("rate:5"))
        assert kinds(other) == ["missing", "empty"]
        assert other.reasons[1].text == "no item is in both result sets, so nothing was compared"
        assert kinds(judge(run_of("+"), run_of(""), PAIRED, {f"{ITEM}/1"})) == ["empty"]


class TestReasons:
    @pytest.mark.parametrize(
        ("gate", "before", "after", "text"),
        [
            (
                "paired",
                "+" * 60,
                "+" * 55 + "-" * 5,
                "60 items: 95 % interval -18.1 to -1.8, by item (exact p = 0.062)",
            ),
            ("paired:0.1", ["+++"] * 8, ["+--"] * 8, "to 33.3 % over 8 items: 90 % interval -8"),
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
        # The two categories share half of the level: one falls with z = √6 > 2.24, not with √5.
        assert "regressed" not in kinds(judge(base, runs(5, 5), PAIRED))
        (reason,) = judge(base, runs(6, 6), PAIRED).reasons
        assert reason.text == (
            "1-screen-1-step: the solved rate fell from 100 to 90 % over 60 items: 97.5 % interval "
            "-22.0 to -1.5, by item (exact p = 0.031)"
        )
        assert all("1-screen-1-step" in detail for detail in reason.details)
        whole, part = judge(base, runs(20, 0), PAIRED).reasons
        assert (len(whole.details), len(part.details)) == (20, 0)
        assert (bool(whole.hint), bool(part.hint)) == (False, True)  # once, below both

    def test_by_task_many_seeds_of_a_task_are_one(self):
        def runs(lost):
            tasks = [run_of("-" * lost + "+" * (8 - lost), task="click-pie")]
            return joined(*tasks, *(run_of("+" * 8, task=f"task-{n}") for n in range(9)))

        by_item, by_task = (Gate.parse(text) for text in ("paired", "paired:by-task"))
        assert kinds(judge(runs(0), runs(7), by_item)) == ["regressed"]
        verdict = judge(runs(0), runs(7), by_task)
        assert kinds(verdict) == ["undecided"]
        assert verdict.reasons[0].text.endswith(", by task)")
        assert verdict.reasons[0].hint.startswith("record further tasks, at the baseline's commit")
        assert verdict.reasons[0].options == ""

    def test_by_task_a_single_changed_item_does_not_widen_the_interval(self):
        """45 tasks at three seeds: with one item lost or gained the interval was -79 to +80."""

        def runs(first, make=run_of):
            others = (make("+++", task=f"task-{n}") for n in range(1, 45))
            return joined(make(first, task="task-0"), *others)

        by_task = Gate.parse("paired:by-task")
        for before, after in (("+++", "++-"), ("++-", "+++"), ("+-+", "++-")):
            assert judge(runs(before), runs(after, changed), by_task).decision == "passed"

    def test_items_of_a_task_that_change_alike_are_noted(self):
        def runs(outcomes):
            return joined(*(run_of(each, task=f"t-{n}") for n, each in enumerate(outcomes)))

        before = runs(["++++", "----"] * 10)
        alike = judge(before, runs(["++++", "----"] * 7 + ["----", "++++"] * 3), PAIRED)
        assert any("the items of a task changed alike (p = 0.0" in note for note in alike.notes)
        apart = judge(before, runs(["+++-", "---+"] * 10), PAIRED)
        assert not any("alike" in note for note in apart.notes)

    def test_the_rate_over_all_items_counts_not_that_of_a_category(self):
        base = joined(run_of("++", "1-screen-1-step"), run_of("-" * 18 + "++"))
        head = joined(run_of("--", "1-screen-1-step"), run_of("+" * 18 + "++"))
        assert judge(base, head, Gate.parse("rate:5")).decision == "passed"


class TestInconclusiveVerdict:
    def test_it_fails_unless_the_gate_is_lenient_and_says_what_would_decide(self):
        runs = run_of("+" * 20), changed("+" * 18 + "--")
        verdict = judge(*runs, PAIRED)
        assert (verdict.decision, verdict.failed) == ("inconclusive", True)
        (reason,) = verdict.reasons
        assert reason.text == (
            "2 worse, 0 better: too few items to show a fall or rule out one of 10 points (95 % "
            "interval -30.1 to +7.7)"
        )
        assert reason.hint == (
            "record more seeds, at the baseline's commit first, for instance twice as many; "
            "--miniwob-plan shows how many find a loss"
        )
        assert reason.options == "--miniwob-seeds=1-40"
        # With as many more that change alike, it is decided.
        assert judge(run_of("+" * 39), changed("+" * 35 + "----"), PAIRED).decision == "failed"
        assert judge(run_of("+" * 38), changed("+" * 35 + "---"), PAIRED).decision != "failed"
        lenient = judge(*runs, Gate.parse("paired,lenient"))
        assert (lenient.decision, lenient.failed) == ("inconclusive", False)

    def test_the_further_seeds_are_those_of_every_task(self):
        tasks = ("click-pie", "click-tab", "click-dialog")
        base, head = (joined(*(make(o, task=t, first=7) for t in tasks)) for make, o in
                      ((run_of, "+++"), (run_of, "++-")))  # fmt: skip
        (reason,) = judge(base, head, PAIRED).reasons
        assert reason.options == "--miniwob-seeds=7-12"

    def test_a_gate_that_passes_rules_a_loss_out(self):
        verdict = judge(run_of("+" * 98 + "--"), changed("+" * 96 + "--++"), PAIRED)
        assert verdict.decision == "passed"
        assert verdict.notes == (
            "2 worse, 2 better: a fall of 10 points is ruled out (95 % interval -5.3 to +5.3)",
        )

    def test_a_replay_of_the_baseline_passes_however_few_its_items(self):
        verdict = judge(run_of("+-"), run_of("+-"), PAIRED)
        assert verdict.decision == "passed"
        assert verdict.notes == ("every item ran as in the baseline, call by call",)

    def test_a_change_that_few_items_meet_is_inconclusive_if_these_got_worse(self):
        base, after = run_of("+" * 200), "+" * 197 + "---"
        assert judge(base, run_of(after), PAIRED).reasons[0].text == (
            "3 worse, 0 better, but only 3 items ran differently from the baseline: fewer than 4 "
            "can't show a fall"
        )
        assert judge(base, changed(after), PAIRED).decision == "passed"
        as_many = run_of("+-" + "+" * 98), run_of("-+" + "+" * 98)
        assert judge(*as_many, PAIRED).decision == "passed"


class TestLimits:
    def runs(self, before, after, **fields):
        sides = [{"calls": {"plan": n}, **fields} for n in (before, after)]
        base, head = (
            Results(tuple(make_result(seed, **each) for seed in range(9))) for each in sides
        )
        return base, head

    @pytest.mark.parametrize(
        ("after", "limit", "decision", "text"),
        [
            (23, "+10%", "failed", "calls: +15.0 % in all (95 % interval +15.0 to +15.0, by item; "
             "median item +15.0 %): more than calls:+10% allows"),
            (22, "+10%", "passed", "calls: +10.0 % in all (95 % interval +10.0 to +10.0, by item; "
             "median item +10.0 %): within calls:+10%"),
            (10, "+0%", "passed", "calls: -50.0 % in all (95 % interval -50.0 to -50.0, by item; "
             "median item -50.0 %): within calls:+0%"),
        ],
    )  # fmt: skip
    def test_the_growth_of_the_sum_decides(self, after, limit, decision, text):
        verdict = judge(*self.runs(20, after), Gate.parse(f"items,calls:{limit}"))
        assert verdict.decision == decision
        shown = [reason.text for reason in verdict.reasons] or list(verdict.notes)
        assert shown == [text]

    def test_an_interval_on_both_sides_of_the_limit_is_inconclusive(self):
        base, head = self.runs(20, 21)
        grown = [replace(each, calls={"plan": 18 + each.seed}) for each in head.results]
        (reason,) = judge(base, Results(tuple(grown)), Gate.parse("items,calls:+10%")).reasons
        assert reason.kind == "undecided"
        assert "by item; median item +10.0 %): it may be above calls:+10%" in reason.text

    def test_a_few_items_that_take_much_more_exceed_a_limit(self):
        """30 of 100 items take four times the tokens: the sum grew by 90 %, the median by none."""
        base = [make_result(seed, tokens=Tokens(1000, 100)) for seed in range(100)]
        more = [make_result(seed, tokens=Tokens(4000, 400)) for seed in range(30)]
        verdict = judge(Results(tuple(base)), Results((*more, *base[30:])),
                        Gate.parse("paired,tokens:+10%"))  # fmt: skip
        (reason,) = verdict.reasons
        assert reason.kind == "exceeded"
        assert reason.text.startswith("tokens: +90.0 % in all (95 % interval +")
        assert "by item; median item +0.0 %)" in reason.text

    def test_by_task_the_tokens_of_a_task_count_together(self):
        def run(tokens):
            tasks = [(task, Tokens(many, 0)) for task, many in enumerate(tokens)]
            found = (make_result(s, task=f"t-{t}", tokens=n) for t, n in tasks for s in range(3))
            return Results(tuple(found))

        sides = run([1000] * 20), run([1500] * 7 + [1000] * 13)
        by_item, by_task = (judge(*sides, Gate.parse(f"{gate},tokens:+8%"))
                            for gate in ("paired", "paired:by-task"))  # fmt: skip
        assert kinds(by_item) == ["exceeded"]
        assert kinds(by_task)[-1] == "undecided"
        assert ", by task;" in by_task.reasons[-1].text

    @pytest.mark.parametrize(
        ("gate", "fields", "prices", "decision"),
        [
            ("items,steps:+10%", {}, None, "passed"),
            ("items,tokens:+10%", {}, None, "passed"),
            ("items,tokens:+10%", {"tokens": Tokens(None, None)}, None,
             "inconclusive"),
            ("items,cost:+5%", {}, None, "inconclusive"),
            ("items,cost:+5%", {}, {"m": Price(1.0, 2.0)}, "passed"),
        ],
    )  # fmt: skip
    def test_what_is_unknown_is_inconclusive(self, gate, fields, prices, decision):
        verdict = judge(*self.runs(2, 2, **fields), Gate.parse(gate), prices=prices)
        assert verdict.decision == decision
        assert verdict.failed == (decision != "passed")


def graded(scores, grader="polite"):
    """The results of items with these grades, of two seeds a task."""
    rows = [
        replace(
            make_result(f"{ITEM}-{number // 2}/{number % 2}"), grades=(Grade(score, "", grader),)
        )
        for number, score in enumerate(scores)
    ]
    return Results(tuple(rows))


@pytest.mark.parametrize(
    ("lost", "decision", "said"),
    [
        ([0] * 40, "passed", "+0.0 points in the mean (95 % interval +0.0 to +0.0, by item)"),
        ([0.02] * 40, "passed", "-2.0 points"),
        ([0.1] * 40, "failed", "-10.0 points"),
        ([0.5, *[0] * 7], "inconclusive", "it may have lost more"),
    ],
)
def test_a_fall_of_the_mean_grade_is_judged_by_its_interval(lost, decision, said):
    head = graded([1 - each for each in lost])
    verdict = judge(graded([1.0] * len(lost)), head, Gate.parse("grade:polite:-5"))
    assert verdict.decision == decision
    assert said in "".join([*(reason.text for reason in verdict.reasons), *verdict.notes])


def test_a_mean_grade_is_judged_by_task_and_beside_other_gates():
    lost = [0.2, 0.2, *[0] * 22]
    before, after = graded([1.0] * 24), graded([1 - each for each in lost])
    for gate, low in (
        ("items,grade:polite:-5", "-4.2"),
        ("paired:by-task,grade:polite:-5", "-5.0"),
    ):
        texts = " ".join(
            [*judge(before, after, Gate.parse(gate)).notes]
            + [reason.text for reason in judge(before, after, Gate.parse(gate)).reasons]
        )
        assert f"grade:polite: -1.7 points in the mean (95 % interval {low} to +0.0" in texts


def test_a_grader_that_a_run_does_not_have_decides_nothing():
    verdict = judge(graded([1.0]), graded([1.0]), Gate.parse("grade:polit:-5"))
    assert verdict.decision == "inconclusive"
    assert (
        "no item has grades by polit in both runs (did you mean polite?)" in verdict.reasons[0].text
    )
