"""How long the screens of components of modern libraries are, and how long it takes to read them.

    make widgets
    .venv/bin/python benchmarks/screens.py [--rounds N] [--each]

Reads the first screens of the pages of tests/widgets and a table of 1,000 rows as compact, full and
tree, and, in the same Chromium without this package, as Playwright's aria snapshot with refs.
Prints characters and milliseconds, the least of several rounds, and their ratios to those of the
snapshot: compare ratios between machines, not milliseconds.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import sync_playwright

from pytest_miniwob_agent.browser.local import find_browser
from pytest_miniwob_agent.browser.own_page import open_page
from pytest_miniwob_agent.browser.process import VIEWPORT, Browser
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.observations import SCREENS
from pytest_miniwob_agent.screen import render
from pytest_miniwob_agent.tasks.catalogue import Catalogue

PAGES = Path(__file__).parent.parent / ".cache" / "widgets" / "pages"

ROWS = "".join(f"<tr><td>Name {n}<td>{n}<td><a href=#>Open {n}</a>" for n in range(1000))
TABLE = (
    "<!DOCTYPE html><body><script>const task = { goal: 'Look.', reward: () => 0 };</script>"
    f"<table>{ROWS}</table></body>"
)

READERS = {"compact": "leaves", "full": "shown", "tree": "nested"}

Found = dict[str, dict[str, tuple[int, float]]]
"""Characters and milliseconds, by page and then by screen."""


def timed(read: Callable[[], object], rounds: int) -> float:
    """The milliseconds of the fastest of some rounds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        read()
        times.append((time.perf_counter() - began) * 1000)
    return min(times)


def read_screens(folder: Path, rounds: int, found: Found) -> None:
    catalogue = Catalogue([folder])
    browser = Browser()
    for name in found:
        page = catalogue.pages[name]
        env = open_page(browser, Case(name, page.category, 1), page)
        for screen in SCREENS:
            text = render(env.reset(screen=screen).elements)
            read = partial(browser.call, f"miniwobAgent.{READERS[screen]}")
            found[name][screen] = (len(text), timed(read, rounds))
    browser.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *values: object) -> None:
        """Print nothing."""


def read_snapshots(folder: Path, rounds: int, found: Found) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser())
        width, height = VIEWPORT
        page = browser.new_page(viewport={"width": width, "height": height})
        for name in found:
            page.goto(f"http://127.0.0.1:{server.server_port}/{name}.html")
            page.wait_for_timeout(500)
            read = partial(page.locator("body").aria_snapshot, mode="ai")
            found[name]["snapshot"] = (len(read()), timed(read, rounds))
        browser.close()
    server.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--each", action="store_true", help="print every page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(shutil.copytree(PAGES, Path(temporary) / "pages"))
        (folder / "table-of-1000.html").write_text(TABLE, encoding="utf-8")
        found: Found = {path.stem: {} for path in sorted(folder.glob("*.html"))}
        read_screens(folder, options.rounds, found)
        read_snapshots(folder, options.rounds, found)
    table = {"table-of-1000": found.pop("table-of-1000")}
    print(f"{'':<20} {'screen':<9} {'characters':>10} {'ratio':>6} {'ms':>7} {'ratio':>6}")
    for title, pages in (
        *((name, {name: one}) for name, one in found.items() if options.each),
        (f"all {len(found)} pages", found),
        ("table of 1,000 rows", table),
    ):
        for screen in (*SCREENS, "snapshot"):
            length, ms, least, fastest = (
                sum(one[which][part] for one in pages.values())
                for which in (screen, "snapshot")
                for part in (0, 1)
            )
            print(
                f"{title:<20} {screen:<9} {length:>10,} {length / least:>6.2f} {ms:>7.1f} "
                f"{ms / fastest:>6.2f}"
            )


if __name__ == "__main__":
    main()
