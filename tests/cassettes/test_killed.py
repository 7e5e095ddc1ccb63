"""Recordings that are killed while the server holds back a reply: real processes, real signals."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from projects import solve_menu

import pytest_miniwob_agent
from pytest_miniwob_agent.cassettes.file import read_cassette

ITEM = """
    import pytest

    @pytest.mark.miniwob("click-menu-2", seeds=[1])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


class Recording:
    """Runs of a project's pytest against a server; `held` is set when call number `hold` is in."""

    def __init__(self, project, server):
        self.project = project
        self.server = server
        self.held = threading.Event()
        self.release = threading.Event()

    def run(self, *args):
        """Record in this process, to the end."""
        return self.project.runpytest(f"--miniwob-base-url={self.server.url}", *args)

    def end(self, by, number, *args, reply=solve_menu):
        """Record in another process, which gets the signal when it waits for that call."""

        def answer(prompt):
            if len(self.server.requests) >= number:
                self.held.set()
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
            assert self.held.wait(120), output.read_text()
        finally:
            os.killpg(pytest_.pid, by)
            returned = pytest_.wait(60)
            self.release.set()
            self.server.reply = reply
        return returned, output.read_text()

    def tree(self, folder="cassettes"):
        """Every file below the folder."""
        top = self.project.path / folder
        return {
            str(path.relative_to(top)): path.read_bytes()
            for path in top.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def recording(project, chat_server):
    return Recording(project, chat_server)


NEW = "--miniwob-record=new_episodes"
ELSEWHERE = "--miniwob-cassettes=undisturbed"


def undisturbed(recording, *args, passed, reply=solve_menu):
    """What a recording gives that nobody kills, and how many calls it takes."""
    recording.server.reply = reply
    recording.run(ELSEWHERE, *args).assert_outcomes(passed=passed)
    needed = len(recording.server.requests)
    recording.server.requests.clear()
    return recording.tree("undisturbed"), needed


def calls_in(tree, project):
    """The calls in files that can all be read as cassettes."""
    return sum(len(read_cassette(project.path / "cassettes" / name)) for name in tree)


@pytest.mark.parametrize("number", [1, 3, 4])
def test_at_any_call(recording, number):
    """Two items of three calls."""
    recording.project.makepyfile(ITEM.replace("[1]", "[1, 2]"))
    expected, needed = undisturbed(recording, NEW, passed=2)
    assert needed == 6
    recording.end(signal.SIGKILL, number, NEW)
    assert calls_in(recording.tree(), recording.project) == number - 1
    recording.run(NEW).assert_outcomes(passed=2)
    assert recording.tree() == expected
    assert len(recording.server.requests) == needed + 1


def test_two_workers(recording):
    """At most one call of each is lost."""
    expected, needed = undisturbed(recording, NEW, passed=12)
    recording.end(signal.SIGKILL, 10, NEW, "-n2")
    asked = len(recording.server.requests)
    assert asked >= 10
    assert calls_in(recording.tree(), recording.project) >= asked - 2
    recording.run(NEW, "-n2").assert_outcomes(passed=12)
    assert recording.tree() == expected
    assert needed < len(recording.server.requests) <= needed + 2


def test_interrupted(recording):
    """Ctrl-C."""
    recording.project.makepyfile(ITEM)
    expected, needed = undisturbed(recording, NEW, passed=1)
    returned, output = recording.end(signal.SIGINT, 2, NEW)
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
    """One item with a good cassette, twice: the second is for a recording that nobody kills."""
    recording.project.makepyfile(ITEM)
    recording.server.reply = solve_menu
    for where in ((), (ELSEWHERE,)):
        recording.run(NEW, *where).assert_outcomes(passed=1)
    recording.server.requests.clear()
    return recording


@pytest.mark.parametrize("number", [1, 2])
def test_a_changed_prompt_beside_a_good_cassette(recorded, number):
    """Both plans are asked for again, the summary between them is replayed."""
    text = (
        Path(pytest_miniwob_agent.__file__)
        .parent.joinpath("agents/reflective/prompts/plan.txt")
        .read_text()
    )
    folder = recorded.project.mkdir("prompts")
    (folder / "plan.txt").write_text(f"{text}\nBe quick.\n")
    check_beside_a_good_cassette(recorded, number, 2, NEW, f"--miniwob-prompts={folder}")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_all_beside_a_good_cassette(recorded, number):
    check_beside_a_good_cassette(
        recorded, number, 3, "--miniwob-record=all", reply=solve_in_other_words
    )


def check_beside_a_good_cassette(recorded, number, calls, *args, reply=solve_menu):
    before = recorded.tree()
    expected, needed = undisturbed(recorded, *args, passed=1, reply=reply)
    assert needed == calls
    assert expected != before
    recorded.end(signal.SIGKILL, number, *args, reply=reply)
    after = recorded.tree()
    assert {name: after[name] for name in before} == before
    calls_in(after, recorded.project)
    recorded.run(*args).assert_outcomes(passed=1)
    assert recorded.tree() == expected
    assert len(recorded.server.requests) == needed + 1


@pytest.mark.parametrize("record", ["none", "once", "new_episodes", "all", "defer"])
def test_what_a_kill_within_a_write_leaves_is_never_read(recorded, record):
    """A file that was not renamed yet, under the names it can have, whole or not."""
    [(name, good)] = recorded.tree().items()
    cassette = recorded.project.path / "cassettes" / name
    strays = {
        cassette.with_name(f".{cassette.name}.4711"): good[: len(good) // 2],
        cassette.with_name(f".{cassette.stem}.partial.yaml.4711"): good.replace(b"id=1", b"id=3"),
        cassette.with_name(f".{cassette.stem}.partial.yaml.4712"): b"",
    }
    for stray, content in strays.items():
        stray.write_bytes(content)
    recorded.run(f"--miniwob-record={record}").assert_outcomes(passed=1)
    assert cassette.read_bytes() == good
    assert {stray: stray.read_bytes() for stray in strays} == strays

    cassette.unlink()
    result = recorded.project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["there is no cassette *1.yaml"])
