"""`miniwob-agent tasks`: the list of tasks."""

import json

from support.projects import ROOT

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.tasks.catalogue import installed_tasks

PAGE = ROOT / "docs" / "tasks.md"


def test_the_page_of_tasks_is_up_to_date(capsys):
    assert main(["tasks", "--format", "markdown"]) == 0
    assert PAGE.read_text("utf-8").endswith("\n\n" + capsys.readouterr().out), (
        "put the output of `miniwob-agent tasks --format markdown` at the end of docs/tasks.md"
    )


def test_every_task_is_listed_with_its_actions(capsys):
    assert main(["tasks", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [task["name"] for task in listed] == list(installed_tasks())
    known = {str(kind.__name__).lower() for kind in Action.__args__} | {"place", "point"}
    for task in listed:
        assert task["actions"], task
        assert set(task["actions"]) <= known, task
        assert task["certified"] == "yes", task


def test_json_has_the_facts_of_each_task(capsys):
    assert main(["tasks", "highlight-text", "click-tab-2-hard", "--format", "json"]) == 0
    highlight, tab = json.loads(capsys.readouterr().out)
    assert highlight["actions"] == ["click", "select"]
    assert highlight["suites"] == ["all"]
    assert (tab["rci"], tab["webwise"]) == ("hard", "variable")
    assert tab["suites"] == ["paper", "rci", "webwise", "all"]


def test_text_has_a_line_for_each_task_of_a_suite(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["tasks", "webwise"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 48
    assert lines[0].split() == ["task", "category", "RCI", "WebWISE", "actions", "certified"]


def test_an_unknown_selector_is_an_error_that_names_the_suites(capsys):
    assert main(["tasks", "webwize"]) == 2
    assert "suites paper, rci, webwise, all" in capsys.readouterr().err
