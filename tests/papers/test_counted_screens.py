"""What the papers count on screens, counted on the recorded ones of the reflective agent."""

import html
import re
from pathlib import Path

import pytest
import yaml
from support.in_browser import run_script

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.results.file import read_results
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES

CASSETTES = Path(__file__).parents[2] / "cassettes/reflective"
RESULTS = read_results(str(CASSETTES / "paper.jsonl")).results
LINE = re.compile(r"^ *<(\w+)[^>]*>(.+)</\1>$", re.M)
HIDING = {
    "click-collapsible-2", "click-menu-2", "click-pie", "click-tab-2", "click-tab-2-hard",
    "navigate-tree", "social-media",
}  # fmt: skip
"""Tasks with texts in the HTML of the first screen that show on later screens only."""

TEXTS = """
const walker = document.createTreeWalker(document.getElementById("area"), NodeFilter.SHOW_TEXT);
const texts = [];
while (walker.nextNode()) texts.push(walker.currentNode.data.trim().replace(/\\s+/g, " "));
return texts;
"""


def screens(task, seed):
    """The compact screens for which the first trial of an item was planned."""
    recorded = yaml.load((CASSETTES / f"claude/{task}/{seed}.yaml").read_text(), yaml.CSafeLoader)
    prompts = [
        one["request"]["body"]["messages"][0]["content"]
        for one in recorded["interactions"]
        if one["call"]["purpose"] == "plan" and one["call"]["trial"] == 1
    ]
    return [prompt.split("The screen now:\n")[1].split("\n\n")[0] for prompt in prompts]


def texts(screen):
    return {html.unescape(text) for _, text in LINE.findall(screen)}


def test_table_9_by_the_number_of_candidates():
    found = [one for one in RESULTS if one.task == "social-media-all"]
    many = [screens(one.task, one.seed)[0].count('class="name"') >= 10 for one in found]
    solved = [one.solved_at == 1 for one in found]
    assert (many.count(False), many.count(True)) == (15, 10)
    assert all(solved)


FEW = ("click-pie", "email-inbox")
"""A task of each kind, which `make test` looks at."""


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, marks=[pytest.mark.sweep] * (task not in FEW))
        for task in CATEGORIES["n-screen-n-step"]
    ],
)
def test_the_html_of_the_first_screen_has_later_ones_in_seven_of_thirteen_tasks(browser, task):
    for seed in range(1000, 1025):
        first, *others = map(texts, screens(task, seed))
        if later := set().union(*others) - first:
            break
    MiniwobPage(browser, Case(task, "n-screen-n-step", seed)).reset()
    hidden = later & set(run_script(browser, TEXTS))
    assert later
    assert bool(hidden) is (task in HIDING)
