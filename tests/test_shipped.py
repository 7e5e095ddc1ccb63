"""The recorded agents replay to the results that lie beside their cassettes.

`tests/test_suite.py` is the default agent's suite, which pytest collects by itself. Of a suite
with more than sixty items, a sweep replays a part (`EVERY`).
"""

import json

import pytest
from support.projects import ROOT
from support.sweeps import EVERY

from pytest_miniwob_agent.results.file import read_results

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
    "rci-as-published/paper": ("rci.py", "rci", {"as_published": True}),
    "rci-as-published/grounding": ("rci_grounding.py", None, {}),
    "webwise/paper": ("webwise.py", "webwise", {}),
    "webwise/instruction-only": ("webwise_methods.py", None, {}),
    "reflection": ("reflection.py", None, {}),
    "memories": ("memories.py", None, {}),
    "reflective/grounding": ("reflective_grounding.py", None, {}),
    "injected": ("injected.py", None, {}),
    "perturbed": ("perturbed.py", None, {}),
    "rci/ablation": ("rci_ablation.py", None, {}),
    "webwise/multi-step": ("webwise_multi_step.py", None, {}),
    "webwise-single-step/auto-context": ("webwise_auto_context.py", None, {}),
}  # fmt: skip
"""The suite, the agent and its parameters of each results file; a suite may name its agents."""

OPTIONS = {
    "reflective/grounding": ["--miniwob-prompts=tests/suites/plan_beyond"],
    "webwise/instruction-only": ["-k", "instruction-only/"],
}
"""What else a suite was recorded with."""


@pytest.fixture
def replay(shipped, monkeypatch):
    monkeypatch.setenv("EVERY", EVERY)
    part = "-psupport.plugins.part"
    return lambda suite, baseline, *args: shipped(
        suite, f"--miniwob-baseline={baseline}", part, *args
    )


@pytest.mark.sweep
@pytest.mark.parametrize("name", SHIPPED)
def test_recorded_agent_replays_to_the_bytes_of_its_results(replay, name, tmp_path):
    suite, agent, params = SHIPPED[name]
    expected, output = ROOT / f"cassettes/{name}.jsonl", tmp_path / "results.jsonl"
    named = [f"--miniwob-agent={agent}", f"--miniwob-agent-params={json.dumps(params)}"]
    named = [*(named if agent else ()), *OPTIONS.get(name, ())]
    run = replay(suite, expected, f"--miniwob-results={output}", *named)
    assert run.ret == 0
    written, recorded = (path.read_bytes().splitlines() for path in (output, expected))
    if EVERY != "1" and len(recorded) > 61:  # with the first line, which has their number
        assert len(written) > 4
        recorded = [written[0], *(line for line in recorded if line in written)]
    assert written == recorded


@pytest.mark.sweep
def test_a_judge_of_attacked_pages_replays(replay, tmp_path):
    output = tmp_path / "results.jsonl"
    graders = "--miniwob-graders=suites.attack_judge:JUDGE"
    options = ("-k", "tools and 1000", graders, "--miniwob-judge-model=claude")
    baseline = ROOT / "cassettes/injected.jsonl"
    replay("injected.py", baseline, f"--miniwob-results={output}", *options)
    rows = read_results(str(output)).results
    assert len(rows) == 33
    objected = [row.case for row in rows if row.objections]
    assert objected == ["tools/claude/instructed/own-steps/1000"]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "seeds", "params"),
    [
        ("webwise_examples", "1002-1004", {}),
        ("webwise_single_step_examples", "0-1", {"steps": "single"}),
    ],
)
def test_the_examples_of_automatic_context_are_those_of_a_replay(
    replay, tmp_path, name, seeds, params
):
    pool = tmp_path / "pool.jsonl"
    saving = json.dumps({**params, "save_examples": str(pool)})
    agent = ["--miniwob-agent=webwise", f"--miniwob-agent-params={saving}"]
    run = replay("webwise_multi_step.py", "", f"--miniwob-seeds={seeds}", *agent)
    assert run.ret == 0
    assert pool.read_bytes() == (ROOT / f"tests/suites/{name}.jsonl").read_bytes()


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("agent", "variant", "params", "suite", "some", "counts"),
    [
        (
            "reflective", "as-published", '{"as_published": true}', "paper.py", "click-menu-2",
            "12 passed, *13 drifted",
        ),
        (
            "rci", "strict-forms-unnamed-problem", '{"forms": "strict", "problem": "unnamed"}',
            "rci.py", "", "54 passed",
        ),
        (
            "webwise", "no-history", '{"history": "none"}', "webwise.py", "/1000",
            "37 passed, *11 drifted",
        ),
    ],
)  # fmt: skip
def test_most_recordings_replay_as_published(
    replay, agent, variant, params, suite, some, counts, tmp_path
):
    """As docs/reproduce.md says: only `click-menu-2`, and items of WebWISE with a second program,
    drift."""
    (tmp_path / f"{agent}-{variant}").symlink_to(ROOT / "cassettes" / agent)
    params = [f"--miniwob-agent={agent}", f"--miniwob-agent-params={params}"]
    run = replay(suite, "", f"--miniwob-cassettes={tmp_path}", "-k", some, *params)
    run.stdout.fnmatch_lines([f"*{counts}*"])


def test_every_results_file_is_replayed_by_a_test():
    shipped = (path.relative_to(ROOT / "cassettes") for path in ROOT.glob("cassettes/**/*.jsonl"))
    default = {"results"}  # tests/test_suite.py
    assert {str(path.with_suffix("")) for path in shipped} - default == set(SHIPPED)
