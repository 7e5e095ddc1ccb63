"""Tasks, categories, selectors and seeds."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugins.papers.tables import published
from pytest_miniwob_agent.tasks.catalogue import (
    CATEGORIES,
    OTHER,
    SUITES,
    installed_tasks,
    page_path,
    task_facts,
)
from pytest_miniwob_agent.tasks.selectors import parse_seeds, select_tasks


def test_the_43_tasks_of_the_paper_are_installed_in_their_categories():
    assert {name: len(members) for name, members in CATEGORIES.items()} == {
        "1-screen-1-step": 10,
        "1-screen-n-step": 20,
        "n-screen-n-step": 13,
    }  # table 4
    for name, members in CATEGORIES.items():
        assert {installed_tasks()[task] for task in members} == {name}


def test_the_catalogue_has_every_page_of_the_miniwob_package():
    spec = importlib.util.find_spec("miniwob")
    html = Path(spec.origin).parent / "html"
    flights = {"AA", "Alaska", "Alaska-auto", "Alaska-auto-medium"}
    names = {path.stem for path in html.glob("miniwob/*.html")}
    assert set(installed_tasks()) == names | {f"flight.{name}" for name in flights}
    assert all(page_path(task).is_file() for task in installed_tasks())
    assert installed_tasks()["choose-list"] == OTHER


def test_selectors_are_names_and_globs_of_tasks_and_categories():
    both = [("other", "click-menu"), ("n-screen-n-step", "click-menu-2")]
    assert select_tasks(["click-tab"]) == [("1-screen-1-step", "click-tab")]
    assert select_tasks(["click-menu*"]) == select_tasks(["click-menu", "click-menu*"]) == both
    found = [task for _, task in select_tasks(["n-screen-n-step"])]
    assert found == sorted(CATEGORIES["n-screen-n-step"])
    assert len(select_tasks(["*-step"])) == 43


@pytest.mark.parametrize(
    ("suite", "count", "member", "outsider"),
    [
        ("paper", 43, "click-pie", "choose-list"),
        ("rci", 54, "choose-list", "click-pie"),  # with figures in the paper's table 18
        ("webwise", 48, "terminal", "choose-list"),
        ("all", 134, "hover-shape", None),
    ],
)
def test_a_suite_selects_its_tasks(suite, count, member, outsider):
    names = [task for _, task in select_tasks([suite])]
    assert len(names) == len(set(names)) == count
    assert member in names
    assert outsider not in names
    assert sorted(select_tasks([suite, "*"])) == sorted(select_tasks(["*"]))


def test_a_line_in_the_table_adds_a_suite(monkeypatch):
    monkeypatch.setitem(SUITES, "pies", lambda task: "-pie" in task)
    tasks = [task for _, task in select_tasks(["pies"])]
    assert tasks == ["click-pie", "click-pie-nodelay"]


def test_no_suite_has_the_name_of_a_task_or_category():
    assert not {*SUITES} & {*installed_tasks(), *CATEGORIES, OTHER}


def test_the_table_of_facts_has_exactly_the_installed_tasks():
    assert task_facts().keys() == installed_tasks().keys()
    groups = {row["webwise"] for row in task_facts().values()}
    assert groups == {"", "1", "2", "3", "variable"}
    assert Counter(row["rci"] for row in task_facts().values() if row["rci"]) == {
        "yes": 45, "easy": 3, "medium": 3, "hard": 3,
    }  # fmt: skip


def test_the_suites_of_rci_and_webwise_are_the_tasks_of_their_published_figures():
    """WebWISE prints figures for 38 of its tasks beside RCI's."""
    systems = {}
    for row in published("results.csv"):
        systems.setdefault(row["system"].split()[0], set()).add(row["task"])
    assert systems["RCI"] == {task for _, task in select_tasks(["rci"])}
    assert systems["WebWISE"] < {task for _, task in select_tasks(["webwise"])}


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        ("click-meny-2", "did you mean click-menu-2"),
        ("1-screen-1-steps", "did you mean 1-screen-1-step"),
        ("", "categories are 1-screen-1-step"),
        ("webwize", "did you mean webwise"),
        ("rci-*", "suites paper, rci, webwise, all"),
        ("reflextion", "did you mean reflection"),
        ("reflection/pop", "did you mean reflection/popup"),
        ("click-test~mov*", "'click-test~mov*' matches nothing: no perturbation 'mov*' fits "),
    ],
)
def test_a_selector_without_a_match_is_an_error_with_the_nearest_names(selector, hint):
    with pytest.raises(UsageError) as error:
        select_tasks([selector])
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", [7]), ("1000-1003", [1000, 1001, 1002, 1003]), (" 3-4, 1,3 ", [3, 4, 1]), ("0-0", [0])],
)
def test_seeds_are_numbers_and_inclusive_ranges(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    "text", ["", ",", "x", "1-", "-1", "5-3", "1..4", "0-999999999999", "9" * 5000]
)
def test_malformed_seeds_are_an_error(text):
    with pytest.raises(UsageError, match="seeds"):
        parse_seeds(text)
