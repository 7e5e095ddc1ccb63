"""What tests do in the shared browser, over its connection.

Not by the driver: before a command it reads all that the browser has said since its last one,
which may take it many seconds.
"""

import json


def run_script(browser, body, *values):
    """Call a function with this body in the page's own world, and return its result."""
    expression = f"(function () {{ {body} }})(...{json.dumps(values)})"
    answer = browser.devtools.call(
        "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
    )
    assert "exceptionDetails" not in answer, answer
    return answer["result"].get("value")


def windows(browser):
    """The number of windows that are open."""
    targets = browser.devtools.call("Target.getTargets")["targetInfos"]
    return sum(target["type"] == "page" for target in targets)


def answers(browser, *urls):
    """How many of these addresses answer the page."""
    script = """
        return Promise.allSettled([...arguments].map((url) => fetch(url, { mode: "no-cors" })))
          .then((results) => results.filter(({ status }) => status === "fulfilled").length);"""
    return run_script(browser, script, *urls)
