"""Tasks, categories, selectors and seeds."""

import importlib.util
from pathlib import Path

import pytest

from pytest_miniwob_agent.catalogue import (
    CATEGORIES,
    OTHER,
    cases,
    page,
    parse_seeds,
    select,
    tasks,
)
from pytest_miniwob_agent.core import UsageError


def test_the_papers_tasks_are_installed():
    assert {name: len(members) for name, members in CATEGORIES.items()} == {
        "1-screen-1-step": 10,
        "1-screen-n-step": 20,
        "n-screen-n-step": 13,
    }  # table 4
    for name, members in CATEGORIES.items():
        for task in members:
            assert tasks()[task] == name


def test_the_rest_of_the_catalogue_is_what_the_package_has():
    spec = importlib.util.find_spec("miniwob")
    html = Path(spec.origin).parent / "html"
    flights = {"AA", "Alaska", "Alaska-auto", "Alaska-auto-medium"}
    names = {path.stem for path in html.glob("miniwob/*.html")}
    assert set(tasks()) == names | {f"flight.{name}" for name in flights}
    assert all(page(task).is_file() for task in tasks())
    assert tasks()["choose-list"] == OTHER


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (["click-menu-2"], ["n-screen-n-step/click-menu-2"]),
        (["click-tab"], ["1-screen-1-step/click-tab"]),
        (["click-menu*"], ["other/click-menu", "n-screen-n-step/click-menu-2"]),
        (["click-menu", "click-menu*"], ["other/click-menu", "n-screen-n-step/click-menu-2"]),
    ],
)
def test_selectors(selectors, expected):
    assert ["/".join(pair) for pair in select(selectors)] == expected


def test_a_category_and_a_glob_over_categories():
    assert {task for _, task in select(["n-screen-n-step"])} == set(CATEGORIES["n-screen-n-step"])
    assert len(select(["*-step"])) == 43


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        ("click-meny-2", "did you mean click-menu-2"),
        ("1-screen-1-steps", "did you mean 1-screen-1-step"),
        ("clack-*", "matches 'clack-*'"),
        ("", "categories are 1-screen-1-step"),
    ],
)
def test_what_matches_nothing_names_what_is_near(selector, hint):
    with pytest.raises(UsageError) as error:
        select([selector])
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", [7]), ("1000-1003", [1000, 1001, 1002, 1003]), (" 3-4, 1,3 ", [3, 4, 1]), ("0-0", [0])],
)
def test_seeds(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", ",", "x", "1-", "-1", "5-3", "1..4", "1-2-3"])
def test_malformed_seeds(text):
    with pytest.raises(UsageError, match="seeds"):
        parse_seeds(text)


def test_case_ids():
    ids = [case.id for case in cases(["click-menu-2"], [1000, 7])]
    assert ids == ["n-screen-n-step/click-menu-2/1000", "n-screen-n-step/click-menu-2/7"]
