"""The simulation behind the tables of docs/statistics.md, at a small scale."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from support.sweeps import swept

from pytest_miniwob_agent.core.outcome import Result, Status
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.results.rounds import plan_rounds

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "gate_power.py"


@pytest.fixture(scope="module")
def gate_power():
    spec = importlib.util.spec_from_file_location("gate_power", BENCHMARK)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def results_of(run, prompt, spread):
    return Results(
        tuple(
            Result(
                category=str(spread[seed]), task=f"t{seed // 5}", seed=seed, repeat=repeat,
                agent="a", model="m", prompts={"plan.txt": prompt}, solved_at=1 if solved else None,
                outcome=Status.SOLVED if solved else Status.UNSOLVED,
            )
            for seed, samples in enumerate(run)
            for repeat, solved in enumerate(samples, start=1)
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "drop"),
    [
        ("restless, 3 samples", 10),
        ("restless, by task", 20),
        pytest.param("hard", 20, marks=pytest.mark.sweep),
    ],
)
def test_it_decides_as_the_gates_do(gate_power, name, drop):
    suite, spread = gate_power.SUITES[name], gate_power.category_of(60, 3)
    runs = gate_power.changes_of(suite, 60, drop, 6)
    fell, out = gate_power.paired(suite, *runs, spread)
    other = np.array(gate_power.other_gates(*runs))
    pairs = "paired:by-task" if suite.by_task else "paired"
    gates = [Gate.parse(gate) for gate in (pairs, "items", "rate:5", "rate:10")]
    for number, sides in enumerate(zip(*runs, strict=True)):
        before, after = (results_of(*side, spread) for side in zip(sides, "ab", strict=True))
        paired, *others = (judge(before, after, gate) for gate in gates)
        assert fell[number] == (paired.decision == "failed")
        assert out[number] == (paired.decision == "passed")
        assert list(other[:, number]) == [verdict.failed for verdict in others]


@pytest.mark.parametrize(
    ("name", "drop"),
    [("restless, 3 samples", 0), pytest.param("restless", 20, marks=pytest.mark.sweep)],
)
def test_it_decides_in_the_round_in_which_the_gate_does(gate_power, name, drop):
    suite, spread = gate_power.SUITES[name], gate_power.category_of(60, 3)
    for sides in zip(*gate_power.changes_of(suite, 60, drop, 6), strict=True):
        before, after = (results_of(*side, spread) for side in zip(sides, "ab", strict=True))
        order = [item for part in plan_rounds(before.items) for item in part]
        seeds = [int(item.rpartition("/")[2]) for item in order]
        ordered = (side[None, seeds] for side in sides)
        (fell,), (out,), (items,) = gate_power.until_decided(suite, *ordered, spread[seeds])
        verdict = judge(before, after, Gate.parse("until-decided"))
        assert (fell, out) == (verdict.decision == "failed", verdict.decision == "passed")
        assert items == len(verdict.needed or order)


@pytest.mark.parametrize("size", [20, 40, *swept(120)])
@pytest.mark.parametrize("name", ["restless", "restless, 3 samples", "tasks move by 1, by task"])
@pytest.mark.parametrize("gate", ["paired", "until_decided"])
def test_equal_runs_are_red_in_at_most_alpha(gate_power, name, size, gate):
    suite = gate_power.SUITES[name]
    runs, spread = gate_power.changes_of(suite, size, 0, 400), gate_power.category_of(size, 3)
    red = getattr(gate_power, gate)(suite, *runs, spread)[0].mean()
    assert red <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize(("tasks", "seeds"), [(6, 3), (20, 3), (43, 3), (10, 8)])
@pytest.mark.parametrize("breaks", [False, True])
def test_by_task_a_loss_of_the_margin_passes_in_at_most_half_of_alpha(
    gate_power, tasks, seeds, breaks
):
    suite = gate_power.Suite(0.85, 0.17, by_task=True, seeds=seeds, breaks=breaks)
    runs = gate_power.changes_of(suite, tasks * seeds, 10, 400)
    _, passed = gate_power.paired(suite, *runs, gate_power.category_of(tasks * seeds, 1))
    assert passed.mean() <= 0.025 + 2.5 * np.sqrt(0.025 * 0.975 / 400)


def test_by_task_most_suites_of_80_tasks_pass_where_nothing_changed(gate_power):
    suite = gate_power.Suite(0.85, 0.17, by_task=True, seeds=3)
    runs = gate_power.changes_of(suite, 240, 0, 200)
    _, passed = gate_power.paired(suite, *runs, gate_power.category_of(240, 1))
    assert passed.mean() >= 0.8


@pytest.mark.parametrize("name", ["calm", "restless"])
def test_rounds_decide_nearly_as_often_as_one_look_with_fewer_items(gate_power, name):
    suite, spread = gate_power.SUITES[name], gate_power.category_of(120, 1)
    runs = gate_power.changes_of(suite, 120, 10, 400)
    red, passed, items = gate_power.until_decided(suite, *runs, spread)
    once, _ = gate_power.paired(suite, *runs, spread)
    assert red.mean() >= once.mean() - 0.12
    assert passed.mean() <= 0.025 + 2.5 * np.sqrt(0.025 * 0.975 / 400)
    assert items.mean() <= 0.9 * 120


@pytest.mark.sweep
def test_a_baseline_that_is_chosen_for_its_result_raises_false_alarms(gate_power):
    suite = gate_power.SUITES["restless"]
    chosen = gate_power.false_alarms("each run that came out better", suite, 50, 400)
    kept = gate_power.false_alarms("never", suite, 50, 400)
    assert chosen[-1] > 2 * kept[-1]
    assert max(kept) <= 0.08
