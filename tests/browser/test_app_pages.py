"""Pages of apps whose answers come when a test wants: with windows, dialogs and a program."""

import time
from urllib.parse import urlsplit

import pytest
from support.driving import Program
from support.own_pages import click, texts
from support.servers import wait_until

from pytest_miniwob_agent import Accept, Answer, AppTask, Case
from pytest_miniwob_agent.browser.own_page import AppPage
from pytest_miniwob_agent.core.app import PageResponse
from pytest_miniwob_agent.tasks.catalogue import TaskPage

pytestmark = pytest.mark.integration

PATIENCE = 2.0
"""Real seconds that the browser's answers may take."""


class Site:
    """An app of some pages, by their paths; a function returns its page."""

    def __init__(self, pages):
        self.pages = pages

    def begin_trial(self):
        return "Do it.", ["http://app.localhost"], "/"

    def answer(self, request, step, crowded):
        page = self.pages[urlsplit(request.url).path]
        body = page() if callable(page) else page
        return PageResponse(200, [("Content-Type", "text/html")], body.encode())

    def messages(self, now):
        return []

    def judge(self, trial, *, driven=False):
        return float(trial.answer == "done")


@pytest.fixture
def show(tmp_path, browser, monkeypatch):
    """Open and reset an app of some pages; returns the environment and what is seen."""

    def begin(pages):
        task = AppTask("task", app="http://app", goal="Do it.", solved_when=lambda trial: None)
        page = TaskPage("task", "apps", tmp_path / "test.py", app=task)
        env = AppPage(browser, Case("task", "apps", 1), page, Site(pages))
        seen = env.reset()
        monkeypatch.setattr(browser.devtools, "timeout", PATIENCE)
        return env, seen

    return begin


ASKING = """<button onclick="{}; said.textContent = confirm('Sure?')">Ask</button>
    <p id=said>nothing</p>"""

FETCHING = """<script>
    const ask = async () => document.body.append(await (await fetch("/more")).text());
    </script><button onclick="ask()">Ask</button>"""


def test_a_trial_can_not_end_with_an_answer_while_a_dialog_is_open(show):
    env, seen = show({"/": ASKING.format("")})
    opened = click(env, seen, "Ask").observation
    refused = env.step(Answer("done"))
    assert refused.error == "the page's confirm is open: accept or dismiss it first"
    assert refused.observation == opened
    assert texts(env.step(Accept()).observation) == ["Ask", "true"]
    assert env.step(Answer("done")).solved


def test_a_dialog_of_a_page_that_has_opened_a_window_may_wait_for_long(show):
    env, seen = show({"/": ASKING.format("window.open('/new')"), "/new": "<h1>New</h1>"})
    assert click(env, seen, "Ask").observation.dialog
    time.sleep(1.1 * PATIENCE)  # as an agent that thinks
    assert texts(env.step(Accept()).observation) == ["New"]


def test_a_window_may_be_closed_before_its_page_has_come(show, browser):
    def come():
        devtools = browser.devtools
        devtools.begin("Target.closeTarget", {"targetId": devtools.opened[-1][1]}, "")
        wait_until(lambda: len(devtools.opened) == 1)
        return "too late"

    page = f"{FETCHING} <button onclick=window.open('/new')>Open</button>"
    env, seen = show({"/": page, "/new": come, "/more": "more"})
    assert texts(click(env, seen, "Open").observation) == ["Ask", "Open"]
    assert texts(click(env, seen, "Ask").observation) == ["Ask", "Open", "more"]


def test_an_app_may_answer_a_program_slowly(show):
    def come():
        time.sleep(1.1 * PATIENCE)
        return "late"

    env, _ = show({"/": FETCHING, "/more": come})
    with env.hand_over(9, lambda driven: None) as page, Program(page.cdp_url) as program:
        program.click("button")
        assert "late" in program.run("document.body.innerText")
