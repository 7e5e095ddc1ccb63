"""Clients on pages that are handed over: by HTTP addresses, by a port alone, Selenium."""

import json
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.ui import Select, WebDriverWait
from support.own_pages import TASK
from support.scripted import Solving, actions, play
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from pytest_miniwob_agent.browser.local import find_browser, find_driver
from pytest_miniwob_agent.core.pace import Pace

pytestmark = pytest.mark.integration


@pytest.fixture
def drive(pages):
    """Let a function drive a page of one's own, which has an open port; returns the episode."""

    def drive(work, body=TASK, pace=None, **files):
        @Solving
        def agent(env):
            env.reset()
            with env.hand_over(open_port=True) as handed:
                work(handed)

        page, model = pages.make(body, **files), (lambda *call: "reply")
        return play(agent, page, model, raising=True, steps=100, pace=pace)[0]

    return drive


def get(url, **headers):
    with build_opener(ProxyHandler({})).open(Request(url, headers=headers)) as answer:
        return json.load(answer)


def call(socket, method, session=None, **params):
    """Send a command; its answer and the events before it."""
    named = {"sessionId": session} if session else {}
    socket.send(json.dumps({"id": 1, "method": method, "params": params} | named))
    events = []
    while "id" not in (message := json.loads(socket.recv(timeout=300))):
        events.append(message)
    return message, events


def test_a_page_has_the_addresses_of_a_browser_below_its_secret_and_at_its_port(drive):
    def work(handed):
        assert handed.http_url == handed.cdp_url.replace("ws:", "http:")
        for url in (handed.http_url, f"http://127.0.0.1:{handed.port}"):
            version = get(f"{url}/json/version")
            assert version["Browser"].split("/")[1] in version["User-Agent"]
            assert version["webSocketDebuggerUrl"].startswith(url.replace("http", "ws"))
            with connect(version["webSocketDebuggerUrl"]) as browser:
                answer, _ = call(browser, "Target.getTargets")
                [target] = answer["result"]["targetInfos"]
            assert get(f"{url}/json") == get(f"{url}/json/list/?t=1")
            [page] = get(f"{url}/json/list")
            assert {page[key] for key in ("id", "type", "url")} == {
                target[key] for key in ("targetId", "type", "url")
            }
            assert page["webSocketDebuggerUrl"].startswith(url.replace("http", "ws"))
            for path in ("json/new", "devtools", "devtools/page/"):
                with pytest.raises(HTTPError, match="404"):
                    get(f"{url}/{path}")

    drive(work)


def test_a_connection_to_a_page_needs_no_session_and_hears_of_that_page_alone(drive):
    def work(handed):
        [page] = get(f"{handed.http_url}/json/list")
        with connect(page["webSocketDebuggerUrl"]) as socket:
            heard = []
            for method, params, found in (
                ("Runtime.enable", {}, "result"),
                ("Runtime.evaluate", {"expression": "b.click()"}, "result"),
                ("Page.navigate", {"url": "about:blank"}, "error"),
                ("Target.setDiscoverTargets", {"discover": True}, "result"),
                ("Target.attachToTarget", {"targetId": page["id"], "flatten": True}, "result"),
            ):
                answer, events = call(socket, method, **params)
                assert set(answer) == {"id", found}
                heard += events
            session = answer["result"]["sessionId"]
            answer, _ = call(socket, "Runtime.evaluate", session, expression="1 + 1")
            assert (answer["sessionId"], answer["result"]["result"]["value"]) == (session, 2)
        assert "Runtime.executionContextCreated" in [event["method"] for event in heard]
        assert all("sessionId" not in event for event in heard)
        with connect(page["webSocketDebuggerUrl"][:-1] + "2") as socket:
            assert "error" in call(socket, "Runtime.evaluate", expression="1")[0]

    assert actions(drive(work, f"<button id='b'>Go</button>{TASK}")) == ['click <button> "Go"']


def test_a_page_that_was_reached_by_its_tab_is_closed_with_it(drive):
    def work(handed):
        with connect(handed.cdp_url) as socket:
            answer, _ = call(socket, "Target.getTargets", filter=[{"type": "tab"}])
            [tab] = [target["targetId"] for target in answer["result"]["targetInfos"]]
            answer, _ = call(socket, "Target.attachToTarget", targetId=tab, flatten=True)
            session, attach = answer["result"]["sessionId"], {"autoAttach": True, "flatten": True}
            attach["waitForDebuggerOnStart"] = False
            _, [attached] = call(socket, "Target.setAutoAttach", session, **attach)
            page = attached["params"]["targetInfo"]["targetId"]
            _, events = call(socket, "Target.closeTarget", targetId=page)
            gone = [event["params"]["sessionId"] for event in events]
            assert session in gone
            answer, _ = call(socket, "Target.getTargets")
            assert answer["result"] == {"targetInfos": []}

    drive(work)


