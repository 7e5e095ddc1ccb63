"""JavaScript for every page: a frozen clock, one font, reading the page and aiming at elements.

Each file holds one concept; `page_script` joins them into one function, so that they share their
names and the page sees none of them but `window.miniwobAgent` (api.js).
"""

from __future__ import annotations

import base64
import importlib.util
from functools import cache
from pathlib import Path

from pytest_miniwob_agent.browser.pages import OWN_HOST
from pytest_miniwob_agent.core.errors import BrowserError

SETTLE_MS = 2000
"""Milliseconds of the page's clock in which the consequences of an action come to rest. The slowest
animation of the tasks, the wheel of `click-pie`, takes 1,500."""

EPOCH_MS = 1_600_000_000_000
"""Start of the page's clock in every trial, in milliseconds since 1970."""

FILES = (
    "visits",
    "storage",
    "clock",
    "random",
    "times",
    "dialogs",
    "clipboard",
    "flights",
    "look",
    "settle",
    "sight",
    "leaves",
    "colours",
    "drawing",
    "everything",
    "changes",
    "html",
    "goal",
    "judgement",
    "aim",
    "select",
    "choose",
    "pointer",
    "picture",
    "api",
)
"""The files in the order in which they run, before the task's own scripts."""


@cache
def page_script() -> str:
    """The script that runs first in every new document, with the font of `font-roboto` in it.

    Raises:
        BrowserError: the `font-roboto` package is not installed.
    """
    spec = importlib.util.find_spec("font_roboto")
    if spec is None or spec.origin is None:
        raise BrowserError("the font-roboto package is not installed: pip install font-roboto")
    font = (Path(spec.origin).parent / "files" / "Roboto-Regular.ttf").read_bytes()
    encoded = base64.b64encode(font).decode()
    constants = (
        f'const FONT = "{encoded}", EPOCH = {EPOCH_MS}, SETTLE = {SETTLE_MS}, '
        f'OWN_HOST = "{OWN_HOST}";'
    )
    folder = Path(__file__).parent
    sources = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in FILES]
    return "\n".join(["(() => {", '"use strict";', constants, *sources, "})();"])
