"""Pages of apps whose answers come when a test wants: with windows, dialogs and a program."""

import time
from contextlib import nullcontext
from urllib.parse import urlsplit

import pytest
from support.driving import Program
from support.own_pages import click, texts
from support.servers import wait_until

from pytest_miniwob_agent import (
    Accept,
    Answer,
    AppTask,
    Case,
    CloseTab,
    Enter,
    GoBack,
    GoForward,
    Reload,
)
from pytest_miniwob_agent.browser.own_page import AppPage
from pytest_miniwob_agent.browsergym import Player
from pytest_miniwob_agent.core.app import PageResponse
from pytest_miniwob_agent.screen import render
from pytest_miniwob_agent.tasks.catalogue import TaskPage

pytestmark = pytest.mark.integration

PATIENCE = 2.0
"""Real seconds that the browser's answers may take."""


class Site:
    """An app of some pages, by their paths; a function returns its page."""

    def __init__(self, pages):
        self.pages = pages
        self.tabs = []

    def begin_trial(self):
        return "Do it.", ["http://app.localhost"], "/"

    def answer(self, request, step, crowded):
        page = self.pages[urlsplit(request.url).path]
        body = page() if callable(page) else page
        return PageResponse(200, [("Content-Type", "text/html")], body.encode())

    def messages(self, now):
        return []

    def in_real_time(self):
        return nullcontext()

    def judge(self, trial, *, driven=False):
        self.tabs.append(trial.tabs)
        return float(trial.answer == "done")


@pytest.fixture
def show(tmp_path, browser, monkeypatch):
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
    assert texts(env.step(Accept()).observation) == ["", "New"]  # the first says which tab it is


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


LINKED = {
    "/": "<a href=/new target=_blank>Open</a> <a href=/next>Next</a> <input>",
    "/new": "<h1>New</h1> <a href=/newest target=_blank>More</a>",
    "/newest": "<h1>Newest</h1>",
    "/next": "<h1>There</h1>",
}


def test_a_program_goes_nowhere_once_its_actions_are_used_up(show):
    env, _ = show(LINKED)
    with env.hand_over(1, lambda driven: None) as page, Program(page.cdp_url) as program:
        for path in ("next", "new"):
            program.call("Page.navigate", url=f"http://app.localhost/{path}")
        assert program.run("location.pathname") == "/next"


def shown(transition):
    assert transition.error is None
    return render(transition.observation.elements).splitlines()


def test_a_tab_can_be_closed_and_the_screen_says_which_one_it_is(show):
    env, seen = show(LINKED)
    assert (seen.tabs, seen.further) == (0, True)
    env.step(Enter("kept", 3))
    opened = click(env, seen, "Open")
    assert shown(opened) == ['page tab="2 of 2"', 'heading "New" id=4 level=1', 'link "More" id=5']
    newest = click(env, opened.observation, "More")
    assert shown(newest)[0] == 'page tab="3 of 3"'
    assert newest.observation.tabs == 3
    assert shown(env.step(CloseTab()))[:2] == shown(opened)[:2]
    closed = env.step(CloseTab())
    assert shown(closed)[-1].split()[-1] == "value=kept"
    assert closed.observation.tabs == 0
    assert env.step(CloseTab()).error == "there is no other tab"
    assert env._app.tabs == [1, 1, 2, 3, 2, 1, 1]
    assert env.step(Answer("done")).solved


def test_pages_of_an_app_are_gone_back_and_forward_to(show):
    env, seen = show(LINKED)
    assert env.step(GoBack()).error == "there is no page before this one"
    assert shown(click(env, seen, "Next"))[0].startswith('heading "There"')
    assert shown(env.step(GoBack()))[0].startswith('link "Open"')
    assert shown(env.step(GoForward()))[0].startswith('heading "There"')
    assert env.step(GoForward()).error == "there is no page after this one"
    assert shown(env.step(Reload()))[0].startswith('heading "There"')


def test_ids_go_on_from_page_to_page_of_an_app(show):
    env, seen = show(LINKED)
    ways = (GoBack(), GoForward(), Reload(), GoBack(), GoForward(), GoBack(), Reload())
    there = click(env, seen, "Next").observation
    screens = [there, *(env.step(way).observation for way in ways)]
    ids = [element.id for screen in screens for element in screen.elements]
    assert ids == [*range(4, 4 + len(ids))]


def test_the_texts_of_browsergym_lead_to_other_pages(show):
    env, _ = show(LINKED)
    player = Player(env, screenshot=False)
    seen = player.reset()
    for text, there in (
        ("click('1')", "New"), ("tab_close()", "Open"), ("click('2')", "There"),
        ("go_back()", "Open"), ("go_forward()", "There"),
    ):  # fmt: skip
        seen, _ = player.step(text)
        assert seen["last_action_error"] == ""
        assert there in seen["axtree_txt"], text
