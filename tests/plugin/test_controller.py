"""The controller: an agent's `run_finished`, and steps that fail at the end of a run."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial

import pytest
from support.answers import completion
from support.projects import solve_menu

AGENT = """
    import os

    from pytest_miniwob_agent import Click, UsageError

    class Counting:
        name = "counting"

        def __init__(self, file="finished"):
            self.file = file

        def solve(self, env, llm, note):
            env.reset()
            env.step(Click(1))
            env.step(Click(2))
"""

FINISH = """
        def run_finished(self, outcomes):
            cases = " ".join(outcome.case.id for outcome in outcomes)
            with open(self.file, "a") as file:
                print(cases, file=file)
            return f"{sum(outcome.solved for outcome in outcomes)} solved by counting"
"""

CASES = "n-screen-n-step/click-menu-2/1 n-screen-n-step/click-menu-2/2"


@pytest.fixture
def run(project):
    project.syspathinsert()

    def run(lines, *args):
        project.makepyfile(mine=AGENT + lines)
        options = ("--miniwob-agent=mine:Counting", "-k", "click-menu-2", *args)
        return project.runpytest(*options, no_reraise_ctrlc=True)

    run.path = project.path
    return run


class TestRunFinished:
    def test_it_is_called_once_with_all_outcomes(self, run):
        result = run(FINISH, '--miniwob-agent-params={"file": "done"}')
        result.assert_outcomes(passed=2)
        assert (run.path / "done").read_text() == f"{CASES}\n"
        result.stdout.fnmatch_lines(["*MiniWoB++ episodes*", "2 solved by counting"])

    def test_it_is_not_called_where_no_item_ran(self, run):
        run(FINISH, "--collect-only")
        run(FINISH, "-k", "no_such_item")
        assert not (run.path / "finished").exists()

    @pytest.mark.parametrize(
        ("failure", "lines"),
        [
            ("raise UsageError('no \\x1b[2Jspace left')", ["no * left"]),
            (
                "1 / 0",
                [
                    "run_finished() of the agent counting failed:",
                    "Traceback*",
                    "ZeroDivisionError: division by zero",
                ],
            ),
        ],
        ids=["error", "bug"],
    )
    def test_an_error_of_it_fails_the_run_with_its_message(self, run, failure, lines):
        finish = FINISH.replace("return", f"{failure} #")
        result = run(finish, "--miniwob-results=results.jsonl", "-q")
        result.assert_outcomes(passed=2)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(lines)
        assert "\x1b[2J" not in result.stdout.str()
        assert (run.path / "results.jsonl").exists()  # the other steps are done


@pytest.mark.parametrize(
    ("file", "reason"), [("taken", "it is a folder"), ("test_x.py/results.jsonl", "File exists")]
)
def test_a_results_file_that_cannot_be_written_is_refused_before_the_run(run, file, reason):
    (run.path / "taken").mkdir()
    result = run(FINISH, f"--miniwob-results={file}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: --miniwob-results: {file} can't be written: {reason}*; name another file"]
    )
    assert not (run.path / "finished").exists()


@pytest.mark.parametrize("option", ["results", "report"])
def test_an_output_that_is_a_link_out_of_the_project_is_refused(run, tmp_path, option):
    kept = tmp_path / "kept"
    if option == "results":
        kept.write_text("precious")
    else:
        kept.mkdir()
    (run.path / "link").symlink_to(kept)
    result = run(FINISH, f"--miniwob-{option}=link")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"*--miniwob-{option}: *link can't be written: a link leads to {kept}, *"]
    )
    assert not (run.path / "finished").exists()


def test_results_go_into_a_fifo_whatever_became_of_the_items(run):
    os.mkfifo(run.path / "fifo")
    got = []
    reader = threading.Thread(target=lambda: got.append((run.path / "fifo").read_text()))
    reader.start()
    result = run(FINISH, "--miniwob-results=fifo", "-x", "-k", "1")
    reader.join(10)
    assert got[0].startswith('{"items":')
    assert "results: fifo" in result.outlines
    assert (run.path / "fifo").is_fifo()


def test_files_that_cannot_be_written_fail_the_run(run):
    lines = FINISH.replace("cases =", 'os.mkdir("results.jsonl"); cases =')
    result = run(lines, "--miniwob-results=results.jsonl", "--miniwob-report=report")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*MiniWoB++ results*", "*results.jsonl*", "report: report*"])
    result.stdout.no_fnmatch_line("results: results.jsonl")
    assert (run.path / "finished").exists()


def test_a_keyboard_interrupt_leaves_the_calls_and_results_that_are_there(run, chat_server):
    lines = """
        def solve(self, env, llm, note):
            if env.reset().goal.endswith("2"):
                llm.complete("Hello", "plan")
                raise KeyboardInterrupt
            env.step(Click(1))
            env.step(Click(2))
"""
    result = run(
        lines,
        "--miniwob-record=new_episodes",
        f"--miniwob-base-url={chat_server.url}",
        "--miniwob-results=results.jsonl",
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "model calls: 0 replayed, 1 recorded",
            "1 call of interrupted items: kept; run again to continue there",
            "tokens: 14 spent, 0 avoided",
        ]
    )
    head, solved = (run.path / "results.incomplete.jsonl").read_text().splitlines()
    assert json.loads(head)["partial"] == ["10 items deselected", "1 item did not run"]
    assert json.loads(solved)["outcome"] == "solved"


SHOWING = (
    ["--help"], ["--version"], ["--version", "--version"], ["--markers"], ["--collect-only"],
    ["--fixtures"], ["--fixtures-per-test"], ["--cache-show"], ["--setup-plan"],
    ["--setup-plan", "-n1"], ["-pextended", "--only-configure"],
)  # fmt: skip
EXTENDED = """
    import pytest

    def pytest_addoption(parser):
        parser.addoption("--only-configure", action="store_true")

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(config):
        if config.option.only_configure:
            config._do_configure()
            return 0
