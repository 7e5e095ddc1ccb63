"""Recordings that are killed while the server delays a reply, with real processes and signals."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from filelock import FileLock
from support.projects import FAKE_PAGE, Project, solve_menu, suite_source
from support.servers import wait_until
from support.sweeps import swept

from pytest_miniwob_agent.cassettes.format import read_cassette

NEW = "--miniwob-record=new_episodes"

PATIENCE = 300
"""Seconds for what takes one on an idle machine."""


class Recording(Project):
    """A project that is also recorded in another process."""

    @property
    def output(self):
        return self.path / "output"

    def start(self, *args):
        with self.output.open("wb") as file:
            return subprocess.Popen(
                [sys.executable, "-m", "pytest", f"--miniwob-base-url={self.server.url}", *args],
                cwd=self.path,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def kill(self, number, *args, kill=lambda pid: os.killpg(pid, signal.SIGKILL)):
        """Record in another process, and `kill` it while it waits for that call."""
        reached, release = threading.Event(), threading.Event()

        def answer(prompt):
            if len(self.server.requests) >= number:
                reached.set()
                assert release.wait(PATIENCE)
            return solve_menu(prompt)

        self.server.reply = answer
        pytest_ = self.start(*args)
        try:
            assert reached.wait(PATIENCE), self.output.read_text()
        finally:
            kill(pytest_.pid)
            pytest_.wait(PATIENCE)
            release.set()
            self.server.reply = solve_menu

    def tree(self, folder="cassettes"):
        top = self.path / folder
        return {
            str(path.relative_to(top)): path.read_bytes()
            for path in top.rglob("*")
            if path.is_file() and not path.name.startswith(".")  # half a file, of the kill
        }

    def calls(self):
        top = self.path / "cassettes"
        return sum(len(read_cassette(top / name)) for name in self.tree())

    def undisturbed(self, **outcomes):
        self.record("--miniwob-cassettes=undisturbed").assert_outcomes(**outcomes)
        needed = len(self.server.requests)
        self.server.requests.clear()
        return self.tree("undisturbed"), needed


@pytest.fixture
def recording(pytester, chat_server):
    chat_server.reply = solve_menu
    recording = Recording(pytester, chat_server)
    recording.write(suite_source('"click-menu-2", seeds=[1]'), FAKE_PAGE)
    return recording


@pytest.mark.parametrize("number", [3, *swept(1, 4)])
def test_a_recording_killed_at_a_call_loses_that_call_only(recording, number):
    recording.makepyfile(suite_source('"click-menu-2", seeds=[1, 2]'))
    expected, needed = recording.undisturbed(passed=2)
    assert needed == 6
    recording.kill(number, NEW)
    assert recording.calls() == number - 1
    recording.record().assert_outcomes(passed=2)
    assert recording.tree() == expected
    assert len(recording.server.requests) == needed + 1


@pytest.mark.sweep
def test_two_killed_workers_lose_one_call_each_at_most(recording):
    recording.makepyfile(suite_source('"click-menu-2", seeds=[1, 2, 3, 4]'))
    expected, needed = recording.undisturbed(passed=4)
    recording.kill(5, NEW, "-n2")
    requested = len(recording.server.requests)
    assert requested >= 5
    assert recording.calls() >= requested - 2
    recording.record().assert_outcomes(passed=4)
    assert recording.tree() == expected
    assert needed < len(recording.server.requests) <= needed + 2


@pytest.mark.sweep
def test_a_worker_makes_no_call_after_the_end_of_its_controller(recording):
    recording.kill(2, NEW, "-n1", kill=lambda pid: os.kill(pid, signal.SIGTERM))
    wait_until(lambda: recording.calls() == 2)
    time.sleep(1)  # the next call would be made in a hundredth of that
    assert len(recording.server.requests) == 2


@pytest.mark.sweep
@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_recording_says_that_it_waits_for_another(recording, monkeypatch, workers):
    """The other process has the item's lock until this one has said so."""
    recording.record().assert_outcomes(passed=1)
    [lock] = recording.path.glob(".miniwob/locks/*.lock")
    with FileLock(lock):
        process = recording.start("--miniwob-record=all", workers)
        wait_until(lambda: "is being recorded by another process" in recording.output.read_text())
    assert process.wait(PATIENCE) == 0


def test_a_recording_interrupted_with_ctrl_c_loses_that_call_only(recording):
    expected, needed = recording.undisturbed(passed=1)
    answered = threading.Event()

    def interrupt(prompt):
        if len(recording.server.requests) == 2:
            # To the thread that waits for this answer: it does not notice what another one gets.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            answered.wait(PATIENCE)
        return solve_menu(prompt)

    recording.server.reply = interrupt
    try:
        result = recording.record(no_reraise_ctrlc=True)
    finally:
        answered.set()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "INTERNALERROR" not in result.stdout.str()
    assert recording.calls() == 1
    recording.server.reply = solve_menu
    recording.record().assert_outcomes(passed=1)
    assert recording.tree() == expected
    assert len(recording.server.requests) == needed + 1


def test_the_files_of_a_killed_write_are_never_read(recording):
    """Files that were not renamed yet, under the names they can have, complete or not."""
    recording.record().assert_outcomes(passed=1)
    [(name, good)] = recording.tree().items()
    cassette = recording.path / "cassettes" / name
    strays = {
        cassette.with_name(f".{cassette.name}.4711"): good[: len(good) // 2],
        cassette.with_name(f".{cassette.stem}.partial.yaml.4711"): good.replace(b"id=1", b"id=3"),
        cassette.with_name(f".{cassette.stem}.partial.yaml.4712"): b"",
    }
    for stray, content in strays.items():
        stray.write_bytes(content)
    for record in ("none", "new_episodes", "all"):
        recording.record(mode=record).assert_outcomes(passed=1)
        assert cassette.read_bytes() == good, record
        assert {stray: stray.read_bytes() for stray in strays} == strays, record
    cassette.unlink()
    recording.runpytest().stdout.fnmatch_lines(["there is no cassette *1.yaml"])
