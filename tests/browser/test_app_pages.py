"""Pages of apps whose answers come when a test wants: with windows, dialogs and a program."""

import time
from contextlib import nullcontext
from urllib.parse import urlsplit

import pytest
from support.driving import Program, Refused
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
    PageError,
    Reload,
)
from pytest_miniwob_agent.browsergym import Player
from pytest_miniwob_agent.core.app import Beginning, PageResponse
from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.plugins.apps.page import AppPage
from pytest_miniwob_agent.screen import render
from pytest_miniwob_agent.tasks.catalogue import TaskPage

pytestmark = pytest.mark.integration

PATIENCE = 4.0
"""Real seconds that the browser's answers may take where something else takes longer."""


class Site:
    """An app of some pages, by their paths: strings, functions that return one, or answers."""

    def __init__(self, pages):
        self.pages = pages
        self.tabs = []

    def begin_trial(self):
        return Beginning("Do it.", ["http://app.localhost"], "/")

    def answer(self, request, step, crowded):
        page = self.pages[urlsplit(request.url).path]
        body = page() if callable(page) else page
        if isinstance(body, PageResponse):
            return body
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
    def begin(pages, timeout=browser.timeout):
        task = AppTask("task", app="http://app", goal="Do it.", solved_when=lambda trial: None)
        page = TaskPage("task", "apps", tmp_path / "test.py", app=task)
        env = AppPage(browser, Case("task", "apps", 1), page, Site(pages))
        seen = env.reset()
        monkeypatch.setattr(browser.devtools, "timeout", timeout)
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


@pytest.mark.sweep
def test_a_dialog_of_a_page_that_has_opened_a_window_may_wait_for_long(show):
    env, seen = show({"/": ASKING.format("window.open('/new')"), "/new": "<h1>New</h1>"}, PATIENCE)
    assert click(env, seen, "Ask").observation.dialog
    time.sleep(1.1 * PATIENCE)  # as an agent that thinks
    assert texts(env.step(Accept()).observation) == ["", "New"]  # the first says which tab it is


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("default-src 'none'; Sandbox allow-scripts; script-src 'unsafe-inline'", "ran"),
        ("img-src *, sandbox; script-src 'unsafe-inline'", "read"),
    ],
)
def test_a_page_in_a_sandbox_is_read_and_used(show, policy, told):
    raw = "<details><summary>read</summary></details>"
    raw += "<script>document.querySelector('summary').textContent = 'ran'</script>"
    headers = [("Content-Type", "text/html"), ("Content-Security-Policy", policy)]
    env, seen = show({"/": "<a href=/raw>Go</a>", "/raw": PageResponse(200, headers, raw.encode())})
    seen = click(env, seen, "Go").observation
    assert told in texts(seen)
    assert "expanded" in shown(click(env, seen, told))[1]


def test_a_script_that_shows_what_it_returns_in_place_of_the_page_is_told(show):
    env, seen = show({"/": "<a href=\"javascript:'<h1>There</h1>'\">Go</a>"})
    with pytest.raises(PageError, match="the page is gone: a javascript: link has shown what it"):
        click(env, seen, "Go")


def test_a_page_hears_that_it_is_left_and_can_not_keep_who_leaves(show):
    start = """<a href=/next>Next</a><script>
        onbeforeunload = (event) => {
          localStorage.draft = "kept";
          event.preventDefault();
          return "stay";
        };</script>"""
    there = "<h1></h1><script>document.querySelector('h1').append(localStorage.draft)</script>"
    env, seen = show({"/": start, "/next": there})
    after = click(env, seen, "Next")
    assert (after.error, shown(after)) == (None, ['heading "kept" id=2 level=1'])


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


def test_to_tell_the_fonts_of_a_page_its_app_is_asked_for_nothing(show):
    asked = []

    def style():
        asked.append("style")
        return PageResponse(200, [("Content-Type", "text/css")], b"p { color: red }")

    site = {"/": "<link rel=stylesheet href=/style.css><p>Hi</p>", "/style.css": style}
    env, _ = show(site)
    env.fonts()
    assert asked == ["style"]


@pytest.mark.sweep
def test_an_app_may_answer_a_program_slowly(show):
    def come():
        time.sleep(1.1 * PATIENCE)
        return "late"

    env, _ = show({"/": FETCHING, "/more": come}, PATIENCE)
    with env.hand_over(9, lambda driven: None, Pace()) as page, Program(page.cdp_url) as program:
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
    with env.hand_over(1, lambda driven: None, Pace()) as page, Program(page.cdp_url) as program:
        for path in ("next", "new"):
            program.call("Page.navigate", url=f"http://app.localhost/{path}")
        assert program.run("location.pathname") == "/next"


