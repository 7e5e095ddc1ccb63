"""Playwright on pages that are handed over to it: its waits, its routes, what it hears of."""

import time
from functools import partial

import pytest
from support.own_pages import TASK
from support.scripted import actions, play

from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.tasks.perturbations import shipped_kinds

pytest.importorskip("playwright")  # an environment from before it was among the development tools
from playwright.sync_api import Error, TimeoutError, expect, sync_playwright

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def playwright():
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture
def drive(pages, playwright):
    """Let a function drive a page of one's own with Playwright; returns the episode."""

    class Agent:
        name = "script"

        def __init__(self, work):
            self.work = work

        def solve(self, env, llm, note):
            env.reset()
            with env.hand_over() as handed:
                found = playwright.chromium.connect_over_cdp(handed.cdp_url)
                self.work(found.contexts[0].pages[0], handed, llm)

    def drive(body, work, kind=None, pace=None, **files):
        page = pages.make(body, **files).perturb(kind)
        model, more = (lambda *call: "reply"), {"raising": True, "steps": 100, "pace": pace}
        return play(Agent(work), page, model, **more)[0]

    return drive


def late(ms):
    return f"""
        <button id="go" onclick="setTimeout(come, {ms})">Go</button><p id="clock"></p>
        <script>
          let clicked = 0, seconds = 0;
          const come = () => {{
            const button = document.createElement("button");
            button.id = "late";
            button.textContent = "Late";
            button.onclick = () => {{ clicked = 1; }};
            document.body.append(button);
          }};
          setInterval(() => {{ clock.textContent = ++seconds; }}, 1000);
          const task = {{ goal: "Click what comes late.", reward: () => clicked }};
        </script>"""


def until(found):
    for _ in range(100):
        if found():
            return
    raise AssertionError("it never came")


SWEEP = pytest.mark.sweep


WAITS = {
    "expect": lambda page: expect(page.locator("#late")).to_be_visible(),
    "expect a text": lambda page: expect(page.locator("#late")).to_have_text("Late"),
    "expect a number": lambda page: expect(page.get_by_text("Late")).to_have_count(1),
    "locator.wait_for": lambda page: page.locator("#late").wait_for(),
    "wait_for_selector": lambda page: page.wait_for_selector("#late"),
    "wait_for_function": lambda page: page.wait_for_function("document.querySelector('#late')"),
    "inner_text": lambda page: page.inner_text("#late"),
    "click": lambda page: None,
    "all": lambda page: until(page.locator("#late").all),
    "is_visible": lambda page: until(page.locator("#late").is_visible),
    "evaluate": lambda page: until(lambda: page.evaluate("Boolean(window.late)")),
}


@pytest.mark.parametrize(
    ("delay", "ways"),
    [
        (5000, ["expect"]),
        pytest.param(20_000, ["expect"], marks=SWEEP),
        pytest.param(5000, WAITS, marks=SWEEP),
    ],
)
def test_what_comes_later_is_seen_by_every_wait_and_at_the_same_moment_again(delay, ways, drive):
    seen = []

    def work(page, handed, llm):
        page.click("#go")
        waits(page)
        seen.append((page.inner_text("#clock"), page.evaluate("Date.now()")))
        page.click("#late")
        assert handed.done

    for way in ways:
        waits = WAITS[way]
        episode = drive(late(delay), work)
        assert episode.solved
        assert actions(episode) == ['click <button> "Go"', 'click <button> "Late"']
    again = drive(late(delay), work)
    assert again.events == episode.events
    assert seen[-1] == seen[-2]


@pytest.mark.sweep
def test_the_page_keeps_up_with_a_program_that_sleeps(drive):
    def work(page, handed, llm):
        page.click("#go")
        assert page.locator("#late").count() == 0
        time.sleep(5)
        assert page.locator("#late").count() == 1

    drive(late(4500), work)


@pytest.mark.parametrize("limits", [(500, 100), pytest.param((100, 500), marks=SWEEP)])
def test_a_wait_that_fails_takes_the_same_time_of_the_page_in_a_replay(limits, drive):
    """Real time decides how often Playwright asks until then."""
    times = []

    def work(limit, page, handed, llm):
        page.click("#go")
        with pytest.raises(TimeoutError):
            page.click("#never", timeout=limit)
        times.append(page.evaluate("Date.now()"))

    body = late(60_000).replace("setInterval", "Boolean")
    pace = Pace()
    drive(body, partial(work, limits[0]), pace=pace)
    drive(body, partial(work, limits[1]), pace=Pace(pace.moves, strict=True))
    assert times[0] == times[1]


def test_no_time_passes_where_a_model_is_asked_between_the_same_questions(drive):
    def work(page, handed, llm):
        page.click("#go")
        for _ in range(5):
            assert page.locator("#late").count() == 0
            llm.complete("What now?", "ask")

    drive(late(5000), work)


ASKING = """
    <button id="file" onclick="ask('data.json')">File</button>
    <button id="api" onclick="ask('/api/x')">Api</button>
    <button id="later" onclick="setTimeout(() => ask('/api/x'), 3000)">Later</button>
    <button id="xhr" onclick="send('/api/x')">Xhr</button>
    <p id="out">nothing</p>
    <script>
      const ask = async (url) => {
        try {
          out.textContent = (await (await fetch(url, { method: "GET" })).json()).from;
        } catch {
          out.textContent = "failed";
        }
      };
      const send = (url) => {
        const request = new XMLHttpRequest();
        request.open("GET", url);
        request.onload = () => { out.textContent = JSON.parse(request.responseText).from; };
        request.onerror = () => { out.textContent = "failed"; };
        request.send();
      };
      const task = {
        goal: "Ask.",
        reward: () => Number(/file|task|route/.test(out.textContent)),
        api: { "GET /api/x": () => ({ from: "task" }) },
      };
    </script>"""
