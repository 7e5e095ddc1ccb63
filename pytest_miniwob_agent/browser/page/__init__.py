"""JavaScript for every page: a frozen clock, one style, reading the page and aiming at elements.

Each file is one object, such as `Clock`, with the objects that it needs named at its top, or runs
at once where nothing needs it. `page_scripts` joins them into two functions, for two worlds
(https://chromedevtools.github.io/devtools-protocol/tot/Page/#method-createIsolatedWorld). What
replaces functions of the page, or calls its scripts, is in the page's own world:

- the page and its trial: `visit` (a page of your own, and what goes on from page to page), `task`
  (how a page declares its task), `judgement` (begin, judge, hand over), `leaving` (links)
- determinism: `storage`, `clock`, `random`, `backend`, `requests` and `times` (on your own pages),
  `dialogs`, `flights` (the frame of flight tasks), `style`
- a page that is handed over to a program: `witness`
- `served`: the functions that the other world calls

Everything else is in a world of ours, where no script of the page can replace anything:

- `world`: the calls to the page's own world
- `frames` (pages of the same folder in frames), `settle` (until all is at rest), `clipboard`
- reading: `sight` (what can be seen and clicked, and where), `leaves` (the compact screen),
  `everything` (the full one) with `colours`, `drawing`, `states`, `facts`, `looks` and `changes`,
  `waiting` (for `Wait` and `Follow`), `html`, `goal`
- acting: `aim`, `drags`, `select`, `choose`
- pictures: `pointer`, `picture`
- `api`: the functions that Python calls
"""

from __future__ import annotations

import base64
import importlib.util
import json
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pytest_miniwob_agent.browser.pages import ECHO, OWN_HOST
from pytest_miniwob_agent.core.errors import BrowserError

SETTLE_MS = 2000
"""Milliseconds of the page's clock in which the consequences of an action come to rest. The slowest
animation of the tasks, the wheel of `click-pie`, takes 1,500."""

EPOCH_MS = 1_600_000_000_000
"""Start of the page's clock in every trial, in milliseconds since 1970."""

FINE_FRAME_MS = 20
"""Milliseconds between two frames of the page's clock where everything that shows is read."""

PAGE_FILES = (
    "visit", "task", "storage", "clock", "random", "backend", "requests", "times", "dialogs",
    "flights", "style", "judgement", "witness", "leaving", "served",
)  # fmt: skip
"""The files of the page's own world in the order in which they run, before the page's scripts."""

WORLD_FILES = (
    "world", "frames", "clipboard", "settle", "sight", "leaves", "colours", "drawing", "states",
    "facts", "looks", "everything", "changes", "waiting", "html", "goal", "aim", "drags", "select",
    "choose", "pointer", "picture", "api",
)  # fmt: skip
"""The files of our own world, which run after those."""

WORLD = "miniwob-agent"
"""The name of our own world."""

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
def page_scripts(*, with_font: bool = True) -> tuple[str, str]:
    """The scripts that run first in every new document: in the page's own world, and in ours.

    They call each other by events with secret names. Every document decodes a font that comes with
    the script: a tenth of a fresh start.

    Raises:
        BrowserError: as for `font_file`.
    """
    constants = {
        "EPOCH": EPOCH_MS, "SETTLE": SETTLE_MS, "FINE_FRAME": FINE_FRAME_MS,
        "OWN_HOST": OWN_HOST, "ECHO": ECHO,
        "CALL": secrets.token_hex(), "ANSWER": secrets.token_hex(),
    }  # fmt: skip
    font = base64.b64encode(font_file().read_bytes()).decode() if with_font else ""
    return (
        _joined(PAGE_FILES, {**constants, "FAMILY": FAMILY, "FONT": font}),
        _joined(WORLD_FILES, constants),
    )


def _joined(names: tuple[str, ...], constants: Mapping[str, object]) -> str:
    folder = Path(__file__).parent
    sources = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in names]
    head = f'"use strict";\nconst Constants = {json.dumps(constants)};'
    return "\n".join(["(() => {", head, *sources, "})();"])
