"""Graders: what they say of an episode, in results, in the summary, and for the gate."""

import csv
import io
import json
import re

import pytest
from support.projects import FAKE_PAGE, solve_menu
from support.sweeps import swept

from pytest_miniwob_agent import Click, Enter, UsageError, trajectory
from pytest_miniwob_agent.results.file import read_results

SUITE = """
    import re
    import pytest
    from pytest_miniwob_agent import Click, Grade, grader, trajectory

    @grader
    def polite(episode):
        return {verdict}

    def calm(episode):
        return True

    @pytest.mark.miniwob("click-menu-2", seeds=[1], graders=[{graders}])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


@pytest.fixture
def run(project):
    """Record once, and grade the recording; the run and the item's row."""
    project.server.reply = solve_menu

    def run(graders, *args, verdict="True", ini="", **outcomes):
        results = "miniwob_results = r.jsonl\n"
        if not project.recorded():
            project.write(SUITE.format(graders="calm", verdict="True"), FAKE_PAGE, ini=results)
            project.record().assert_outcomes(passed=1)
        project.write(SUITE.format(graders=graders, verdict=verdict), FAKE_PAGE, ini=results + ini)
        result = project.replay(*args, **outcomes)
        return result, read_results(str(project.path / "r.jsonl")).results[0]

    return run


def test_a_changed_grader_grades_a_recording_anew_and_the_gate_names_it(run, project):
    result, row = run("polite, calm", passed=1)
    assert [(grade.grader, grade.score) for grade in row.grades] == [("polite", 1), ("calm", 1)]
    result.stdout.fnmatch_lines(["graders: polite 1/1, calm 1/1"])
    (project.path / "r.jsonl").rename(project.path / "base.jsonl")

    verdict, baseline = "Grade(0.5, 'it did not say please')", "--miniwob-baseline=base.jsonl"
    arguments = [baseline, "--junit-xml=junit.xml"]
    result, row = run("polite, calm", *arguments, verdict=verdict, failed=1)
    assert (
        '<property name="miniwob_grade" value="polite: failed with 0.5, it did not say please" />'
        in (project.path / "junit.xml").read_text()
    )
    assert (row.outcome, row.solved_at, row.rewards) == ("unsolved", None, (1.0,))
    result.stdout.fnmatch_lines(
        [
            "not solved, by polite",
            "grader polite: failed with 0.5, it did not say please",
            "grader calm: passed",
            "graders: polite 0/1, calm 1/1",
            "gate items: FAILED",
            "*solved in trial 1 -> unsolved (polite:",
        ]
    )
    line = project.path.joinpath("r.jsonl").read_text().splitlines()[1]
    assert json.loads(line)["grades"][0] == {
        "score": 0.5, "reason": "it did not say please", "grader": "polite"
    }  # fmt: skip


def test_the_shown_episode_and_the_table_have_a_grade_of_each_grader(run, project, call):
    run("polite, calm", verdict="Grade(0.5, 'no please')", failed=1)
    said = ["polite: failed with 0.5, no please", "calm: passed"]
    _, shown, _ = call("show", "click-menu-2/1")
    assert shown.splitlines()[-3:] == [
        "not solved, best reward 1: reflective with m", *(f"grader {each}" for each in said)
    ]  # fmt: skip
    _, table, _ = call("results", "export", str(project.path / "r.jsonl"))
    [row] = csv.DictReader(io.StringIO(table))
    assert (row["reason"], row["grades"]) == (said[0], "; ".join(said))


def test_a_comparison_has_the_mean_grade_of_each_grader(run, project, call):
    run("polite", verdict="0.75", failed=1)
    (project.path / "r.jsonl").rename(project.path / "base.jsonl")
    run("polite, calm", verdict="0.5", failed=1)
    _, said, _ = call("compare", "base.jsonl", "r.jsonl")
    lines = said.splitlines()
    assert "mean grade by polite: 75 -> 50 %" in lines
    assert "mean grade by calm: none -> 100 %" in lines
    _, said, _ = call("compare", "base.jsonl", "r.jsonl", "--format", "json")
    assert json.loads(said)["grades"] == {
        "before": {"calm": None, "polite": 0.75}, "after": {"calm": 1, "polite": 0.5}
    }  # fmt: skip


def test_graders_of_the_ini_file_are_those_of_all_items(run, project):
    project.makepyfile(mine="def brief(episode):\n    return episode.steps < 2")
    _, row = run("calm", ini="miniwob_graders = mine:brief\n", failed=1)
    assert [str(grade) for grade in row.grades] == ["brief: failed", "calm: passed"]


