"""Lists of problems: BrowserGym's schedule as a suite, and lists of users."""

import csv
import json
from collections import Counter

import numpy
import pytest
from support.projects import FAKE_PAGE, solve_menu, suite_source

from pytest_miniwob_agent import Limits
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.results.file import read_results
from pytest_miniwob_agent.tasks.catalogue import DATA, PROBLEM_LISTS, installed_tasks
from pytest_miniwob_agent.tasks.selectors import select_cases, select_tasks

PARTIAL = FAKE_PAGE.replace('("open", "click id=2"): 1.0', '("open", "click id=2"): 0.25')


def rows(name):
    with (DATA / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_schedule_is_that_of_browsergyms_own_generator():
    """Its rule: `RandomState(42).randint(0, 34, 5)` for each task, whose seeds seed the page's."""
    found = rows("browsergym.csv")
    tasks = list(dict.fromkeys(row["task"] for row in found))
    rng = numpy.random.RandomState(42)
    expected = [
        (task, int(seed), int(numpy.random.RandomState(int(seed)).randint(0, 1_000_000)))
        for task in tasks
        for seed in rng.randint(0, 34, 5)
    ]
    assert [(row["task"], int(row["task_seed"]), int(row["seed"])) for row in found] == expected
    assert len(tasks) == 125
    assert set(tasks) < set(installed_tasks())


def test_the_suite_has_each_problem_once():
    cases = select_cases(["browsergym"], [1, 2])
    assert len(cases) == len(set(cases)) == 590
    pairs = Counter((row["task"], int(row["seed"])) for row in rows("browsergym.csv"))
    assert {(case.task, case.seed) for case in cases} == set(pairs)
    assert PROBLEM_LISTS["browsergym"].read() == pairs
    assert (
        sum(times > 1 for times in Counter(pairs.values()).elements()) == sum(pairs.values()) - 590
    )
    assert len(select_tasks(["browsergym"])) == 125


@pytest.fixture
def run(project):
    """Record a test whose marker has these arguments, on a page that pays a quarter."""
    project.server.reply = solve_menu

    def run(arguments, *args, page=PARTIAL):
        project.write(suite_source(arguments), page)
        return project.record(*args)

    run.path = project.path
    return run


def test_limits_and_reward_rule_come_with_the_suite_and_are_in_the_results(run):
    result = run('"browsergym"', "-k", "click-menu-2", "--miniwob-results=r.jsonl")
    result.assert_outcomes(passed=5, deselected=585)
    results = read_results(run.path / "r.jsonl").results
    assert {one.limits for one in results} == {Limits(trials=1, steps=10, any_reward=True)}
    assert {one.rewards for one in results} == {(1.0,)}
    menus = {int(row["seed"]) for row in rows("browsergym.csv") if row["task"] == "click-menu-2"}
    assert {one.seed for one in results} == menus


def test_a_part_of_the_reward_counts_only_where_that_is_the_rule(run):
    result = run('"click-menu-2", seeds=[1], trials=1')
    result.assert_outcomes(failed=1)
    result = run('"click-menu-2", seeds=[1], trials=1, reward="any"')
    result.assert_outcomes(passed=1)
    result = run('"click-menu-2", seeds=[1], trials=1, reward="half"')
    result.stdout.fnmatch_lines(["*reward must be one of full, any, graders, not 'half'*"])


def test_a_list_of_ones_own_is_a_csv_beside_the_test(run):
    (run.path / "mine.csv").write_text(
        "seed,task,note\n7,click-menu-2,x\n9,click-tab-2,\n7,click-menu-2,\n"
    )
    result = run('problems="mine.csv"', "-v", page=FAKE_PAGE)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines_random(["*click-menu-2/7]*", "*click-tab-2/9]*"])
    run('"click-tab*", problems="mine.csv"', page=FAKE_PAGE).assert_outcomes(passed=1)
    run('problems="mine.csv"', "--miniwob-seeds=7", page=FAKE_PAGE).assert_outcomes(passed=1)
    run('problems="mine.csv"', "--miniwob-seeds=8", page=FAKE_PAGE).assert_outcomes(skipped=1)


@pytest.mark.parametrize("arguments", ['"browsergym"', 'problems="mine.csv"'])
def test_a_list_with_further_seeds_is_an_error(run, arguments):
    result = run(f"{arguments}, seeds=[1]")
    result.stdout.fnmatch_lines(["*a list of problems has seeds of its own*"])


DAMAGED = {
    "none": (None, "the problems *none.csv can't be read"),
    "empty": ("task,seed\n", "*empty.csv names no problems"),
    "short": ("task\nclick-tab\n", "*short.csv:2 has no task and seed"),
    "below": ("task,seed\nclick-tab,1\nclick-tab,-1\n", "*below.csv:3 has no task and seed"),
    "tub": ("task,seed\nclick-tub,1\n", "*no task, category, suite or glob matches 'click-tub'*"),
}


def test_a_damaged_list_is_named_with_its_line(project):
    for name, (content, _) in DAMAGED.items():
        if content is not None:
            (project.path / f"{name}.csv").write_text(content)
        project.makepyfile(**{f"test_{name}": suite_source(f'problems="{name}.csv"')})
    result = project.runpytest(*(f"test_{name}.py" for name in DAMAGED))
    result.assert_outcomes(errors=len(DAMAGED))
    for _, error in DAMAGED.values():
        result.stdout.fnmatch_lines([f"*{error}*"])


def test_tables_weigh_problems_as_they_are_scheduled(run, capsys):
    """The fake page solves a task with a problem that is there twice, and not one without."""
    of_task = Counter((row["task"], row["seed"]) for row in rows("browsergym.csv"))
    doubled = next(task for (task, _), times in of_task.items() if times > 1)
    twice = {task for (task, _), times in of_task.items() if times > 1}
    single = next(task for task, _ in of_task if task not in twice)
    empty = 'return FakePage("No.", {"start": []}, {}, {})'
    page = FAKE_PAGE.replace(
        "        menu =",
        f'        if miniwob_case.task == "{single}":\n            {empty}\n        menu =',
    )
    chosen = f"/{doubled}/ or /{single}/"
    run('"browsergym"', "-k", chosen, "--miniwob-results=r.jsonl", page=page)
    capsys.readouterr()
    assert main(["tables", str(run.path / "r.jsonl"), "--format=json"]) == 0
    scheduled, once, *others = json.loads(capsys.readouterr().out)["browsergym"]
    assert (scheduled["episodes"], scheduled["solved"]) == (10, 0.5)
    problems = sum(task == doubled for task, _ in of_task)
    assert once["episodes"] == problems + 5
    assert once["solved"] == pytest.approx(problems / (problems + 5))
    assert scheduled["error"] == pytest.approx((0.25 / 10) ** 0.5)
    assert others[0] == pytest.approx(
        {
            "system": "GenericAgent, Claude 3.5 Sonnet",
            "episodes": 625,
            "solved": 0.698,
            "error": 0.018,
        }
    )
    for row in others:  # their errors are those of their rates
        error = (row["solved"] * (1 - row["solved"]) / row["episodes"]) ** 0.5
        assert row["error"] == pytest.approx(error, abs=6e-4)
