"""The cassettes of other agents than the default one replay to the results that lie beside them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

SHIPPED = {
    "reflective-iterative": ("reflection.py", "reflective", {"planning": "iterative"}),
    "reflective-plan-then-adapt": ("reflection.py", "reflective", {"planning": "plan-then-adapt"}),
    "reflective-plain-memory": ("reflection.py", "reflective", {"memory": "plain"}),
    "reflective-none-constraint": ("reflection.py", "reflective", {"constraint": "none"}),
    "reflective-traces-memory": ("reflection.py", "reflective", {"memory": "traces"}),
    "reflective-all-constraint": ("reflection.py", "reflective", {"constraint": "all"}),
    "rci": ("ten_tasks.py", "rci", {}),
    "webwise": ("ten_tasks.py", "webwise", {}),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_an_agent_replays_to_its_results(name, tmp_path):
    suite, agent, params = SHIPPED[name]
    known = ROOT / "cassettes" / name / "results.jsonl"
    run = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "no:randomly", f"tests/suites/{suite}",
            f"--miniwob-agent={agent}", f"--miniwob-agent-params={json.dumps(params)}",
            f"--miniwob-baseline={known}", f"--miniwob-results={tmp_path / 'results.jsonl'}",
        ],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert (tmp_path / "results.jsonl").read_bytes() == known.read_bytes()


def test_every_agent_with_cassettes_is_replayed():
    folders = {path.name for path in (ROOT / "cassettes").iterdir() if path.is_dir()}
    assert folders == {"reflective", *SHIPPED}
