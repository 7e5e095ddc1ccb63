"""The shipped suite replays to the same events however it is run, and survives a lost browser."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def replay(folder, *args, **env):
    """Replay the shipped suite in a process of its own; its events and where it slept."""
    events, slept = folder / "events.json", folder / "slept.txt"
    slept.write_text("")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/test_suite.py", "-p", "events_plugin", *args],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "tests"),
            "EVENTS": str(events),
            "SLEPT": str(slept),
            **env,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == pytest.ExitCode.OK, result.stdout
    return json.loads(events.read_text()), slept.read_text()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return replay(tmp_path_factory.mktemp("plain"), "-p", "no:randomly")


def test_every_item_replays_from_its_cassette_alone(plain):
    outcomes, _ = plain
    assert len(outcomes) == 69
    for outcome, carried in outcomes.values():
        assert outcome in ("passed", "skipped")  # skipped: how a report says xfailed
        assert carried["recorded"] == 0
        assert carried["replayed"] == carried["episode"]["calls"]


def test_a_replay_does_not_sleep(plain):
    assert plain[1] == ""


@pytest.mark.parametrize(
    ("args", "env"),
    [
        (["-n", "2"], {}),
        (["-p", "no:randomly", "-n", "2", "--dist", "loadgroup"], {}),
        (["-p", "no:randomly", "-n", "3"], {"TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8"}),
    ],
    ids=["workers", "loadgroup", "elsewhere"],
)
def test_outcomes_and_events_are_the_same_item_by_item(plain, tmp_path, args, env):
    outcomes, _ = replay(tmp_path, *args, **env)
    assert outcomes.keys() == plain[0].keys()
    for item, carried in outcomes.items():
        assert carried == plain[0][item], item


def test_all_43_tasks_have_a_solved_episode(plain):
    solved = {
        carried["episode"]["case"].split("/")[1]
        for _, carried in plain[0].values()
        if carried["episode"]["solved"]
    }
    assert len(solved) == 43


def test_a_browser_that_dies_makes_its_item_an_error_and_the_next_gets_a_new_one(pytester):
    pytester.makepyfile(
        """
        import os, signal
        import pytest
        from pytest_miniwob_agent.core import Click, Press
        from pytest_miniwob_agent.testing import ScriptedLLM

        class Clumsy:
            name = "clumsy"

            def __init__(self, browser, kill):
                self.browser, self.kill = browser, kill

            def solve(self, env, llm, note):
                env.reset()
                if self.kill:
                    os.kill(self.browser.driver.capabilities["goog:processID"], signal.SIGKILL)
                env.step(Press("TAB"))

        @pytest.fixture
        def miniwob_agent(miniwob_browser, miniwob_case):
            return Clumsy(miniwob_browser, kill=miniwob_case.seed == 2)

        @pytest.fixture
        def miniwob_llm():
            return ScriptedLLM([])

        @pytest.mark.miniwob("click-button", seeds=[1, 2, 3])
        def test_runs(miniwob_episode):
            assert miniwob_episode.steps == 1
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["the browser failed while doing press TAB: *new browser"])