def test_a_port_is_open_on_request_in_the_block_and_to_no_web_page(drive, pages):
    ports = []

    def work(handed):
        ports.append(handed.port)
        url = f"http://127.0.0.1:{handed.port}/json/version"
        assert get(url, Host="localhost") == get(url)
        for headers in ({"Host": "attacker.test"}, {"Origin": "http://attacker.test"}):
            with pytest.raises(HTTPError, match="403"):
                get(url, **headers)
        for wrong in ({"origin": "http://127.0.0.1"}, {"additional_headers": {"Host": "a.test"}}):
            with pytest.raises(InvalidStatus, match="403"):
                connect(f"ws://127.0.0.1:{handed.port}/", **wrong)

    @Solving
    def without(env):
        env.reset()
        with env.hand_over() as handed:
            assert handed.port is None

    drive(work)
    with pytest.raises(ConnectionRefusedError):
        connect(f"ws://127.0.0.1:{ports[0]}/")
    play(without, pages.make(TASK), lambda *call: "reply", raising=True)


FORM = """
    <input id="name"><button id="go" onclick="setTimeout(come, 5000)">Go</button>
    <button id="ask" onclick="said.textContent = confirm('Sure?')">Ask</button><p id="said"></p>
    <select><option>one<option>two</select>
    <iframe srcdoc="<button onclick='parent.pressed = true'>In</button>"></iframe>
    <script>
      let pressed = false, clicked = 0;
      const come = () => {
        const late = document.createElement("a");
        Object.assign(late, { id: "late", href: "second.html", textContent: "Late" });
        document.body.append(late);
      };
      const task = { goal: "g", reward: () => 0 };
    </script>"""
SECOND = """<button onclick="clicked = 1">Yes</button><script>
    let clicked = 0; const task = { goal: "g", reward: () => clicked };</script>"""


@pytest.mark.sweep
def test_selenium_works_on_a_page_and_a_replay_does_the_same(drive):
    seen = []

    def work(handed):
        options = webdriver.ChromeOptions()
        options.debugger_address = f"127.0.0.1:{handed.port}"
        service = webdriver.ChromeService(find_driver(find_browser()))
        driver = webdriver.Chrome(options=options, service=service)
        seen.append([])

        def find(what, by=By.CSS_SELECTOR):
            return driver.find_element(by, what)

        def note(*what):
            seen[-1].append((driver.execute_script("return Date.now()"), *what))

        try:
            find("#name").send_keys("Ann")
            note(find("#name").get_attribute("value"), driver.window_handles)
            for place in range(5):  # other questions than the same again
                find(f"body > *:nth-child({place + 1})")
            note(driver.execute_async_script("setTimeout(arguments[1], 2000, arguments[0])", 1))
            find("#go").click()
            come = expected_conditions.element_to_be_clickable((By.ID, "late"))
            late = WebDriverWait(driver, 60).until(come)
            note(late.text, driver.get_screenshot_as_png()[:4])
            with pytest.raises(TimeoutException):
                WebDriverWait(driver, 1).until(lambda _: driver.find_elements(By.ID, "never"))
            note()
            Select(find("select")).select_by_visible_text("two")
            find("#ask").click()
            driver.switch_to.alert.accept()
            note(find("#said").text)
            driver.switch_to.frame(find("iframe"))
            find("button").click()
            driver.switch_to.default_content()
            note(driver.execute_script("return pressed"))
            with pytest.raises(WebDriverException, match="can't be left"):
                driver.get("about:blank")
            find("Late", By.LINK_TEXT).click()
            find("button").click()
            assert handed.done
            driver.close()
        finally:
            driver.quit()

    pace = Pace()
    first = drive(work, FORM, pace, second_html=SECOND)
    again = drive(work, FORM, Pace(pace.moves, strict=True), second_html=SECOND)
    assert actions(first) == [
        'enter "Ann" to <input #name>', 'click <button> "Go"', 'choose "two" in <select>',
        'click <select>', 'click <button> "Ask"', 'accept "Sure?"', 'click <button> "In"',
        'click <a> "Late"', 'click <button> "Yes"',
    ]  # fmt: skip
    assert first.solved
    assert again.events == first.events
    assert seen[0] == seen[1]
    (typed, *_), (later, one), *_ = seen[0]
    assert (later - typed, one) == (2000, 1)
