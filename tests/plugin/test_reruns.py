"""Runs with pytest-rerunfailures, which runs an item again if it failed: the last run counts."""

import json

import pytest
from projects import FAKE_PAGE, INNER_RUNS, solve_menu

LOST_ONCE = """
    from pathlib import Path

    from pytest_miniwob_agent import BrowserError

    class LostOnce(FakeEnvironment):
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
def run(project, chat_server, monkeypatch):
    """Run two items, each up to twice."""
    monkeypatch.setenv("PYTEST_ADDOPTS", INNER_RUNS.replace(" -pno:rerunfailures", ""))
    project.makeconftest(FAKE_PAGE.replace("return FakeEnvironment", "return LostOnce") + LOST_ONCE)
    chat_server.reply = solve_menu

    def run(*args):
        return project.runpytest(
            "-k", "click-menu-2", f"--miniwob-base-url={chat_server.url}", "--reruns=1", *args
        )

    run.project = project
    return run


def test_an_error_that_a_rerun_heals_leaves_the_run_green(run):
    result = run("--miniwob-record=new_episodes", "--miniwob-results=results.jsonl")
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
    _, *lines = (run.project.path / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["solved", "solved"]


class TestRecordModeAll:
    """Reruns would keep the first sample that passes, so that later replays are cherry-picked."""

    @pytest.mark.parametrize("given", ["--reruns=1", "--force-reruns=1", "reruns = 1"])
    def test_it_is_refused_together_with_reruns(self, run, given):
        if not given.startswith("--"):
            run.project.makeini(f"[pytest]\nminiwob_model = m\n{given}\n")
            given = "reruns of the ini file"
        options = [given] if given.startswith("--") else []
        result = run.project.runpytest("--miniwob-record=all", *options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        name = given.removesuffix("=1")
        result.stderr.fnmatch_lines([f"*--miniwob-record=all and {name} *--reruns=0*"])

    def test_reruns_can_be_turned_off(self, run):
        run.project.makeini("[pytest]\nminiwob_model = m\nreruns = 1\n")
        result = run("--miniwob-record=all", "--reruns=0", "--collect-only")
        assert result.ret == pytest.ExitCode.OK

    def test_a_test_that_is_marked_flaky_is_refused(self, run):
        run.project.makepyfile(
            """
            import pytest

            @pytest.mark.flaky(reruns=2)
            @pytest.mark.miniwob("click-menu-2", seeds=[1])
            def test_solves(miniwob_episode):
                assert miniwob_episode.solved
            """
        )
        assert run("--miniwob-record=once", "--collect-only").ret == pytest.ExitCode.OK
        result = run("--reruns=0", "--miniwob-record=all", "--collect-only")
        result.stdout.fnmatch_lines(["*test_solves: *--miniwob-record=all *mark*flaky*"])
