"""The client of the Chrome DevTools Protocol."""

import base64

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
