"""What `miniwob-agent show --as playwright` prints, and runs of it by pytest-playwright."""

import os
import subprocess
import sys

import pytest

from support.frameworks import BROWSERS, find_program
from support.projects import ROOT, RUNS_OF_APPS

LAUNCH = '''

import os

import pytest
from pytest_miniwob_agent.browser.local import find_browser


@pytest.fixture(scope="session")
def browser_type_launch_args():
    slow_mo = float(os.environ.get("SLOW_MO", 0))  # ms before each step
    return {"executable_path": find_browser(), "args": ["--no-sandbox"], "slow_mo": slow_mo}


@pytest.fixture
def _push_request_context():
    """In place of that of pytest-flask, in which the shop of tests/apps has no database."""
'''
"""Goes behind a project's conftest.py: the Chromium of this repository."""


def _run(folder, python, *arguments, **more):
    own = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "PYTEST_ADDOPTS": RUNS_OF_APPS}
    return subprocess.run(
        [python, "-m", *arguments], cwd=folder, env=os.environ | own | more,
        capture_output=True, text=True,
    )  # fmt: skip


def print_script(folder, case, *arguments, **more):
    """Run the command in a project's folder; the run has its status, output and errors."""
    command = ("pytest_miniwob_agent", "show", case, "--as", "playwright", "--", *arguments)
    return _run(folder, sys.executable, *command, **more)


def run_scripts(folder, scripts, *plugins, **more):
    """Run printed tests in a project's folder, which needs some plugins; all of them pass."""
    python = find_program(BROWSERS, "python")
    for name in ("pytest_playwright", *plugins):
        if not [*BROWSERS.glob(f"lib/*/site-packages/{name}")]:
            pytest.skip(f"no {name} in .venv-browsers: run `make frameworks`")
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(LAUNCH)
    files = [f"test_script_{number}.py" for number in range(len(scripts))]
    for name, script in zip(files, scripts, strict=True):
        (folder / name).write_text(script)
    # Playwright's loop is in the thread of the test, where Django refuses to ask the database.
    more |= {"DJANGO_ALLOW_ASYNC_UNSAFE": "true"}
    run = _run(folder, python, "pytest", "-q", "-pno:cacheprovider", *files, **more)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{len(files)} passed" in run.stdout
