"""The recorded agents replay to the results that lie beside their cassettes.

The suites run in one process and one browser each agent; `tests/test_suite.py` is the default
agent's suite, which pytest collects by itself.
"""

import json
import os
import subprocess
import sys

import pytest
from projects import ROOT, SUITE_RUNS

SHIPPED = {
    "reflective": ("reflection.py", "reflective", {}),
    "reflective-iterative": ("reflection.py", "reflective", {"planning": "iterative"}),
    "reflective-plan-then-adapt": ("reflection.py", "reflective", {"planning": "plan-then-adapt"}),
    "reflective-plain-memory": ("reflection.py", "reflective", {"memory": "plain"}),
    "rci": ("ten_tasks.py", "rci", {}),
    "webwise": ("ten_tasks.py", "webwise", {}),
    "tools": ("ten_tasks.py", "tools", {}),
    "reflective-full-screen-all-actions": (
        "full_screen.py", "reflective", {"screen": "full", "actions": "all"},
    ),
    "reflective-picture-screen-all-actions": (
        "vision.py", "reflective", {"screen": "picture", "actions": "all"},
    ),
    "reflective-both-screen-all-actions": (
        "vision.py", "reflective", {"screen": "both", "actions": "all"},
    ),
}  # fmt: skip

PAPERS = {
    "reflective": ("paper.py", "reflective"),
    "rci": ("rci.py", "rci"),
    "webwise": ("webwise.py", "webwise"),
}
"""The recorded evaluations of the papers: the folder, its suite, and the agent."""

SWEEPS = {
    *PAPERS,
    "reflective-iterative",
    "reflective-plain-memory",
    "reflective-full-screen-all-actions",
    "reflective-picture-screen-all-actions",
    "reflective-both-screen-all-actions",
}
"""Folders that take long, and those whose agents other tests run in a like way."""


def replay_to_the_bytes(expected, suite, agent, params, output):
    run = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "no:randomly", f"tests/suites/{suite}",
            f"--miniwob-agent={agent}", f"--miniwob-agent-params={json.dumps(params)}",
            f"--miniwob-baseline={expected}", f"--miniwob-results={output}",
        ],
        cwd=ROOT, env={**os.environ, "PYTEST_ADDOPTS": SUITE_RUNS},
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert output.read_bytes() == expected.read_bytes()


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.sweep] * (name in SWEEPS)) for name in SHIPPED]
)
def test_recorded_agent_replays_to_the_bytes_of_its_results(name, tmp_path):
    expected = ROOT / "cassettes" / name / "results.jsonl"
    replay_to_the_bytes(expected, *SHIPPED[name], tmp_path / "results.jsonl")


@pytest.mark.integration
@pytest.mark.sweep
@pytest.mark.parametrize("name", PAPERS)
def test_recorded_evaluation_of_a_paper_replays_to_the_bytes_of_its_results(name, tmp_path):
    expected = ROOT / "cassettes" / name / "paper.jsonl"
    replay_to_the_bytes(expected, *PAPERS[name], {}, tmp_path / "paper.jsonl")


def test_every_folder_of_cassettes_is_replayed_by_a_test():
    folders = {path.name for path in (ROOT / "cassettes").iterdir() if path.is_dir()}
    assert folders - {"pictures"} == set(SHIPPED)
