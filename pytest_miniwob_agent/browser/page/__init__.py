"""JavaScript for every page: a frozen clock, one style, reading the page and aiming at elements.

Each file is one object, such as `Clock`, with the objects that it needs named at its top, or runs
at once where nothing needs it. `page_scripts` joins them into two functions, for two worlds
(https://chromedevtools.github.io/devtools-protocol/tot/Page/#method-createIsolatedWorld). What
replaces functions of the page, or calls its scripts, is in the page's own world:

- `saved`: the language and the browser as they were before any script of the page ran
- `listeners` (also in our world)
- the page and its trial: `visit` (a page of your own, and what goes on from page to page), `task`
  (how a page declares its task), `judgement` (begin, judge, hand over)
- determinism: `storage`, `motion`, `clock`, `random`, `backend`, `requests`, `work` and `times` (on
  your own pages), `dialogs`, `flights` (the frame of flight tasks), `style`
- a page that is handed over to a program: `witness`
- `served`: the functions that the other world calls

Everything else is in a world of ours, where no script of the page can replace anything:

- `world`: the calls to the page's own world
- `leaving` (links), `frames` (pages of the same folder in frames), `settle` (until all is at rest),
  `clipboard`
- reading: `sight` (what can be seen and clicked, and where), `leaves` (the compact screen),
  `everything` (the full one) with `colours`, `drawing`, `states`, `facts`, `looks` and `changes`,
  `tree` (the page as a tree) with `roles`,
  `waiting` (for `Wait` and `Follow`), `html`, `goal`
- acting: `aim`, `drags`, `select`, `choose`
- pictures: `pointer`, `picture`
- `api`: the functions that Python calls
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pytest_miniwob_agent.browser.pages import (
    ANSWERED,
    CJK,
    ECHO,
    FAMILIES,
    FONTS,
    OWN_HOST,
    folder_of,
    sent_font,
)

SETTLE_MS = 2000
"""Milliseconds of the page's clock in which the consequences of an action come to rest. The slowest
animation of the tasks, the wheel of `click-pie`, takes 1,500."""

EPOCH_MS = 1_600_000_000_000
"""Start of the page's clock in every trial, in milliseconds since 1970."""

FINE_FRAME_MS = 20
"""Milliseconds between two frames of the page's clock where everything that shows is read."""

PAGE_FILES = (
    "saved", "listeners", "visit", "task", "storage", "motion", "clock", "random", "backend",
    "requests", "work", "times", "dialogs", "flights", "style", "judgement", "witness", "served",
)  # fmt: skip
"""The files of the page's own world in the order in which they run, before the page's scripts."""

WORLD_FILES = (
    "world", "listeners", "leaving", "frames", "clipboard", "settle", "sight", "leaves", "colours",
    "drawing", "states", "facts", "looks", "everything", "roles", "tree", "changes", "waiting",
    "html", "goal",
    "aim", "drags", "select", "choose", "pointer", "picture", "api",
)  # fmt: skip
"""The files of our own world, which run after those."""

WORLD = "miniwob-agent"
"""The name of our own world."""


@cache
def page_scripts(*, with_fonts: bool = True) -> tuple[str, str]:
    """The scripts that run first in every new document: in the page's own world, and in ours.

    They call each other by events with secret names. With fonts, every document decodes the first
    and the last one, a tenth of a fresh start, and asks the server of pages for others where it has
    characters of theirs.

    Raises:
        BrowserError: as for `font_file`.
    """
    constants = {
        "EPOCH": EPOCH_MS, "SETTLE": SETTLE_MS, "FINE_FRAME": FINE_FRAME_MS,
        "OWN_HOST": OWN_HOST, "ECHO": ECHO, "ANSWERED": ANSWERED,
        "CALL": secrets.token_hex(), "ANSWER": secrets.token_hex(), "KEY": secrets.token_hex(),
    }  # fmt: skip
    families = ", ".join(f'"{family}"' for family in FAMILIES)
    fonts = [(family, *sent_font(family)) for family in FONTS] if with_fonts else []
    boxed = with_fonts or folder_of(CJK[1]) is None
    return (
        _joined(PAGE_FILES, {**constants, "FAMILIES": families, "FONTS": fonts}),
        _joined(WORLD_FILES, {**constants, "BOXED": boxed}),
    )


def _joined(names: tuple[str, ...], constants: Mapping[str, object]) -> str:
    folder = Path(__file__).parent
    sources = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in names]
    head = f'"use strict";\nconst Constants = {json.dumps(constants)};'
    return "\n".join(["(() => {", head, *sources, "})();"])
