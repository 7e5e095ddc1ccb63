"""The recorded agents replay to the results that lie beside their cassettes.

`tests/test_suite.py` is the default agent's suite, which pytest collects by itself.
"""

import json

import pytest
from support.projects import ROOT

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


@pytest.fixture
def replay(shipped):
    return lambda suite, baseline, *args: shipped(suite, f"--miniwob-baseline={baseline}", *args)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.sweep] * (name not in SHORT)) for name in SHIPPED],
)
def test_recorded_agent_replays_to_the_bytes_of_its_results(replay, name, tmp_path):
    suite, agent, params = SHIPPED[name]
    expected, output = ROOT / f"cassettes/{name}.jsonl", tmp_path / "results.jsonl"
    named = [f"--miniwob-agent={agent}", f"--miniwob-agent-params={json.dumps(params)}"]
    run = replay(suite, expected, f"--miniwob-results={output}", *(named if agent else ()))
    assert run.ret == 0
    assert output.read_bytes() == expected.read_bytes()


def test_a_page_on_which_plans_fail_replays_for_all_agents(replay):
    run = replay(
        "reflection.py", ROOT / "cassettes/reflection.jsonl", "-k", "reflection/popup/1000"
    )
    assert run.ret == 0
    run.stdout.fnmatch_lines(["gate items: passed*"])


@pytest.mark.sweep
def test_the_examples_of_automatic_context_are_those_of_a_replay(replay, tmp_path):
    pool = tmp_path / "pool.jsonl"
    saving = json.dumps({"save_examples": str(pool)})
    agent = ["--miniwob-agent=webwise", f"--miniwob-agent-params={saving}"]
    run = replay("webwise_multi_step.py", "", "--miniwob-seeds=1002-1004", *agent)
    assert run.ret == 0
    assert pool.read_bytes() == (ROOT / "tests/suites/webwise_examples.jsonl").read_bytes()


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("agent", "variant", "params", "suite", "counts"),
    [
        ("reflective", "as-published", '{"as_published": true}', "paper.py", "1062 passed, 13 dri"),
        ("rci", "as-published", '{"as_published": true}', "rci.py", "54 passed"),
        ("webwise", "no-history", '{"history": "none"}', "webwise.py", "190 passed, 50 drifted"),
    ],
)
def test_most_recordings_replay_as_published(
    replay, agent, variant, params, suite, counts, tmp_path
):
    """The counts of docs/reproduce.md."""
    (tmp_path / f"{agent}-{variant}").symlink_to(ROOT / "cassettes" / agent)
    params = [f"--miniwob-agent={agent}", f"--miniwob-agent-params={params}"]
    run = replay(suite, "", f"--miniwob-cassettes={tmp_path}", *params)
    run.stdout.fnmatch_lines([f"*{counts}*"])


def test_every_results_file_is_replayed_by_a_test():
    shipped = (path.relative_to(ROOT / "cassettes") for path in ROOT.glob("cassettes/**/*.jsonl"))
    default = {"results"}  # tests/test_suite.py
    assert {str(path.with_suffix("")) for path in shipped} - default == set(SHIPPED)