def test_neither_an_app_nor_a_program_hands_a_page_the_state_of_a_trial(show):
    forged = {"name": "Server-Timing", "value": 'miniwob-agent;desc="{"'}
    headers = [("Content-Type", "text/html"), tuple(forged.values())]
    first = PageResponse(200, headers, b"<a href=/next>Next</a>")
    env, seen = show({"/": lambda: first, "/next": "One"})
    assert texts(seen) == ["Next"]
    with env.hand_over(9, lambda driven: None, Pace()) as page, Program(page.cdp_url) as program:
        program.call("Fetch.enable", patterns=[{"urlPattern": "*/next"}])
        program.send("Runtime.evaluate", expression="document.querySelector('a').click()")
        answer = {"requestId": program.paused("/next"), "responseCode": 200, "body": "T25l"}
        for more in ({"responseHeaders": [forged]}, {"binaryResponseHeaders": "YTogYg=="}):
            with pytest.raises(Refused, match="was refused: the pages"):
                program.call("Fetch.fulfillRequest", **answer, **more)
        program.call("Fetch.continueRequest", requestId=answer["requestId"])
        assert program.run("document.body.innerText") == "One"


def test_a_closed_tab_takes_no_permission_of_other_pages_with_it(show):
    script = "navigator.wakeLock.request().then(() => { said.textContent = 'granted'; })"
    asking = f'<a href=/new target=_blank>Open</a><button onclick="{script}">On</button><p id=said>'
    env, seen = show({"/": asking, "/new": "<h1>New</h1>"})
    click(env, seen, "Open")
    env.step(CloseTab())
    assert "granted" in texts(click(env, seen, "On").observation)


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


def test_pages_of_an_app_are_gone_back_and_forward_to_and_have_ids_of_their_own(show):
    env, seen = show(LINKED)
    assert env.step(GoBack()).error == "there is no page before this one"
    came = [click(env, seen, "Next")]
    first, there = 'link "Open"', 'heading "There"'
    for way, line in (
        (GoBack(), first), (GoForward(), there), (Reload(), there), (GoBack(), first),
        (Reload(), first), (GoForward(), there),
    ):  # fmt: skip
        came.append(env.step(way))
        assert shown(came[-1])[0].startswith(line)
    assert env.step(GoForward()).error == "there is no page after this one"
    ids = [element.id for each in came for element in each.observation.elements]
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


BLOB = "window.URL.createObjectURL(new Blob(['<p>']))"
STAYING = {
    "<a href=mailto:a@example>GO</a>": "a link to mailto: was not followed",
    "<a href=web+app:x>GO</a>": "a link to web+app: was not followed",
    "<a href=about:blank>GO</a>": "a link to about: was not followed",
    f'<a onclick="location.assign({BLOB})" href=#>GO</a>': "a link to blob: was not followed",
    "<a href=/away>GO</a>": "a link was not followed, as it leads to no page: http://app.localhost/away",
    "<a href=/empty>GO</a>": "the page stays, as the answer to GET /empty is empty: 204",
    "<form method=post action=/reset><button>GO</button></form>": (
        "the page stays, as the answer to POST /reset is empty: 205"
    ),
    "<a href=/astray>GO</a>": "GET /astray leads to no address: http://[",
    "<a href=/pdf>GO</a>": "GET /pdf was downloaded, as it is not shown here: application/pdf",
    "<a href=/file>GO</a>": None,
    "<a href=data:text/html,x>GO</a>": None,
    "<a id=kept href=/new>GO</a>": None,
    "<iframe name=frame height=9></iframe><a href=/empty target=frame>GO</a>": None,
}
"""What leads to no page, and what is said of it."""

CLOSED = {
    "<a target=_blank href=mailto:a@example>GO</a>": "mailto:",
    "<a target=_blank rel=noopener href=tel:1>GO</a>": "tel:",
    "<a target=_blank href=javascript:void(0)>GO</a>": "javascript:",
    "<a target=_blank href=/empty>GO</a>": "http://app.localhost/empty",
    "<a target=_blank href=/file>GO</a>": "http://app.localhost/file",
    "<a target=_blank href=/pdf>GO</a>": "http://app.localhost/pdf",
    f'<a onclick="window.open({BLOB})" href=#>GO</a>': "blob:",
    "<a onclick=\"window.open('data:text/html,x')\" href=#>GO</a>": "data:",
    "<a onclick=\"window.open('').document.write('x')\" href=#>GO</a>": "about:",
    "<a onclick=\"window.open('').document.write('x'); window.open('/file?2')\" href=#>GO</a>": (
        "http://app.localhost/file?2"
    ),
}
"""What opens a window that shows no page, and where it leads."""

