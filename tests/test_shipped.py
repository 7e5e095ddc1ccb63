"""The cassettes of all agents but the default one replay to the results that lie beside them.

The suites run in one process and one browser each agent; `tests/test_suite.py` is the default
agent's suite, which pytest collects by itself.
"""

import json
import subprocess
import sys

import pytest
from projects import ROOT

SHIPPED = {
    "reflective-iterative": ("reflection.py", "reflective", {"planning": "iterative"}),
    "reflective-plan-then-adapt": ("reflection.py", "reflective", {"planning": "plan-then-adapt"}),
    "reflective-plain-memory": ("reflection.py", "reflective", {"memory": "plain"}),
    "rci": ("ten_tasks.py", "rci", {}),
    "webwise": ("ten_tasks.py", "webwise", {}),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", SHIPPED)
def test_recorded_agent_replays_to_the_bytes_of_its_results(name, tmp_path):
    suite, agent, params = SHIPPED[name]
    expected = ROOT / "cassettes" / name / "results.jsonl"
    run = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "no:randomly", f"tests/suites/{suite}",
            f"--miniwob-agent={agent}", f"--miniwob-agent-params={json.dumps(params)}",
            f"--miniwob-baseline={expected}", f"--miniwob-results={tmp_path / 'results.jsonl'}",
        ],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert (tmp_path / "results.jsonl").read_bytes() == expected.read_bytes()


def test_every_folder_of_cassettes_is_replayed_by_a_test():
    folders = {path.name for path in (ROOT / "cassettes").iterdir() if path.is_dir()}
    assert folders == {"reflective", *SHIPPED}
