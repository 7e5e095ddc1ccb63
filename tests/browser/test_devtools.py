"""The client of the Chrome DevTools Protocol."""

import base64

from support.servers import wait_until

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
