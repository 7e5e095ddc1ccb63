"""The files for other projects: the GitHub Action, whose scripts run here, and the Dockerfile."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.git import commit
from support.projects import INNER_RUNS, ROOT

from pytest_miniwob_agent.plugin.reading import all_options

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}

GH = """#!/usr/bin/env python3
import json, sys
with open("gh.jsonl", "a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
if "--paginate" in sys.argv:
    print(open("known").read(), end="")
"""


@pytest.fixture
def step(record):
    """Run the script of a step of the action, with the inputs' defaults and these variables."""
    folder = record.path
    (folder / "bin").mkdir()
    (folder / "bin/gh").write_text(GH)
    (folder / "bin/gh").chmod(0o755)
    (folder / "known").write_text("")
    programs = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"

    def step(name, **variables):
        given = {
            key: ACTION["inputs"].get(key.lower(), {}).get("default", "")
            for key in STEPS[name]["env"]
        }
        env = {**os.environ, "PATH": programs, "PYTEST_ADDOPTS": INNER_RUNS, **given, **variables}
        run = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
        return subprocess.run(run, cwd=folder, env=env, capture_output=True, text=True, check=False)

    step.folder = folder
    return step


@pytest.mark.sweep
def test_it_replays_judges_and_comments_once(step):
    folder = step.folder
    options = {"ARGS": "-k click-menu-2", "BASELINE": ""}
    assert step("replay", **options).returncode == 0
    commit(folder, "results.jsonl")
    run = step("replay", **options | {"BASELINE": "git:main"})
    assert (run.returncode, "gate items: passed" in run.stdout) == (0, True), run.stdout
    assert (folder / "miniwob-report/index.html").exists()
    comment = {"BASELINE": "git:main", "NUMBER": "7", "GITHUB_REPOSITORY": "me/mine"}
    assert step("comment", **comment).returncode == 0
    *_, call = map(json.loads, (folder / "gh.jsonl").read_text().splitlines())
    assert call[2:4] == ["POST", "repos/me/mine/issues/7/comments"]
    body = call[-1]
    assert body.startswith("body=<!-- pytest-miniwob-agent -->\n")
    assert "prompt 66 -> 66" in body


def test_a_regression_fails_the_job_and_an_incomplete_run_is_what_is_commented(step, record):
    folder, baseline = step.folder, "git:main:base.jsonl"
    record.replay("-k", "click-menu-2", "--miniwob-results=base.jsonl", passed=2, deselected=10)
    commit(folder, "base.jsonl")
    next(folder.glob("cassettes/*/*/click-menu-2/1.yaml")).unlink()
    run = step("replay", ARGS="-k click-menu-2", BASELINE=baseline)
    assert run.returncode == 1
    (folder / "known").write_text("42\n43\n")  # comments of an earlier run
    step("comment", BASELINE=baseline, NUMBER="7", GITHUB_REPOSITORY="me/mine")
    *_, call = map(json.loads, (folder / "gh.jsonl").read_text().splitlines())
    assert call[2:4] == ["PATCH", "repos/me/mine/issues/comments/42"]
    assert "error after: 1" in call[-1]


def test_the_files_name_options_and_packages_that_there_are():
    text = (ROOT / "action.yml").read_text("utf-8")
    assert set(re.findall(r"--miniwob-[a-z]+", text)) <= {option.name for option in all_options()}
    used = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert used == set(ACTION["inputs"])
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    assert "chromium-driver" in dockerfile
    copied = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines()[1:]]
    assert all((ROOT / name).exists() for name in copied)
    included = re.findall(r"\((docs/[\w-]+\.md)\)", (ROOT / "llms.txt").read_text("utf-8"))
    assert {path for path in included if not (ROOT / path).exists()} == set()
