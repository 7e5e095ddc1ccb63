"""How long the screens of components of modern libraries are.

    make widgets
    .venv/bin/python benchmarks/screens.py

Reads the first screens of the pages of tests/widgets as compact, full and tree, and, in the same
Chromium without this package, as Playwright's aria snapshot with refs. Prints the characters of all
pages, and their ratios to those of the snapshot.
"""

from __future__ import annotations

import threading
from collections import Counter
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


def read_screens(names: list[str]) -> Counter[str]:
    """The characters of all pages, by the kind of screen."""
    catalogue = Catalogue([PAGES])
    browser = Browser()
    lengths = Counter[str]()
    for name in names:
        page = catalogue.pages[name]
        env = open_page(browser, Case(name, page.category, 1), page)
        for screen in SCREENS:
            lengths[screen] += len(render(env.reset(screen=screen).elements))
    browser.close()
    return lengths


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *values: object) -> None:
        """Print nothing."""


def read_snapshots(names: list[str]) -> int:
    """The characters of the snapshots of all pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(PAGES)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser())
        width, height = VIEWPORT
        page = browser.new_page(viewport={"width": width, "height": height})
        length = 0
        for name in names:
            page.goto(f"http://127.0.0.1:{server.server_port}/{name}.html")
            page.wait_for_timeout(500)
            length += len(page.locator("body").aria_snapshot(mode="ai"))
        browser.close()
    server.shutdown()
    return length


def main() -> None:
    names = sorted(path.stem for path in PAGES.glob("*.html"))
    lengths = read_screens(names)
    lengths["snapshot"] = read_snapshots(names)
    print(f"{len(names)} pages  characters  ratio")
    for screen, length in lengths.items():
        print(f"{screen:<9}{length:>11,}{length / lengths['snapshot']:>7.2f}")


if __name__ == "__main__":
    main()
