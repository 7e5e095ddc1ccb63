"""A script of Playwright in a loop: the model names the next method of the page."""

import json
from functools import cache

from playwright.sync_api import Error, sync_playwright

PROMPT = """Goal: {goal}
Page, as an aria snapshot of Playwright:
{page}
Done so far:
{done}
Answer with the next action, and nothing else: a JSON list of a method of Playwright's page, its
selector and, where it takes one, a value. Methods: click, dblclick, hover, fill, press,
select_option. For example ["fill", "role=textbox >> nth=0", "some text"]."""
METHODS = ("click", "dblclick", "hover", "fill", "press", "select_option")


@cache
def playwright():
    """Start Playwright's driver, once per worker."""
    return sync_playwright().start()


def do(page, reply):
    """Carry out the model's action; return how it went."""
    try:
        method, *arguments = json.loads(reply)
        if method not in METHODS:
            return f"there is no method {method}"
        getattr(page, method)(*arguments, timeout=2000)
    except (ValueError, TypeError, Error) as error:
        return str(error).splitlines()[0]
    return "done"


class Playwright:
    """Asks for one action at a time until the page has judged."""

    name = "playwright"

    def solve(self, env, llm, note):
        """Play one trial."""
        goal, done = env.reset().goal, []
        with env.hand_over() as handed:
            browser = playwright().chromium.connect_over_cdp(handed.cdp_url)
            page = browser.contexts[0].pages[0]
            while not handed.done:
                seen = page.locator("body").aria_snapshot()
                text = PROMPT.format(goal=goal, page=seen, done="\n".join(done) or "nothing")
                reply = llm.complete(text, "next").text
                done.append(f"{reply}: {do(page, reply)}")
