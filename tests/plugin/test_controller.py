"""The controller: an agent's `run_finished`, and steps that fail at the end of a run."""

import functools
import json

import pytest

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
                print(os.environ.get("PYTEST_XDIST_WORKER", "controller"), cases, file=file)
            return f"{sum(outcome.solved for outcome in outcomes)} solved by counting"
"""

CASES = "n-screen-n-step/click-menu-2/1 n-screen-n-step/click-menu-2/2"


@pytest.fixture
def run(project):
    """Run two items of an agent that has these lines in its class."""
    project.syspathinsert()

    def run(lines, *args, runpytest=project.runpytest):
        project.makepyfile(mine=AGENT + lines)
        return runpytest("--miniwob-agent=mine:Counting", "-k", "click-menu-2", *args)

    run.path = project.path
    run.in_subprocess = functools.partial(run, runpytest=project.runpytest_subprocess)
    return run


class TestRunFinished:
    def test_it_is_called_once_with_all_outcomes_in_the_controller(self, run):
        result = run(FINISH, "-n1", '--miniwob-agent-params={"file": "done"}')
        result.assert_outcomes(passed=2)
        assert (run.path / "done").read_text() == f"controller {CASES}\n"
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
    ("file", "reason"), [("taken", "it is a folder"), ("test_file.py/results.jsonl", "File exists")]
)
def test_a_results_file_that_cannot_be_written_is_refused_before_the_run(run, file, reason):
    (run.path / "taken").mkdir()
    (run.path / "test_file.py").touch()
    result = run(FINISH, f"--miniwob-results={file}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: --miniwob-results: {file} can't be written: {reason}*; name another file"]
    )
    assert not (run.path / "finished").exists()


def test_files_that_cannot_be_written_fail_the_run(run):
    lines = FINISH.replace("cases =", 'os.mkdir("results.jsonl"); cases =')
    result = run(lines, "--miniwob-results=results.jsonl", "--miniwob-report=report")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*MiniWoB++ results*", "*results.jsonl*", "report: report*"])
    result.stdout.no_fnmatch_line("results: results.jsonl")
    assert (run.path / "finished").exists()


def test_a_report_folder_that_holds_something_else_is_refused_before_the_run(run):
    (run.path / "taken").mkdir()
    (run.path / "taken/file").touch()
    result = run(FINISH, "--miniwob-report=taken")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--miniwob-report: *taken contains files that are not *"])
    for folder in ("taken", "new"):  # neither checked nor written by collecting
        result = run("", f"--miniwob-report={folder}", "--collect-only")
        assert result.ret == pytest.ExitCode.OK
    assert not (run.path / "new").exists()


def test_a_keyboard_interrupt_leaves_the_calls_and_results_that_are_there(run, chat_server):
    lines = """
        def solve(self, env, llm, note):
            if env.reset().goal.endswith("2"):
                llm.complete("Hello", "plan")
                raise KeyboardInterrupt
            env.step(Click(1))
            env.step(Click(2))
"""
    result = run.in_subprocess(
        lines,
        "--miniwob-record=once",
        f"--miniwob-base-url={chat_server.url}",
        "--miniwob-results=results.jsonl",
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "model calls: 0 replayed, 1 recorded",
            "1 call of items that broke off: kept, the next recording continues there",
            "tokens: 14 spent, 0 avoided",
        ]
    )
    head, solved = (run.path / "results.incomplete.jsonl").read_text().splitlines()
    assert json.loads(head)["partial"] == ["10 items deselected", "1 item did not run"]
    assert json.loads(solved)["outcome"] == "solved"