DATA = {"data_json": '{"from": "file"}'}


FILE, API, XHR = ("file", "data.json", "file"), ("api", "api/x", "task"), ("xhr", "api/x", "task")


@pytest.mark.parametrize(
    ("answer", "found", "cases"),
    [
        pytest.param(lambda route: route.continue_(), None, [FILE, API, XHR], marks=SWEEP),
        (lambda route: route.fulfill(json={"from": "route"}), "route", [API]),
        pytest.param(lambda route: route.abort(), "failed", [XHR], marks=SWEEP),
    ],
    ids=["continue", "fulfill", "abort"],
)
def test_a_route_answers_what_the_page_asks_for(answer, found, cases, drive):
    def work(button, path, plain, page, handed, llm):
        asked = []
        page.route("**/*", lambda route: (asked.append(route.request.url), answer(route)))
        page.click(f"#{button}")
        expect(page.locator("#out")).to_have_text(found or plain)
        assert asked == [f"http://pages.localhost/{path}"]

    for case in cases:
        episode = drive(ASKING, partial(work, *case), **DATA)
        assert episode.solved == (found != "failed")


def test_a_program_hears_of_requests_and_responses_and_waits_for_them(drive):
    heard = []

    def work(page, handed, llm):
        page.on("request", lambda request: heard.append(request.url))
        page.on("response", lambda response: heard.append(response.status))
        with page.expect_response("**/api/x") as got, page.expect_request("**/api/x"):
            page.click("#later")
        assert got.value.json() == {"from": "task"}
        page.wait_for_load_state("networkidle")

    assert drive(ASKING, work).solved
    assert heard == ["http://pages.localhost/api/x", 200]


def test_a_program_may_ask_something_else_before_it_answers_the_pages_request(drive):
    def work(page, handed, llm):
        page.route("**/*", lambda route: (page.title(), route.continue_()))
        page.click("#file")
        # This blocks the thread in which the route is answered.
        assert not handed.done
        llm.complete("What now?", "ask")
        assert page.inner_text("#out") == "file"
        assert handed.done

    assert drive(ASKING, work, **DATA).solved


def test_a_request_that_a_program_never_answers_costs_nothing_but_its_answer(drive):
    def work(page, handed, llm):
        page.route("**/*", lambda route: None)
        page.click("#file")
        assert page.inner_text("#out") == "nothing"

    assert drive(ASKING, work, **DATA).solved  # once the program is gone


def test_an_http_address_is_as_good(drive, playwright):
    def work(page, handed, llm):
        again = playwright.chromium.connect_over_cdp(handed.http_url)
        again.contexts[0].pages[0].click("button")

    assert actions(drive(f"<button>Go</button>{TASK}", work)) == ['click <button> "Go"']


def test_history_and_drags_are_actions_and_a_closed_page_says_so(drive):
    def work(page, handed, llm):
        page.click("button")
        page.go_back()
        assert page.url.endswith("/page.html")
        page.go_forward()
        assert page.url.endswith("?two")
        page.locator("#a").drag_to(page.locator("#b"))
        assert page.inner_text("#b") == "there"
        page.close()
        with pytest.raises(Error, match="closed"):
            page.click("button")

    episode = drive(
        TASK
        + """<button onclick="history.pushState({}, '', '?two')">Push</button>
        <p id="a" draggable="true">from</p>
        <p id="b" ondragover="event.preventDefault()" ondrop="this.textContent = 'there'">to</p>""",
        work,
    )
    assert actions(episode) == [
        'click <button> "Push"', "go back", "go forward", 'drag <p> "from" to <p> "to"',
    ]  # fmt: skip
    assert "program: the program has closed the page" in episode.explain()


ANSWERS = """
    <button id="ask" onclick="say(confirm('Sure?'))">Ask</button>
    <button id="name" onclick="say(prompt('Name?', 'Bob'))">Name</button>
    <button id="later" onclick="setTimeout(() => say(confirm('Still?')), 3000)">Later</button>
    <p id="said">nothing</p>
    <script>
      const say = (what) => { said.textContent = String(what); };
      const task = { goal: "Answer.", reward: () => Number(said.textContent === "true") };
    </script>"""


def test_a_program_answers_dialogs(drive):
    heard = []

    def answer(dialog, *text):
        heard.append((dialog.type, dialog.message, dialog.default_value))
        dialog.accept(*text)

    def work(page, handed, llm):
        page.once("dialog", lambda dialog: answer(dialog, "Ann"))
        page.click("#name")
        assert page.inner_text("#said") == "Ann"
        page.click("#ask")  # Playwright dismisses it
        assert page.inner_text("#said") == "false"
        page.once("dialog", answer)
        page.click("#later")
        expect(page.locator("#said")).to_have_text("true")
        assert handed.done

    episode = drive(ANSWERS, work)
    assert episode.solved
    assert heard == [("prompt", "Name?", "Bob"), ("confirm", "Still?", "")]
    assert actions(episode) == [
        'click <button> "Name"', 'accept "Name?" with "Ann"', 'click <button> "Ask"',
        'dismiss "Sure?"', 'click <button> "Later"', 'accept "Still?"',
    ]  # fmt: skip


def test_a_click_that_a_perturbation_takes_is_an_action(drive):
    body = """<button onclick="done = 1">Go</button> <script>
        let done = 0;
        window.task = { goal: "Click.", reward: () => done };
    </script>"""

    def work(page, handed, llm):
        page.get_by_role("button").click()
        page.get_by_role("button").click()

    episode = drive(body, work, kind=shipped_kinds()["inert"])
    assert episode.solved
    assert actions(episode) == ['click <button> "Go"'] * 2
