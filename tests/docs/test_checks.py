"""The files for those who work on the project: hooks, set-up, updates of dependencies."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.projects import ROOT


@pytest.mark.integration
@pytest.mark.parametrize(
    ("path", "checks"),
    [
        ("docs/index.md", {"ruff format"}),
        ("tests/support/projects.py", {"ruff format", "ruff check"}),
    ],
)
def test_a_commit_is_checked_for_what_it_changes(path, checks):
    ended = subprocess.run(
        [Path(sys.executable).with_name("pre-commit"), "run", "--files", path],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(re.findall(r"^(.*?)\.+Passed$", ended.stdout, re.M)) == checks


def test_chromium_is_announced_before_it_is_installed(tmp_path):
    """With programs of its own on PATH: nothing is installed."""
    apt = '#!/bin/sh\necho "apt-get $1"; [ "$1" = update ]\n'
    for name, text in {
        "apt-get": apt,
        "apt-cache": "#!/bin/sh\nexit 1\n",
        "id": "#!/bin/sh\necho 0\n",
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    env = {key: value for key, value in os.environ.items() if key != "MINIWOB_BROWSER"}
    ended = subprocess.run(
        ["/bin/bash", ROOT / ".ci" / "install-chromium"],
        env={**env, "PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    first, second = ended.stdout.splitlines()[:2]
    assert (ended.returncode, second) == (1, "apt-get update")
    assert "install Chrome or Chromium and chromedriver" in first


def test_dependencies_are_updated_where_they_are_declared():
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))["updates"]
    folders = {
        each["package-ecosystem"]: each.get("directories", [each.get("directory")])
        for each in updates
    }
    assert folders["pip"] == folders["github-actions"] == ["/"]
    declared = subprocess.run(
        ["git", "ls-files", "*package.json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert sorted(folders["npm"]) == sorted(f"/{Path(p).parent}" for p in declared.stdout.split())
