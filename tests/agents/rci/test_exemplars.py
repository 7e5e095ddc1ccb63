"""The built-in exemplars of RCI: their tasks, and that they solve their pages."""

import re

import pytest
from support import scripted

from pytest_miniwob_agent.agents.registry import load_agent
from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.plugins.rci.agent import FOLDER as PROMPTS
from pytest_miniwob_agent.plugins.rci.agent import RCIAgent
from pytest_miniwob_agent.tasks.catalogue import task_fact

FOLDER = PROMPTS / "exemplars"

PROBLEMS = {
    "choose-list": (502,),
    "click-button": (502,),
    "click-button-sequence": (500, 501),
    "click-checkboxes": (503, 500),
    "click-checkboxes-large": (504,),
    "click-checkboxes-soft": (505,),
    "click-checkboxes-transfer": (503, 504),
    "click-collapsible": (501,),
    "click-collapsible-2": (506, 503),
    "click-color": (501, 505),
    "click-dialog": (501,),
    "click-dialog-2": (501, 508, 500),
    "click-link": (506,),
    "click-menu": (502, 504, 500),
    "click-option": (500,),
    "click-shape": (501, 500, 507, 504, 505),
    "click-tab": (504,),
    "click-tab-2": (501,),
    "click-tab-2-hard": (505, 500, 503, 506, 504, 507),
    "click-test": (500,),
    "click-test-2": (500,),
    "click-widget": (507, 504, 512),
    "count-shape": (500, 504),
    "email-inbox": (500, 501, 502, 507, 521, 505),
    "email-inbox-forward-nl": (500, 501, 503),
    "email-inbox-forward-nl-turk": (501, 504, 507),
    "email-inbox-nl-turk": (502, 501, 516, 515),
    "enter-date": (500, 501, 503, 506),
    "enter-password": (503, 506),
    "enter-time": (501, 503),
    "focus-text": (500,),
    "grid-coordinate": (500,),
    "navigate-tree": (503,),
    "search-engine": range(501, 523),
    "simple-algebra": (501,),
    "terminal": (501,),
}
"""The seeds of each task's exemplars, in the order of its file. There are as many as the paper had:
see docs/reproduce.md."""

FAST = "terminal"
"""The task whose exemplar `make test` tries."""

STEP = r"^(?:\d+\. )?((?:type|press|clickoption|movemouse|clickxpath) .+)$"


def exemplars(task):
    shown = load_agent("rci", params={"exemplars": "built-in"}, item={"task": task}).rules
    for text in re.split(r"^Goal: ", shown, flags=re.M)[1:]:
        page = re.search(r"^Page:\n(.+?)\n\n", text, re.M | re.S)
        lines = [line for line in page[1].split("\n") if line[0] != "["] if page else []
        plan, _, done = text.partition("Carried out:")
        yield text.partition("\n")[0], lines, re.findall(STEP, done or plan, re.M)


def test_there_are_exemplars_for_tasks_of_the_paper_only():
    assert {path.stem for path in FOLDER.glob("*")} == set(PROBLEMS)
    assert [task for task in PROBLEMS if not task_fact(task, "rci")] == []
    assert sum(map(len, PROBLEMS.values())) == 95


@pytest.mark.parametrize(
    "task",
    [pytest.param(task, marks=[pytest.mark.sweep] * (task != FAST)) for task in PROBLEMS],
)
def test_each_exemplar_is_true_to_its_page_and_solves_it(browser, task):
    seeds = PROBLEMS[task]
    assert len(list(exemplars(task))) == len(seeds)
    for seed, (goal, lines, steps) in zip(seeds, exemplars(task), strict=True):
        env = MiniwobPage(browser, Case(task, "other", seed))
        assert env.reset().goal == goal
        assert [line for line in lines if line not in env.html()] == []
        agent = RCIAgent(critiques=0, without="state")
        episode, llm = scripted.play(agent, env, ["the plan", *steps])
        assert episode.solved, episode.explain()
        assert llm.purposes == ["plan", *["task"] * len(steps)]
    assert not list(exemplars("use-autocomplete"))


@pytest.mark.parametrize(
    ("task", "exemplars", "purposes"),
    [
        ("click-dialog-2", "built-in", ["plan", "critique", "improve", "task"]),
        ("click-dialog-2", "none", ["plan", "critique", "improve", "task", "state"]),
        ("click-dialog", "built-in", ["plan", "critique", "improve", "task", "state"]),
    ],
)
def test_the_paper_s_exception_is_part_of_its_setting(task, exemplars, purposes):
    """State grounding is left out for click-dialog-2 (F.1)."""
    agent = RCIAgent(task=task, exemplars=exemplars)
    _, llm = scripted.play(agent, scripted.menu(3), lambda _, purpose: "done")
    assert llm.purposes == purposes
