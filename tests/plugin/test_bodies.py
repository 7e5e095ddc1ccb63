"""Bodies of tests: a failed check of theirs is a failure of the item."""

import pytest
from support.projects import FAKE_PAGE, solve_menu

from pytest_miniwob_agent.results.file import read_results

BODY = """
    import pytest

    @pytest.mark.miniwob("click-menu-2", seeds=[1], steps={steps})
    def test_solves(miniwob_episode, miniwob_llm, request):
        {body}
"""
OBSERVING = """
    from pytest_miniwob_agent import Observer

    class Told(Observer):
        def after_item(self, outcome):
            print(f"told: {outcome.status} {outcome.solved}")

    def pytest_miniwob_observer(item):
        return Told()
"""


@pytest.fixture
def run(project, recordings):
    """Replay an item with a test's body; its result, and its row."""

    def run(body, *args, steps=10, **outcomes):
        def write(body):
            source = BODY.format(body=body, steps=steps)
            project.write(source, FAKE_PAGE + OBSERVING, ini="miniwob_results = r.jsonl\n")

        write("pass")
        project.use_recordings(recordings / f"body-{steps}", solve_menu)
        project.path.joinpath("r.jsonl").unlink(missing_ok=True)
        write(body)
        result = project.replay("-v", *args, **outcomes)
        [file] = project.path.glob("r*.jsonl")
        [row] = read_results(str(file)).results
        return result, row

    return run


def test_a_failed_check_makes_a_solved_item_unsolved(run, project):
    result, row = run("assert miniwob_episode.steps <= 0, 'too long'", failed=1)
    assert (row.outcome, row.solved_at, row.rewards) == ("unsolved", None, (1.0,))
    assert row.assertion == "assert miniwob_episode.steps <= 0, 'too long'"
    result.stdout.fnmatch_lines(
        ["*told: unsolved False", "*assertion  3 calls, 2 steps*", "*AssertionError: too long*"]
    )
    result.stdout.fnmatch_lines(["*n-screen-n-step*0/1*"])
    body = "assert miniwob_episode.solved"
    project.write(BODY.format(body=body, steps=10), FAKE_PAGE, ini="miniwob_results = r.jsonl\n")
    (project.path / "r.jsonl").rename(project.path / "before.jsonl")
    project.replay(passed=1)
    [solved] = read_results(str(project.path / "r.jsonl")).results
    assert (solved.outcome, solved.solved_at, solved.assertion) == ("solved", 1, "")


SUBTEST = "with request.getfixturevalue('subtests').test():\n            "


@pytest.mark.parametrize(
    ("body", "failed", "assertion"),
    [
        (f"{SUBTEST}assert 0", 2, "assert 0"),
        (f"{SUBTEST}assert 1\n        assert 1 == 2", 1, "assert 1 == 2"),
        (f"{SUBTEST}assert 0\n        assert 1 == 2", 2, "assert 0"),
        (f"{SUBTEST}assert 1", 0, ""),
    ],
)
def test_a_check_of_a_subtest_is_one_of_the_test(run, body, failed, assertion):
    result, row = run(body, failed=failed, passed=not failed)
    assert (row.outcome, row.assertion) == ("unsolved" if assertion else "solved", assertion)
    told = [line for line in result.outlines if "told: " in line]
    assert [line.partition("told: ")[2] for line in told] == [f"{row.outcome} {row.solved}"]


def test_an_unsolved_item_is_one_whatever_its_test_says(run):
    _, row = run("assert miniwob_episode.solved", steps=1, failed=1)
    assert (row.outcome, row.assertion) == ("unsolved", "")
    _, row = run("1 / 0", steps=1, failed=1)
    assert (row.outcome, row.assertion) == ("unsolved", "")


@pytest.mark.parametrize(
    ("body", "failed", "outcome", "reason"),
    [
        ("miniwob_llm.complete('is it right?', 'judge')", 0, "drifted", "agent"),
        ("1 / 0", 1, "error", "ZeroDivisionError"),
        (f"{SUBTEST}1 / 0", 2, "error", "ZeroDivisionError"),
        (f"{SUBTEST}miniwob_llm.complete('is it right?', 'ask')", 2, "drifted", "agent"),
    ],
)
def test_an_item_whose_test_breaks_off_is_inconclusive(run, body, failed, outcome, reason):
    result, row = run(body, failed=failed)
    result.stdout.fnmatch_lines([f"*told: {outcome} False"])
    assert (row.outcome, row.solved_at, row.reason) == (outcome, None, reason)


def test_a_check_that_is_expected_to_fail_is_left_to_pytest(run):
    _, row = run("pytest.xfail('known')", xfailed=1)
    assert row.solved


def test_a_gate_and_a_comparison_hear_of_a_failed_check(run, project):
    run("pass", passed=1)
    (project.path / "r.jsonl").rename(project.path / "base.jsonl")
    line = "assert miniwob_episode.steps <= 0"
    result, _ = run(line, "--miniwob-baseline=base.jsonl", failed=1)
    result.stdout.fnmatch_lines(["gate items: FAILED", "*solved in trial 1 -> unsolved (assert"])
