"""Runs with pytest-rerunfailures, which runs an item again if it failed: the last run counts."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from support.projects import FAKE_PAGE, INNER_RUNS, solve_menu

LOST_ONCE = """
    from pathlib import Path

    from pytest_miniwob_agent import BrowserError

    class LostOnce(FakePage):
        def __init__(self, goal, *page):
            super().__init__(goal, *page)
            self.lost = Path(goal)

        def step(self, action):
            if str(action) == "click id=2" and not self.lost.exists():
                self.lost.touch()
                raise BrowserError("the browser is lost")
            return super().step(action)
"""
"""A page that loses its browser at the first try to solve it."""


@pytest.fixture
def run(project, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", INNER_RUNS.replace(" -pno:rerunfailures", ""))

    def run(*args):
        return project.record("-k", "click-menu-2", "--reruns=1", *args)

    run.project = project
    return run


def test_an_error_that_a_rerun_heals_leaves_the_run_green(run, chat_server):
    lost_once = FAKE_PAGE.replace("return FakePage", "return LostOnce") + LOST_ONCE
    run.project.makeconftest(lost_once)
    chat_server.reply = solve_menu
    result = run("--miniwob-results=results.jsonl", "--junitxml=junit.xml")
    assert result.parseoutcomes() == {"passed": 2, "rerun": 2, "deselected": 10}
    assert result.ret == pytest.ExitCode.OK
    # Three calls each: the rerun replays those that the first run has paid for.
    result.stdout.fnmatch_lines(
        [
            "n-screen-n-step*2/2*",
            "model calls: 0 replayed, 6 recorded",
            "tokens: 84 spent, 0 avoided",
            "results: results.jsonl",
        ]
    )
    for case in ElementTree.parse(run.project.path / "junit.xml").iter("testcase"):
        names = [pair.get("name") for pair in case.iter("property")]
        assert ("miniwob_solved_at" in names) != ("miniwob_reason" in names)
    _, *lines = (run.project.path / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["solved", "solved"]


def test_a_rerun_of_a_new_recording_is_no_second_try(run, chat_server):
    chat_server.reply = lambda prompt: "click id=3" if ">Quit<" in prompt else solve_menu(prompt)
    result = run("--miniwob-trials=1")
    assert result.parseoutcomes() == {"failed": 2, "rerun": 2, "deselected": 10}
    assert len(chat_server.requests) == 6
