"""The file that `--miniwob-examples` writes, where that makes no sense or goes wrong."""

import json

import pytest

from pytest_miniwob_agent.agents.webwise.examples import read_pool

GOOD = '{"goal": "g", "stages": [{"objects": "o", "program": "p"}]}'


@pytest.fixture
def run(project):
    """Items that an agent solves with no model, and of which it remarks a text."""
    project.makepyfile(
        mine="""
        from pytest_miniwob_agent import Click, Remark

        class Teller:
            name = "teller"

            def __init__(self, text="", examples=""):
                self.text = text

            def solve(self, env, llm, note):
                env.reset()
                env.step(Click(1))
                env.step(Click(2))
                if self.text:
                    note(Remark("example", self.text))
        """
    )
    project.syspathinsert()

    def run(*args, **params):
        return project.runpytest(
            "--miniwob-agent=mine:Teller", f"--miniwob-agent-params={json.dumps(params)}", *args
        )

    run.path = project.path
    return run


def test_a_folder_is_refused_at_the_start(run):
    result = run("--miniwob-examples=.")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--miniwob-examples: . is a folder; name a file"])


def test_the_file_that_the_agent_is_shown_is_not_overwritten(run):
    result = run("--miniwob-examples=pool.jsonl", examples="./pool.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the agent is shown pool.jsonl*name another file"])


def test_a_run_without_examples_leaves_the_file_as_it_was(run):
    assert run("--miniwob-examples=pool.jsonl", text=GOOD).ret == 0
    before = (run.path / "pool.jsonl").read_bytes()
    result = run("--miniwob-examples=pool.jsonl")
    result.stdout.fnmatch_lines(["kept: no example; nothing is written to pool.jsonl"])
    assert (run.path / "pool.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "text", ["Well done.", "5", "[]", "{}", '{"goal": 1, "stages": 2}', "[" * 100_000]
)
def test_remarks_that_are_no_examples_are_left_alone(run, text):
    result = run("--miniwob-examples=pool.jsonl", text=text)
    result.assert_outcomes(passed=12)
    assert result.ret == 0
    assert not (run.path / "pool.jsonl").exists()


def test_an_example_is_of_the_task_that_was_solved(run):
    run("--miniwob-examples=pool.jsonl", text=GOOD.replace("{", '{"task": "mine", ', 1))
    assert "mine" not in {each.task for each in read_pool(run.path / "pool.jsonl").examples}


@pytest.mark.parametrize("more", [[], ["-q"]])
def test_a_file_that_can_t_be_written_fails_the_run_and_nothing_else(run, more):
    (run.path / "afile").write_text("")
    result = run(
        "--miniwob-examples=afile/pool.jsonl", "--miniwob-results=results.jsonl",
        "--miniwob-report=report", *more, text=GOOD,
    )  # fmt: skip
    result.assert_outcomes(passed=12)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["--miniwob-examples: *pool.jsonl can't be written: *"])
    assert (run.path / "results.jsonl").exists()
    assert (run.path / "report" / "index.html").exists()
