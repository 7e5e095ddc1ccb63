"""Fixtures of the commands that replay an item: a recorded project, and inner runs in process."""

import contextlib
import io
import json
import os
import shutil
import socket
import sys

import pytest
from shown_episode import click_quit_first

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.plugin import inner


@pytest.fixture
def call(project, capsys, monkeypatch):
    """Call the command in the project's folder; returns its status and output."""
    monkeypatch.chdir(project.path)

    def call(*args):
        capsys.readouterr()
        status = main(args)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def recorded(project, chat_server, recordings):
    """The project with one recorded item, which is solved in its second trial."""
    template, cassettes = recordings / "click_quit_first", project.path / "cassettes"
    if template.exists():
        shutil.copytree(template, cassettes)
        return project
    chat_server.reply = click_quit_first
    project.runpytest(
        "-k", "click-menu-2/1", "--miniwob-record=once", f"--miniwob-base-url={chat_server.url}"
    ).assert_outcomes(passed=1, deselected=11)
    shutil.copytree(cassettes, template)
    return project


@pytest.fixture
def in_process(pytester, monkeypatch):
    """Make the inner run of `show` in this process, to its end before its messages are read."""

    class Run:
        def __init__(self, command, *, env, stdout, **_):
            assert command[:3] == [sys.executable, "-m", "pytest"]
            setup = json.loads(env["MINIWOB_INNER"])
            number = setup["socket"]
            ours = socket.socket(fileno=os.dup(number))
            setup["socket"] = os.dup(number)
            monkeypatch.setenv("MINIWOB_INNER", json.dumps(setup))
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                result = pytester.runpytest_inprocess(*command[3:])
            stdout.write(f"{result.stdout}\n{result.stderr}")
            ours.shutdown(socket.SHUT_RDWR)  # as at the end of a process
            ours.close()

        def wait(self):
            return 0

    monkeypatch.setattr(inner.subprocess, "Popen", Run)
