"""What pages of your own, and pages of an app, cost beside one of MiniWoB++.

    python benchmarks/apps.py [--rounds N]

In turns, each page is loaded afresh and then clicked on five times: `click-tab-2` (one click, which
ends its episode), a page of your own, and an app whose script fetches something at each click, live
and replayed. Figures are medians over the rounds of a fresh start and of an action; compare ratios,
not milliseconds, between machines.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.own_page import open_page
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.app import AppTask
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.plugins.apps.live_app import LiveApp
from pytest_miniwob_agent.plugins.apps.page import AppPage
from pytest_miniwob_agent.plugins.apps.recorded_app import RecordedApp
from pytest_miniwob_agent.tasks.catalogue import Catalogue, TaskPage

OWN = """<!DOCTYPE html><button onclick="n.textContent = ++count">Go</button><p id=n>0</p><script>
let count = 0;
const task = { goal: "Count.", reward: () => 0 };</script>"""

FILES = {
    "/": "<button onclick=go()>Go</button><p id=n>0</p><script src=/app.js></script>",
    "/app.js": "const go = async () => { n.textContent += await (await fetch('/api')).text(); };",
    "/api": "1",
}


class App(BaseHTTPRequestHandler):
    """The app."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send a file, after its headers, as most servers do."""
        body = FILES[self.path].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "text/javascript")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    server = ThreadingHTTPServer(("127.0.0.1", 0), App)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    folder = Path(tempfile.mkdtemp())
    (folder / "own.html").write_text(OWN)
    task = AppTask("app", app=address, goal="Count.", solved_when=lambda trial: None)
    page = TaskPage("app", "apps", Path(__file__), app=task)
    case = Case("app", "apps", 1)
    browser = Browser()

    def live() -> tuple[str, LiveApp]:
        return address, LiveApp(task, [address], contextlib.nullcontext)

    own = Catalogue([folder]).pages["own"]
    times: dict[tuple[str, str], list[float]] = defaultdict(list)

    def measure(name: str, page: MiniwobPage, clicks: int) -> None:
        begun = time.perf_counter()
        seen = page.reset(screen="compact" if clicks == 1 else "tree")
        times[name, "start"].append(time.perf_counter() - begun)
        button = next(one.id for one in seen.elements if one.id is not None)
        for _ in range(clicks):
            begun = time.perf_counter()
            page.step(Click(button))
            times[name, "action"].append(time.perf_counter() - begun)

    for _ in range(rounds + 1):  # the first one warms up
        measure("click-tab-2", MiniwobPage(browser, Case("click-tab-2", "", 1)), 1)
        measure("own page", open_page(browser, Case("own", own.category, 1), own), 5)
        for name, start in (("app, live", live), ("app, replayed", None)):
            app = RecordedApp(task, 1, Limits(), folder, "a/m/app/1", start, anew=start is not None)
            measure(name, AppPage(browser, case, page, app), 5)
            browser.forget_pages()
            app.finish(calls=0, solved=True)
    print(f"{'':16}{'start':>8}{'ratio':>8}{'action':>8}{'ratio':>8}")
    for name in dict.fromkeys(name for name, _ in times):
        row = f"{name:16}"
        for what in ("start", "action"):
            found = statistics.median(times[name, what][1:])
            unit = statistics.median(times["click-tab-2", what][1:])
            row += f"{1000 * found:8.1f}{found / unit:8.2f}"
        print(row)
    browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