LEADING = {
    "/away": PageResponse(302, [("Location", "mailto:a@example")]),
    "/astray": PageResponse(302, [("Location", "http://[")]),
    "/empty": PageResponse(204),
    "/reset": PageResponse(205),
    "/pdf": PageResponse(200, [("Content-Type", "application/pdf")], b"%PDF"),
    "/file": PageResponse(200, [("Content-Disposition", "attachment; filename=a.csv")], b"a"),
}


def linking(links):
    """A page with links, which are named Go 0, Go 1 and so on, and tell how often they are used."""
    shown = "".join(f"<p>{html.replace('GO', f'Go {n}')}" for n, html in enumerate(links))
    return f"""{shown}<p id=said></p><script>let count = 0;
        addEventListener("click", () => setTimeout(() => {{ said.textContent = ++count; }}, 200));
        navigation.addEventListener("navigate", (event) => {{
          if (event.destination.url.endsWith("/new")) event.preventDefault();
        }});</script>"""


def test_a_link_that_leads_to_no_page_leaves_the_page_where_it_is(show):
    env, seen = show({"/": linking(STAYING), **LEADING})
    for number, said in enumerate(STAYING.values()):
        after = click(env, seen, f"Go {number}").observation
        assert texts(after)[-1] == str(number + 1)
        assert list(env.remarks()) == ([said] if said else [])


def test_a_page_of_another_status_is_a_page_of_the_trial(show):
    statuses = (300, 302, 305, 399, 404, 599)
    head = [("Content-Type", "text/html")]
    there = {f"/{each}": PageResponse(each, head, b"<h1>There</h1>") for each in statuses}
    env, seen = show({"/": "".join(f"<a href={path}>{path}</a>" for path in there), **there})
    for path in there:
        [heading] = shown(click(env, seen, path))
        assert heading.startswith('heading "There"'), path
        seen = env.step(GoBack()).observation


def test_a_request_that_is_led_to_no_address_fails(show):
    page = """<button onclick="fetch('/astray').catch(({ name }) => { out.textContent = name; })">
        Ask</button><p id=out></p>"""
    env, seen = show({"/": page, **LEADING})
    assert "TypeError" in texts(click(env, seen, "Ask").observation)


def test_a_window_that_shows_no_page_is_closed(show):
    env, seen = show({"/": linking(CLOSED), **LEADING})
    for number, link in enumerate(CLOSED.values()):
        after = click(env, seen, f"Go {number}").observation
        assert (texts(after)[-1], after.tabs) == (str(number + 1), 0)
        assert f"a window was closed, as it shows no page of the app: {link}" in env.remarks()


def test_a_program_may_follow_links_that_lead_to_no_page(show):
    links = [*list(STAYING)[4::4], *list(CLOSED)[::4]]
    env, _ = show({"/": linking(links), **LEADING})
    with env.hand_over(9, lambda driven: None, Pace()) as page, Program(page.cdp_url) as program:
        for number in range(len(links)):
            program.click(f"p:nth-of-type({number + 1}) > a")
            assert program.run("said.textContent") == str(number + 1)


def test_a_window_that_is_opened_empty_waits_for_its_page(show):
    page = "<button onclick=\"const tab = window.open(''); tab.location = '/new'\">Open</button>"
    env, seen = show({"/": page, "/new": "<h1>New</h1>"})
    assert texts(click(env, seen, "Open").observation) == ["", "New"]


def test_a_page_that_is_gone_from_the_history_leaves_the_page_where_it_is(show):
    pages = {"/": "<a href=/next>Next</a>", "/next": "<h1>There</h1>"}
    env, seen = show(pages)
    click(env, seen, "Next")
    pages["/"] = PageResponse(204)
    assert texts(env.step(GoBack()).observation) == ["There"]


def test_a_page_that_the_browser_can_not_show_is_an_error_that_says_why(show):
    env, seen = show(
        {"/": "<a href=/loop>Go</a>", "/loop": PageResponse(302, [("Location", "/loop")])}
    )
    with pytest.raises(PageError, match=r"/loop: net::ERR_TOO_MANY_REDIRECTS"):
        click(env, seen, "Go")
