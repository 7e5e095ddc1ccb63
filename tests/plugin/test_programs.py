"""Programs in pytest runs: what a recording notes of their pace."""

import re

import pytest
from support.apps import AppPages, count_starts
from support.projects import Project

from pytest_miniwob_agent.cassettes.format import read_cassette, write_cassette
from pytest_miniwob_agent.cli import main

PAGE = """
    <!DOCTYPE html><body><button id="go" onclick="setTimeout(come, 4500)">Go</button><script>
      let done = 0;
      const come = () => { late.hidden = false; };
      const task = { goal: "Click what comes late.", reward: () => done };
    </script><button id="late" onclick="done = 1" hidden>Late</button>"""
AGENT = """
    import os
    import time

    from support.driving import driven


    class Sleeper:
        name = "sleeper"

        def solve(self, env, llm, note):
            goal = env.reset().goal
            with driven(env) as (program, _):
                if "MODEL" in os.environ:
                    llm.complete(goal, "ask")
                program.click("#go")
                time.sleep(float(os.environ["SLEEP"]))
                program.click("#late")
"""
TEST_FILE = """
    import pytest

    @pytest.mark.miniwob("pages/page", seeds=[1], trials=1)
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


@pytest.fixture
def project(pytester, chat_server):
    return Project(pytester, chat_server)


@pytest.mark.sweep
@pytest.mark.parametrize("calls", [True, False])
def test_a_recording_notes_how_long_a_program_sleeps(
    calls, pytester, chat_server, monkeypatch, capsys
):
    project = Project(pytester, chat_server)
    if calls:
        monkeypatch.setenv("MODEL", "asked")
    project.mkdir("pages").joinpath("page.html").write_text(PAGE)
    ini = "miniwob_pages = pages\nminiwob_agent = sleeper:Sleeper\n"
    project.write(TEST_FILE, ini=ini, sleeper=AGENT)
    monkeypatch.setenv("SLEEP", "5")
    project.record().assert_outcomes(passed=1)
    [path] = project.path.glob("cassettes/**/*.yaml")
    recorded = path.read_text()
    capsys.readouterr()
    assert main(["cassettes", "show", str(path)]) == 0
    slept = rf"after input or call {3 + calls}: [5-9]000 ms"  # a busy machine takes longer
    assert re.search(slept, capsys.readouterr().out)

    monkeypatch.setenv("SLEEP", "0")
    project.replay(passed=1)
    project.record().assert_outcomes(passed=1)
    assert path.read_text() == recorded

    write_cassette(path, read_cassette(path), screens=2)  # as by earlier versions
    project.replay(failed=1)
    monkeypatch.setenv("SLEEP", "5")
    project.record().assert_outcomes(passed=1)
    assert re.sub("ms: [5-9]000", "", path.read_text()) == re.sub("ms: [5-9]000", "", recorded)
    assert len(project.server.requests) == calls


READER = """
    import os
    import time

    import pytest
    from support.driving import driven


    class Reader:
        name = "reader"

        def solve(self, env, llm, note):
            env.reset()
            with driven(env) as (program, _):
                program.click("button")
                time.sleep(float(os.environ["SLEEP"]))
                llm.complete(program.run("document.body.innerText"), "see")
                program.click("#read")

    @pytest.fixture
    def miniwob_agent():
        return Reader()
"""


def test_an_app_is_recorded_again_only_if_its_program_does_something_else(
    pytester, chat_server, monkeypatch
):
    """A slower program does the same: the clock goes as it did, also before a recording."""
    project = AppPages(pytester, chat_server)
    page = """<button>Go</button><p id=clock>0</p><button id=read onclick="fetch('/read')">Read
        </button><script>setInterval(() => clock.append(1), 1000)</script>"""
    solved = 'trial.asked("GET", "/read") or None'
    project.write_task({"/": page, "/read": ""}, solved=solved, conftest=READER)
    monkeypatch.setenv("SLEEP", "0")
    project.record().assert_outcomes(passed=1)
    recorded = project.recorded()
    monkeypatch.setenv("SLEEP", "3")
    project.record().assert_outcomes(passed=1)
    assert (count_starts(project), project.recorded()) == (1, recorded)
