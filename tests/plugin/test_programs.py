"""Programs in pytest runs: what a recording notes of their pace."""

import pytest
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
    assert f"after input or call {3 + calls}: 5000 ms" in capsys.readouterr().out

    monkeypatch.setenv("SLEEP", "0")
    project.replay(passed=1)
    project.record().assert_outcomes(passed=1)
    assert path.read_text() == recorded

    write_cassette(path, read_cassette(path), screens=2)  # as by earlier versions
    project.replay(failed=1)
    monkeypatch.setenv("SLEEP", "5")
    project.record().assert_outcomes(passed=1)
    assert path.read_text() == recorded
    assert len(project.server.requests) == calls
