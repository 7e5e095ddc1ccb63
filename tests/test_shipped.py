"""The recorded agents replay to the results that lie beside their cassettes.

Each suite runs in one process and one browser; `tests/test_suite.py` is the default agent's suite,
which pytest collects by itself.
"""

import json
import os
import subprocess
import sys

import pytest
from support.projects import ROOT, SUITE_RUNS

FULL = {"screen": "full", "actions": "all"}

SHIPPED = {
    "rci/results": ("ten_tasks.py", "rci", {}),
    "webwise/results": ("ten_tasks.py", "webwise", {}),
    "tools/results": ("ten_tasks.py", "tools", {}),
    "reflective-full-screen-all-actions/results": ("full_screen.py", "reflective", FULL),
    "reflective-full-screen-all-actions/browsergym": ("browsergym.py", "reflective", FULL),
    "reflective-picture-screen-all-actions/results": (
        "vision.py", "reflective", {**FULL, "screen": "picture"},
    ),
    "reflective-both-screen-all-actions/results": (
        "vision.py", "reflective", {**FULL, "screen": "both"},
    ),
    "reflective/paper": ("paper.py", "reflective", {}),
    "rci/paper": ("rci.py", "rci", {}),
    "webwise/paper": ("webwise.py", "webwise", {}),
    "reflection": ("reflection.py", None, {}),
    "memories": ("memories.py", None, {}),
    "injected": ("injected.py", None, {}),
    "perturbed": ("perturbed.py", None, {}),
    "rci/ablation": ("rci_ablation.py", None, {}),
    "webwise/multi-step": ("webwise_multi_step.py", None, {}),
}  # fmt: skip
"""The suite, the agent and its parameters of each results file; a suite may name its agents."""

SHORT = {"rci/results", "webwise/results", "tools/results"}
"""Those that are no sweeps."""


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.sweep] * (name not in SHORT)) for name in SHIPPED],
)
def test_recorded_agent_replays_to_the_bytes_of_its_results(name, tmp_path):
    suite, agent, params = SHIPPED[name]
    expected, output = ROOT / f"cassettes/{name}.jsonl", tmp_path / "results.jsonl"
    named = [f"--miniwob-agent={agent}", f"--miniwob-agent-params={json.dumps(params)}"]
    run = replay(suite, expected, f"--miniwob-results={output}", *(named if agent else ()))
    assert run.returncode == 0, run.stdout + run.stderr
    assert output.read_bytes() == expected.read_bytes()


@pytest.mark.integration
def test_a_page_on_which_plans_fail_replays_for_all_agents():
    run = replay("reflection.py", ROOT / "cassettes/reflection.jsonl", "-k", "popup/1000")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "gate items: passed" in run.stdout


@pytest.mark.integration
@pytest.mark.sweep
def test_the_examples_of_automatic_context_are_those_of_a_replay(tmp_path):
    pool = tmp_path / "pool.jsonl"
    saving = json.dumps({"save_examples": str(pool)})
    agent = ["--miniwob-agent=webwise", f"--miniwob-agent-params={saving}"]
    run = replay("webwise_multi_step.py", "", "--miniwob-seeds=1002-1004", *agent)
    assert run.returncode == 0, run.stdout + run.stderr
    assert pool.read_bytes() == (ROOT / "tests/suites/webwise_examples.jsonl").read_bytes()


@pytest.mark.integration
@pytest.mark.sweep
@pytest.mark.parametrize(
    ("agent", "variant", "params", "suite", "counts"),
    [
        ("reflective", "as-published", '{"as_published": true}', "paper.py", "1062 passed, 13 dri"),
        ("rci", "as-published", '{"as_published": true}', "rci.py", "54 passed"),
        ("webwise", "no-history", '{"history": "none"}', "webwise.py", "190 passed, 50 drifted"),
    ],
)
def test_most_recordings_replay_as_published(agent, variant, params, suite, counts, tmp_path):
    """The counts of docs/reproduce.md."""
    (tmp_path / f"{agent}-{variant}").symlink_to(ROOT / "cassettes" / agent)
    params = [f"--miniwob-agent={agent}", f"--miniwob-agent-params={params}"]
    run = replay(suite, "", f"--miniwob-cassettes={tmp_path}", *params)
    assert counts in run.stdout


def test_every_results_file_is_replayed_by_a_test():
    shipped = (path.relative_to(ROOT / "cassettes") for path in ROOT.glob("cassettes/**/*.jsonl"))
    default = {"results"}  # tests/test_suite.py
    assert {str(path.with_suffix("")) for path in shipped} - default == set(SHIPPED)


def replay(suite, baseline, *args):
    return subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "no:randomly", f"tests/suites/{suite}",
            f"--miniwob-baseline={baseline}", *args,
        ],
        cwd=ROOT, env={**os.environ, "PYTEST_ADDOPTS": SUITE_RUNS},
        capture_output=True, text=True,
    )  # fmt: skip