@pytest.mark.parametrize("workers", ["-n0", *swept("-n2")])
def test_a_grader_of_the_ini_file_that_is_missing_is_told_once(project, workers):
    project.makepyfile(mine="def brief(episode):\n    return True")
    project.write(SUITE.format(graders="", verdict="True").replace("[1]", "[1, 2, 3]"), FAKE_PAGE)
    result = project.runpytest("--miniwob-graders=mine:breif", workers)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*there is no 'mine:breif'*"])


@pytest.mark.parametrize(
    ("graders", "verdict", "said"),
    [
        ("polite", "1 / 0", "*test_x.py:7: ZeroDivisionError"),
        ("polite", "exit(3)", "*RuntimeError: the code of the item ends the process: exit(3)"),
        ("polite", "'yes'", "*TypeError: the grader polite must return True, False*not 'yes'"),
    ],
)
def test_a_grader_that_fails_is_an_error_of_the_item(run, graders, verdict, said):
    result, _ = run(graders, verdict=verdict, errors=1)
    result.stdout.fnmatch_lines([said])


NO_GRADERS = {
    "3": "*graders must be functions of an episode*not 3*",
    "calm, calm": "*two graders are called 'calm'*",
    "trajectory.in_order()": "*in_order needs actions*",
    "trajectory.at_most()": "*at_most needs one of actions, calls*",
    "trajectory.never('Clik')": "*there is no action 'Clik' (did you mean Click*",
}


def test_what_is_no_grader_is_an_error_of_collection(project):
    for number, graders in enumerate(NO_GRADERS):
        source = SUITE.format(graders=graders, verdict="True")
        project.makepyfile(**{f"test_x{number}": source})
    result = project.runpytest(*(f"test_x{number}.py" for number in range(len(NO_GRADERS))))
    result.assert_outcomes(errors=len(NO_GRADERS))
    for said in NO_GRADERS.values():
        result.stdout.fnmatch_lines([said])


TRAJECTORY = {
    "trajectory.did('Click', 'Save')": "trial 1, action 1: click id=2 (Save)",
    "trajectory.did('Click', 'Quit')": "!no action is Click 'Quit'",
    "trajectory.never(Click, re.compile('Quit|Exit'))": "",
    "trajectory.never(Click, name='Save')": "!trial 1, action 1: click id=2 (Save)",
    "trajectory.in_order(('Click', 'Menu'), ('Click', 'Save'))": "",
    "trajectory.in_order(('Click', 'Save'), ('Click', 'Menu'))": (
        "!there is no Click 'Menu' after Click 'Save'"
    ),
    "trajectory.only('Click')": "",
    "trajectory.only(('Click', lambda name: name == 'Menu'))": (
        "!trial 1, action 1: click id=2 (Save)"
    ),
    "trajectory.answered('4')": "!it gave no answer",
    "trajectory.at_most(actions=2, calls=3, tokens=42, trials=1)": "",
    "trajectory.at_most(actions=1, calls=2)": "!2 actions, 3 calls",
}


def test_trajectories_say_where_they_pass_and_fail(run):
    _, row = run(", ".join(TRAJECTORY), failed=1)
    said = [f"{'!' * (not grade.passed)}{grade.reason}" for grade in row.grades]
    assert said == list(TRAJECTORY.values())


def test_what_an_action_does_not_have_is_refused_with_the_nearest_name():
    with pytest.raises(UsageError, match=r"Enter has no 'txt' .did you mean text"):
        trajectory.did(Enter, txt=re.compile("Ann"))
    with pytest.raises(UsageError, match=r"at_most knows no action .did you mean actions"):
        trajectory.at_most(action=1)
    for wrong in ("3", -1, True):
        with pytest.raises(UsageError, match="at_most takes a number from 0 on"):
            trajectory.at_most(actions=wrong)
    for wrong in (("Click", "Menu", "Save"), ("Click", 5), ("Click", {}, "Menu")):
        with pytest.raises(UsageError, match=r"Click takes the name of an element, .*, not "):
            trajectory.only(wrong)
    with pytest.raises(UsageError, match="only needs actions"):
        trajectory.only()
    with pytest.raises(UsageError, match=r"there is no action .*: give its parts without brackets"):
        trajectory.did(("Click", "Save"))
    with pytest.raises(UsageError, match=r"there is no action '\(\)'"):
        trajectory.in_order(())
    assert trajectory.did(Click, "Save", at=lambda at: at is None).name.startswith(
        "did Click 'Save'"
    )


def test_a_blocked_plugin_is_named(project):
    project.write(SUITE.format(graders="calm", verdict="True"), FAKE_PAGE)
    result = project.runpytest("-pno:miniwob-graders")
    result.stdout.fnmatch_lines(["*graders: it belongs to the plugin miniwob-graders*blocked*"])
