"""Recordings that are killed while the server delays a reply, with real processes and signals."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from projects import solve_menu

import pytest_miniwob_agent
from pytest_miniwob_agent.cassettes.format.file import read_cassette

ITEM = """
    import pytest

    @pytest.mark.miniwob("click-menu-2", seeds=[1])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


class Recording:
    """Runs of a project's pytest against a server."""

    def __init__(self, project, server):
        self.project = project
        self.server = server
        self.reached = threading.Event()
        self.release = threading.Event()

    def run(self, *args):
        """Record in this process to the end."""
        return self.project.runpytest(f"--miniwob-base-url={self.server.url}", *args)

    def kill(self, signal_, number, *args, reply=solve_menu):
        """Record in another process, and send it a signal while it waits for that call."""

        def answer(prompt):
            if len(self.server.requests) >= number:
                self.reached.set()
                assert self.release.wait(60)
            return reply(prompt)

        self.server.reply = answer
        output = self.project.path / "output"
        with output.open("wb") as file:
            pytest_ = subprocess.Popen(
                [sys.executable, "-m", "pytest", f"--miniwob-base-url={self.server.url}", *args],
                cwd=self.project.path,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        try:
            assert self.reached.wait(120), output.read_text()
        finally:
            os.killpg(pytest_.pid, signal_)
            returned = pytest_.wait(60)
            self.release.set()
            self.server.reply = reply
        return returned, output.read_text()

    def tree(self, folder="cassettes"):
        """The content of every file below the folder, by its path."""
        top = self.project.path / folder
        return {
            str(path.relative_to(top)): path.read_bytes()
            for path in top.rglob("*")
            if path.is_file() and not path.name.startswith(".")  # half a file, of the kill
        }


@pytest.fixture
def recording(project, chat_server):
    return Recording(project, chat_server)


NEW = "--miniwob-record=new_episodes"
ELSEWHERE = "--miniwob-cassettes=undisturbed"


def undisturbed(recording, *args, passed, reply=solve_menu):
    """The files of a recording that is not killed, and the number of its calls."""
    recording.server.reply = reply
    recording.run(ELSEWHERE, *args).assert_outcomes(passed=passed)
    needed = len(recording.server.requests)
    recording.server.requests.clear()
    return recording.tree("undisturbed"), needed


def calls_in(tree, project):
    """Count the calls in files, each of which must be a readable cassette."""
    return sum(len(read_cassette(project.path / "cassettes" / name)) for name in tree)


def moments(chosen, *others):
    """Numbers of calls at which the process is killed: one by default, the others in the sweep."""
    return pytest.mark.parametrize(
        "number", [chosen, *(pytest.param(other, marks=pytest.mark.sweep) for other in others)]
    )


@moments(3, 1, 4)
def test_a_recording_killed_at_a_call_loses_that_call_only(recording, number):
    """Two items of three calls."""
    recording.project.makepyfile(ITEM.replace("[1]", "[1, 2]"))
    expected, needed = undisturbed(recording, NEW, passed=2)
    assert needed == 6
    recording.kill(signal.SIGKILL, number, NEW)
    assert calls_in(recording.tree(), recording.project) == number - 1
    recording.run(NEW).assert_outcomes(passed=2)
    assert recording.tree() == expected
    assert len(recording.server.requests) == needed + 1


def test_two_killed_workers_lose_one_call_each_at_most(recording):
    recording.project.makepyfile(ITEM.replace("[1]", "[1, 2, 3, 4]"))
    expected, needed = undisturbed(recording, NEW, passed=4)
    recording.kill(signal.SIGKILL, 5, NEW, "-n2")
    requested = len(recording.server.requests)
    assert requested >= 5
    assert calls_in(recording.tree(), recording.project) >= requested - 2
    recording.run(NEW).assert_outcomes(passed=4)
    assert recording.tree() == expected
    assert needed < len(recording.server.requests) <= needed + 2


def test_a_recording_interrupted_with_ctrl_c_loses_that_call_only(recording):
    recording.project.makepyfile(ITEM)
    expected, needed = undisturbed(recording, NEW, passed=1)
    returned, output = recording.kill(signal.SIGINT, 2, NEW)
    assert returned == pytest.ExitCode.INTERRUPTED
    assert "INTERNALERROR" not in output
    assert calls_in(recording.tree(), recording.project) == 1
    recording.run(NEW).assert_outcomes(passed=1)
    assert recording.tree() == expected
    assert len(recording.server.requests) == needed + 1


def solve_in_other_words(prompt):
    return "Now the menu is open." if "Say in one short" in prompt else solve_menu(prompt)


@pytest.fixture
def recorded(recording):
    """One item with a good cassette, and a copy of it for a recording that is not killed."""
    recording.project.makepyfile(ITEM)
    recording.server.reply = solve_menu
    recording.run(NEW).assert_outcomes(passed=1)
    shutil.copytree(recording.project.path / "cassettes", recording.project.path / "undisturbed")
    recording.server.requests.clear()
    return recording


@moments(2, 1, 3)
@pytest.mark.parametrize("changed", [True, False], ids=["a changed prompt", "all calls"])
def test_a_killed_recording_leaves_the_cassette_alone(recorded, number, changed):
    """Of a changed prompt both plans are requested again; the summary between is replayed."""
    if changed:
        file = Path(pytest_miniwob_agent.__file__).parent / "agents/reflective/prompts/plan.txt"
        folder = recorded.project.mkdir("prompts")
        (folder / "plan.txt").write_text(f"{file.read_text()}\nBe quick.\n")
        args, reply, calls = (NEW, f"--miniwob-prompts={folder}"), solve_menu, 2
    else:
        args, reply, calls = ("--miniwob-record=all",), solve_in_other_words, 3
    before = recorded.tree()
    expected, needed = undisturbed(recorded, *args, passed=1, reply=reply)
    assert needed == calls
    assert expected != before
    recorded.kill(signal.SIGKILL, min(number, calls), *args, reply=reply)
    after = recorded.tree()
    assert {name: after[name] for name in before} == before
    calls_in(after, recorded.project)
    recorded.run(*args).assert_outcomes(passed=1)
    assert recorded.tree() == expected
    assert len(recorded.server.requests) == needed + 1


def test_the_files_of_a_killed_write_are_never_read(recorded):
    """Files that were not renamed yet, under the names they can have, complete or not."""
    [(name, good)] = recorded.tree().items()
    cassette = recorded.project.path / "cassettes" / name
    strays = {
        cassette.with_name(f".{cassette.name}.4711"): good[: len(good) // 2],
        cassette.with_name(f".{cassette.stem}.partial.yaml.4711"): good.replace(b"id=1", b"id=3"),
        cassette.with_name(f".{cassette.stem}.partial.yaml.4712"): b"",
    }
    for stray, content in strays.items():
        stray.write_bytes(content)
    for record in ("none", "once", "new_episodes", "all", "defer"):
        recorded.run(f"--miniwob-record={record}").assert_outcomes(passed=1)
        assert cassette.read_bytes() == good, record
        assert {stray: stray.read_bytes() for stray in strays} == strays, record

    cassette.unlink()
    result = recorded.project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["there is no cassette *1.yaml"])
