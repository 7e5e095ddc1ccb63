"""JavaScript for every page: a frozen clock, one style, reading the page and aiming at elements.

Each file is one object, such as `Clock`, with the objects that it needs named at its top, or runs
at once where nothing needs it. `page_script` joins them into one function, so that the page sees
nothing of them but `window.miniwobAgent`:

- the page and its trial: `visit` (a page of your own, and what goes on from page to page),
  `frames` (pages of the same folder in it), `task` (how a page declares its task), `goal`,
  `judgement` (begin, judge, hand over), `leaving` (links)
- determinism: `storage`, `clock`, `random`, `backend`, `requests` and `times` (on your own pages),
  `dialogs`, `clipboard`, `flights` (the frame of flight tasks), `style`, `settle` (until all is at
  rest)
- reading: `sight` (what can be seen and clicked, and where), `leaves` (the compact screen),
  `everything` (the full one) with `colours`, `drawing`, `states`, `facts`, `looks` and `changes`,
  `waiting` (for `Wait` and `Follow`), `html`
- acting: `aim`, `drags`, `select`, `choose`
- pictures: `pointer`, `picture`
- a page that is handed over to a program: `witness`
- `api`: the functions that Python calls
"""

from __future__ import annotations

import base64
import importlib.util
from functools import cache
from pathlib import Path

from pytest_miniwob_agent.browser.pages import ECHO, OWN_HOST
from pytest_miniwob_agent.core.errors import BrowserError

SETTLE_MS = 2000
"""Milliseconds of the page's clock in which the consequences of an action come to rest. The slowest
animation of the tasks, the wheel of `click-pie`, takes 1,500."""

EPOCH_MS = 1_600_000_000_000
"""Start of the page's clock in every trial, in milliseconds since 1970."""

FILES = (
    "visit", "frames", "task", "storage", "clock", "random", "backend", "requests", "times",
    "dialogs", "clipboard", "flights", "style", "settle", "sight", "leaves", "colours", "drawing",
    "states", "facts", "looks", "everything", "changes", "waiting", "html", "goal", "judgement",
    "witness", "leaving", "aim", "drags", "select", "choose", "pointer", "picture", "api",
)  # fmt: skip
"""The files in the order in which they run, before the task's own scripts."""


FAMILY = "miniwob-agent"
"""The family of the font of all text: Roboto, from the `font-roboto` package."""

HAS_FONT = """((family) => {
  const pen = document.createElement("canvas").getContext("2d");
  const width = (font) => {
    pen.font = `100px ${font}`;
    return pen.measureText("miniwob").width;
  };
  return width(`${family}, monospace`) !== width("monospace");
})"""
"""A function that returns True in a browser that finds a font of its argument's family."""


def font_file() -> Path:
    """The font of all text.

    Raises:
        BrowserError: the `font-roboto` package is not installed.
    """
    spec = importlib.util.find_spec("font_roboto")
    if spec is None or spec.origin is None:
        raise BrowserError("the font-roboto package is not installed: pip install font-roboto")
    return Path(spec.origin).parent / "files" / "Roboto-Regular.ttf"


@cache
def page_script(*, with_font: bool = True) -> str:
    """The script that runs first in every new document.

    Every document decodes a font that comes with the script: a tenth of a fresh start.

    Raises:
        BrowserError: as for `font_file`.
    """
    font = base64.b64encode(font_file().read_bytes()).decode() if with_font else ""
    constants = (
        f'const Constants = {{ FAMILY: "{FAMILY}", FONT: "{font}", EPOCH: {EPOCH_MS}, '
        f'SETTLE: {SETTLE_MS}, OWN_HOST: "{OWN_HOST}", ECHO: "{ECHO}" }};'
    )
    folder = Path(__file__).parent
    sources = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in FILES]
    return "\n".join(["(() => {", '"use strict";', constants, *sources, "})();"])
