"""The client of the Chrome DevTools Protocol."""

import base64
import json
import threading

import pytest
from selenium.common.exceptions import WebDriverException
from support.own_pages import TASK
from support.servers import wait_until
from websockets.sync.server import serve

from pytest_miniwob_agent.browser import devtools as module
from pytest_miniwob_agent.browser.devtools import DevTools, open_socket

FETCH = "((path) => fetch(path).then((answer) => answer.text()))"


def test_an_event_is_answered_while_a_command_waits_for_that(browser, open_page):
    open_page("click-test")
    devtools = browser.devtools

    def fulfill(event):
        body = base64.b64encode(event["request"]["url"].encode()).decode()
        answer = {"requestId": event["requestId"], "responseCode": 200, "body": body}
        devtools.begin("Fetch.fulfillRequest", answer)

    devtools.on("Fetch.requestPaused", fulfill)
    devtools.call("Fetch.enable", patterns=[{"urlPattern": "*/orders"}])
    assert devtools.evaluate(FETCH, "/orders") == "http://miniwob.localhost/orders"
    devtools.call("Fetch.disable")


def test_a_command_that_comes_too_late_for_a_closed_window_is_no_error(browser, open_page):
    """A window may close itself while a command is on its way to it."""
    open_page("click-test")
    devtools = browser.devtools
    window = devtools.call("Target.createTarget", url="about:blank")["targetId"]
    attached = devtools.call("Target.attachToTarget", targetId=window, flatten=True)
    devtools.call("Target.closeTarget", targetId=window)
    wait_until(lambda: window not in str(devtools.call("Target.getTargets")))
    moved = {"type": "mouseMoved", "x": 1, "y": 1}
    move = devtools.begin("Input.dispatchMouseEvent", moved, attached["sessionId"])
    value = devtools.begin("Runtime.evaluate", {"expression": "1"}, attached["sessionId"])
    devtools.call("Browser.getVersion")
    assert move.answer == {"result": {}}
    assert "detached" in value.answer["error"]["message"]


def test_scripts_that_are_garbage_are_not_searched(browser, pages):
    """A script that has run, and has left no function, may be gone at any time."""
    pages.show(f"<script>'said'</script>{TASK}")
    found, said = browser.devtools.digests("said")
    assert (len(found), len(said)) == (2, 1)
    browser.devtools.call("HeapProfiler.collectGarbage")
    assert browser.devtools.digests("said") == (found, [])
    assert browser.devtools.evaluate("(() => { debugger; return 1; })") == 1


@pytest.fixture
def silent():
    """What reads a browser that answers commands with an event alone."""

    def answer(socket):
        for _ in socket:
            socket.send(json.dumps({"method": "Test.event", "params": {}}))

    with serve(answer, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        client = DevTools(open_socket(url, timeout=10, direct=True), 60, lambda: False)
        yield client
        client.close()
        server.shutdown()


def test_an_error_where_an_event_is_handled_ends_what_is_waited_for(silent):
    silent.excused = lambda: True
    silent.on("Test.event", lambda event: event["missing"])
    with pytest.raises(WebDriverException, match="not be handled: KeyError: 'missing'") as error:
        silent.call("Test.ask")
    assert isinstance(error.value.__cause__, KeyError)


def test_a_wait_has_a_last_limit_that_nothing_excuses(silent, monkeypatch):
    monkeypatch.setattr(module, "LAST_LIMIT", 0.2)
    silent.timeout, silent.excused = 0.1, lambda: True
    with pytest.raises(WebDriverException, match="timed out"):
        silent.call("Test.ask")