"""
"""A plugin that shows something and runs nothing, as many do."""


@pytest.fixture
def waiting(project):
    """A project with an answer to the first call of an item that waits for it."""
    project.makepyfile(extended=EXTENDED)
    project.syspathinsert()
    project.runpytest("--miniwob-record=defer", "-k", "click-menu-2/1")
    pending = project.path / ".miniwob" / "pending.jsonl"
    request = json.loads(pending.read_text())
    response = {"status_code": 200, "request_id": "r", "body": completion("click id=1")}
    answer = {"custom_id": request["custom_id"], "response": response, "error": None}
    (project.path / "answers.jsonl").write_text(json.dumps(answer))
    return project


def files_in(folder):
    return {
        path: path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not {".pytest_cache", "__pycache__"} & {path.name, *path.relative_to(folder).parts}
    }


def test_what_only_shows_something_changes_no_file(waiting):
    before = files_in(waiting.path)
    options = (
        "--miniwob-record=defer",
        "--miniwob-answers=answers.jsonl", "--miniwob-results=new/results.jsonl",
        "-o", "miniwob_baseline=new/results.jsonl",
        "--miniwob-report=report", "-k", "click-menu-2/1",
    )  # fmt: skip
    for args in SHOWING:
        assert waiting.runpytest(*options, *args).ret == pytest.ExitCode.OK
        assert files_in(waiting.path) == before, args
    waiting.runpytest(*options)  # a run takes the answer
    assert files_in(waiting.path).keys() >= {waiting.path / "report", waiting.path / "new"}


@pytest.fixture
def stopped(project, chat_server, tmp_path, monkeypatch):
    """Whether no worker may begin another call; the answers are those of the fake page."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def stopped():
        ledgers = list(tmp_path.glob("miniwob-*/ledger.json"))
        return ledgers and json.loads(ledgers[0].read_text())["stopped"]

    return stopped


def wait_for(condition, tries=600):
    while tries and not condition():
        time.sleep(0.05)
        tries -= 1


@pytest.mark.sweep
def test_workers_make_no_more_calls_once_the_controller_is_interrupted(
    project, chat_server, stopped
):
    go = threading.Event()

    def reply(prompt):
        go.wait(300)
        return solve_menu(prompt)

    chat_server.reply = reply
    process = project.popen(
        [
            sys.executable, "-m", "pytest", "-n1", "--miniwob-record=new_episodes",
            f"--miniwob-base-url={chat_server.url}",
        ],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        wait_for(lambda: chat_server.requests)
        process.send_signal(signal.SIGINT)  # to the controller alone
        wait_for(stopped, 100)  # pytest-xdist ends workers after 10 seconds
        go.set()
        assert "KeyboardInterrupt" in process.communicate()[0]
    finally:
        go.set()
        process.kill()
        process.wait()
    assert len(chat_server.requests) == 1


@pytest.mark.sweep
def test_a_recording_removes_the_folder_of_a_run_that_was_killed_and_of_no_other(
    project, chat_server, stopped, tmp_path
):
    folders, killed = partial(tmp_path.glob, "miniwob-*"), threading.Event()
    (tmp_path / "miniwob-rescued-x").mkdir()
    (tmp_path / "miniwob-rescued-x" / "answer.json").touch()

    def reply(prompt):
        if len(chat_server.requests) == 1:
            killed.wait(300)
        return solve_menu(prompt)

    chat_server.reply = reply
    process = project.popen(
        [
            sys.executable, "-m", "pytest", "-k", "click-menu-2", "--miniwob-record=new_episodes",
            f"--miniwob-base-url={chat_server.url}",
        ],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        wait_for(lambda: chat_server.requests)
        project.record("-k", "click-tab")
        assert len(list(folders())) == 2
    finally:
        process.kill()
        process.wait()
        killed.set()
    project.record("-k", "click-menu-2")
    assert [folder.name for folder in folders()] == ["miniwob-rescued-x"]


@pytest.mark.sweep
def test_workers_make_no_more_calls_once_a_failure_is_the_last(project, chat_server, stopped):
    under_way = threading.Event()

    def reply(prompt):
        if "click-menu-2 1" in prompt or "short sentence" in prompt:
            under_way.wait(300)
            return solve_menu(prompt).replace("id=2", "id=3")
        under_way.set()
        wait_for(stopped)
        return solve_menu(prompt)

    chat_server.reply = reply
    options = ("-k", "click-menu-2", "--miniwob-trials=1")
    result = project.record("-n2", "-x", *options)
    assert result.parseoutcomes() == {"failed": 1, "budget": 1}
    text = "budget: the run was stopped, 1 item skipped; run again to continue"
    assert text in result.stdout.str()
    calls = len(chat_server.requests)
    chat_server.reply = solve_menu
    result = project.record(*options)  # goes on from there
    result.assert_outcomes(failed=1, passed=1)
    assert len(chat_server.requests) > calls
