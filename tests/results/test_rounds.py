"""Rounds of items, and the levels at which several looks judge."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from support.made_results import joined, run_of

from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.results.rounds import plan_rounds
from pytest_miniwob_agent.results.statistics import levels_at_looks

GATE = Gate.parse("until-decided")
TASKS = [f"task-{number}" for number in range(12)]


def suite(lost=(), gained=()):
    """Twelve tasks at ten seeds, of which the last two are unsolved; items by their places."""
    before = joined(*(run_of("+" * 8 + "--", task=task) for task in TASKS))
    moved = [item for part in plan_rounds(before.items) for item in part]
    lost, gained = ({moved[place] for place in places} for places in (lost, gained))

    def after(result):
        solved = (result.solved or result.item in gained) and result.item not in lost
        outcome = Status.SOLVED if solved else Status.UNSOLVED
        prompts = {"plan.txt": "new"}
        return replace(result, outcome=outcome, solved_at=1 if solved else None, prompts=prompts)

    return before, Results(tuple(map(after, before.results)))


class TestLevels:
    @pytest.mark.parametrize("alpha", [0.025, 0.005])
    @pytest.mark.parametrize(
        "shares", [(1.0,), (0.5, 1.0), tuple(np.arange(1, 9) / 8), (0.2, 0.3, 1)]
    )
    def test_looks_at_a_sum_of_normal_numbers_reject_in_alpha(self, scipy, shares, alpha):
        bounds = scipy.stats.norm.isf(levels_at_looks(tuple(map(float, shares)), alpha))
        steps = np.sqrt(np.diff((0, *shares)))
        sums = np.cumsum(np.random.default_rng(1).normal(size=(100_000, len(shares))) * steps, 1)
        red = (sums / np.sqrt(shares) >= bounds).any(1).mean()
        assert red == pytest.approx(alpha, abs=4 * (alpha / 100_000) ** 0.5)

    def test_a_single_look_has_the_whole_level(self):
        assert levels_at_looks((1.0,), 0.025)[0] == pytest.approx(0.025, rel=0.01)


class TestOrder:
    def test_rounds_hold_every_item_once_and_a_seed_of_each_task_first(self):
        before, _ = suite()
        rounds = plan_rounds(before.items)
        assert sorted(itertools.chain(*rounds)) == sorted(before.items)
        assert len(rounds) == 8
        assert {len(part) for part in rounds} == {15}
        first = list(itertools.chain(*rounds))[:12]
        assert {item.rpartition("/")[2] for item in first} == {"1"}
        assert first != sorted(first)

    def test_more_seeds_come_after_the_others(self):
        before, _ = suite()
        more = [f"n-screen-n-step/{task}/{seed}" for task in TASKS for seed in range(1, 21)]
        order, longer = (list(itertools.chain(*plan_rounds(s))) for s in (before.items, more))
        assert longer[: len(order)] == order

    def test_what_is_left_out_shifts_nothing(self):
        before, _ = suite()
        order = list(itertools.chain(*plan_rounds(before.items)))
        left = {*order[3:50:4]}
        rest = list(itertools.chain(*plan_rounds(before.items, left)))
        assert rest == [item for item in order if item not in left]

    def test_by_task_a_round_has_whole_tasks(self):
        before, _ = suite()
        rounds = plan_rounds(before.items, by_task=True)
        tasks = [{item.rpartition("/")[0] for item in part} for part in rounds]
        assert list(map(len, tasks)) == [6, 6]
        assert not tasks[0] & tasks[1]


class TestVerdict:
    def test_it_is_that_of_the_first_round_that_decides(self):
        verdict = judge(*suite(lost=range(10, 30)), GATE)
        assert verdict.decision == "failed"
        assert verdict.notes[0] == "decided in round 2 of 8, 30 of 120 items"
        assert len(verdict.needed) == 30
        assert [pair.item for pair in verdict.regressed] == sorted(
            pair.item for pair in verdict.both.pairs if pair.change < 0
        )

    def test_what_comes_after_the_decision_counts_for_nothing(self):
        before, after = suite(lost=range(10, 30))
        for changed in (suite(lost=range(10, 120))[1], suite(range(10, 30), range(30, 120))[1]):
            verdict = judge(before, changed, GATE)
            assert verdict.reasons == judge(before, after, GATE).reasons
        order = [item for part in plan_rounds(before.items) for item in part]
        assert judge(before, after.only(order[:30]), GATE).reasons == verdict.reasons
        assert judge(before, after.only(order[:31]), GATE).reasons == verdict.reasons

    def test_a_loss_is_ruled_out_before_the_end(self):
        verdict = judge(*suite(), GATE)
        assert (verdict.decision, verdict.needed is None) == ("passed", False)
        assert verdict.notes[0].startswith("decided in round ")

    def test_a_limit_that_is_open_takes_further_rounds(self):
        """Of 75 items, which rule a loss out, 38 take twice the steps; of all 120 those 38."""
        before, after = suite()
        order = [item for part in plan_rounds(before.items) for item in part]
        longer = {*order[:75:2]}
        changed = Results(
            tuple(replace(one, steps=2 if one.item in longer else 1) for one in after.results)
        )
        known = Results(tuple(replace(one, steps=1) for one in before.results))
        found = [judge(known, changed, Gate.parse(f"until-decided{limit}"))
                 for limit in ("", ",steps:+50%", ",steps:+90%", ",grade:kind:-5")]  # fmt: skip
        notes = [each.notes[0] for each in found]
        assert [each.decision for each in found] == ["passed", "passed", "passed", "inconclusive"]
        assert notes[0] == notes[2] == notes[3] == "decided in round 5 of 8, 75 of 120 items"
        assert notes[1] != notes[0]
        part = judge(known, changed.only(order[:75]), Gate.parse("until-decided,steps:+50%"))
        (reason,) = part.reasons
        assert "it may be above steps:+50% or not" in reason.text
        assert reason.hint == "run the next round; what is recorded replays"

    def test_a_replay_of_the_baseline_is_decided_by_all_rounds(self):
        before, _ = suite()
        verdict = judge(before, before, GATE)
        assert (verdict.decision, verdict.needed) == ("passed", None)
        assert verdict.notes[0] == "decided in round 8 of 8, 120 of 120 items"

    def test_a_round_that_was_not_begun_is_asked_for(self):
        before, after = suite()
        order = [item for part in plan_rounds(before.items) for item in part]
        verdict = judge(before, after.only(order[:30]), GATE)
        (reason,) = verdict.reasons
        assert (verdict.decision, reason.kind) == ("inconclusive", "undecided")
        assert reason.hint == "run the next round; what is recorded replays"
        assert reason.options == "--miniwob-gate=until-decided:0.05"
        assert verdict.notes[0] == "not decided in round 2 of 8, 30 of 120 items"

    def test_a_round_with_a_missing_item_is_not_judged(self):
        before, after = suite(lost=range(10, 30))
        order = [item for part in plan_rounds(before.items) for item in part]
        verdict = judge(before, after.only({*order} - {order[17]}), GATE)
        assert [reason.kind for reason in verdict.reasons] == ["missing"]
        assert verdict.reasons[0].details == (order[17],)
