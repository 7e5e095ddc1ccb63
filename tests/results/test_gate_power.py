"""The simulation behind the tables of docs/statistics.md, at a small scale."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from pytest_miniwob_agent.core.outcome import Result, Status
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import Gate, judge

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "gate_power.py"


@pytest.fixture(scope="module")
def gate_power():
    spec = importlib.util.spec_from_file_location("gate_power", BENCHMARK)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def results_of(run, spread, prompt):
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


@pytest.mark.parametrize(("name", "drop"), [("hard", 20), ("restless, 3 samples", 10)])
def test_it_decides_as_the_gates_do(gate_power, name, drop):
    suite, spread = gate_power.SUITES[name], gate_power.category_of(40, 3)
    for before, after in gate_power.changes_of(suite, 40, drop, 6):
        sides = results_of(before, spread, "a"), results_of(after, spread, "b")
        gates = ("paired", "items", "rate:5", "rate:10", "paired:by-task")
        *verdicts, by_task = (judge(*sides, Gate.parse(gate)) for gate in gates)
        fell, _ = gate_power.paired(before, after, spread, by_task=True)
        assert fell == (by_task.decision == "failed")
        paired = tuple(verdicts[0].decision == each for each in ("failed", "passed"))
        assert gate_power.paired(before, after, spread) == paired
        assert gate_power.other_gates(before, after) == tuple(v.failed for v in verdicts[1:])


@pytest.mark.parametrize("size", [5, 20, pytest.param(100, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("name", ["restless", "hard, 3 samples", "tasks move, by task"])
def test_equal_runs_are_red_in_at_most_alpha(gate_power, name, size):
    red, _ = gate_power.paired_shares(gate_power.SUITES[name], size, 3, 0, 300)
    assert red <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.sweep
def test_a_baseline_that_is_chosen_for_its_result_raises_false_alarms(gate_power):
    suite = gate_power.SUITES["restless"]
    chosen = gate_power.false_alarms("each run that came out better", suite, 50, 60)
    kept = gate_power.false_alarms("never", suite, 50, 60)
    assert chosen[-1] > 2 * kept[-1]
    assert max(kept) <= 0.12
