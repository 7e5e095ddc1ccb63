"""JavaScript for every page: a frozen clock, one style, reading the page and aiming at elements.

The files are ES modules. `page_scripts` links them to two functions, for two worlds
(https://chromedevtools.github.io/devtools-protocol/tot/Page/#method-createIsolatedWorld). What
replaces functions of the page, or calls its scripts, is in the page's own world:

- `saved`: the language and the browser as they were before any script of the page ran
- `listeners` (also in our world), `line` (to our world)
- the page and its trial: `trial` (its state, what goes on from page to page, and how a page
  declares its task), `judgement` (begin, with the seed; judge, hand over)
- determinism: `clock` (and random numbers), `style`, `dialogs` (before there is an agent; and the
  frame of flight tasks); on your own pages and those of apps also `motion`, `requests`, `network`,
  `sockets` and `work`
- what custom elements say of themselves, for readers: `internals`
- a page that is handed over to a program: `witness`
- a page that is perturbed: `perturb`
- `served`: the functions that the other world calls

Everything else is in a world of ours, where no script of the page can replace anything:

- `world`: the calls to the page's own world
- `leaving` (links), `frames` (pages of the same folder in frames), `fonts` (that the page brings),
  `settle` (until all is at rest)
- reading: `sight` (what can be seen and clicked, and where), `leaves` (the compact screen),
  `everything` (the full one) with `looks`, `tree` (the page as a tree) with `editors`, `html` (and
  the goal), `waiting` (what changes meanwhile; for `Wait` and `Follow`) with `seen`
- acting: `aim` and `selection` (of text, and the clipboard)
- `picture`: pictures, and the pointer in the window
- `locators`: how a Playwright script names elements
- `api`: the functions that Python calls

`worker` runs first in workers. It shares `clocks` with `work`: what tells the time beside `Date`,
and makes random numbers beside `Math.random`.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from pytest_miniwob_agent.browser.server import (
    CJK,
    FAMILIES,
    FONTS,
    own_name,
    package_folder,
    sent_font,
)
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
from pytest_miniwob_agent.tasks.perturbations import Perturbation

SETTLE_MS = 2000
"""Milliseconds of the page's clock in which the consequences of an action come to rest. The slowest
animation of the tasks, the wheel of `click-pie`, takes 1,500."""

EPOCH_MS = 1_600_000_000_000
"""Start of the page's clock in every trial, in milliseconds since 1970."""

FINE_FRAME_MS = 20
"""Milliseconds between two frames of the page's clock if everything that shows is read."""

OWN_HOST = "pages.localhost"
"""The name of your own pages' site, with storage of its own."""

BINDING = f"miniwob{secrets.token_hex()}"
"""The function by which our own world of a page calls `gate`: no program is to add one of that
name, which would do so too."""

BEGUN = secrets.token_hex()
"""The message by which a page asks its worker whether that has begun, and the answer."""

WORLD = "miniwob-agent"
"""The name of our own world."""

# In a window that an app opens, the page that comes would have the `window` of the empty one, in
# which scripts have run already.
_NOT_YET = """if (Constants.APP && window === top && location.protocol === "about:") {
  document.open().close();
  return;
}"""

_IMPORT = re.compile(r'^import (?:\{([^}]*)\} from |)"\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|class) (\w+|[{[][^=]*[]}]))", re.MULTILINE)
_LAST_NAME = re.compile(r"(\w+)\s*(?=[],}]|$)")


@cache
def page_scripts(
    *,
    with_fonts: bool = True,
    screens: int = SCREEN_VERSION,
    app: bool = False,
    domain: str = "",
) -> tuple[str, str]:
    """The scripts that run first in every new document: in the page's own world, and in ours.

    They call each other by events on a node that only they have. With fonts, every document decodes
    the first and the last one, a tenth of a fresh start, and asks the server of pages for others
    where it has characters of theirs. `screens` is the version of what is read and hit
    (`observations.SCREEN_VERSION`). With `app` all pages are those of an app; in frames, those of
    its `domain` are read.

    Raises:
        BrowserError: as for `font_file`.
    """
    families = ", ".join(f'"{own_name(family)}"' for family in FAMILIES)
    constants = {
        "SCREENS": screens, "EPOCH": EPOCH_MS, "SETTLE": SETTLE_MS, "FINE_FRAME": FINE_FRAME_MS,
        "OWN_HOST": OWN_HOST, "APP": app, "BEGUN": BEGUN, "BINDING": BINDING, "DOMAIN": domain,
        "FAMILIES": families, "NAME": secrets.token_hex(),
    }  # fmt: skip
    fonts = [(own_name(family), *sent_font(family)) for family in FONTS] if with_fonts else []
    boxed = with_fonts or package_folder(CJK[1]) is None
    folder = Path(__file__).parent
    return (
        linked(folder / "served.js", {**constants, "FONTS": fonts}),
        linked(folder / "api.js", {**constants, "BOXED": boxed}),
    )


def perturbing_script(kind: Perturbation, data: object) -> str:
    """The script that perturbs every new document, behind those of `page_scripts`.

    `data` are what the task of an app declares for it.
    """
    given = ", ".join(map(json.dumps, (kind.name, data, kind.needs == "declaration")))
    return f"window.miniwobAgent?.perturb?.({given}, (page) => {{\n{kind.script}\n}});"


def worker_script(now: float, random: int | None = None) -> str:
    """The script that runs first in a page's worker, whose clock stands still at `now`.

    `random` is where the random numbers of its trial begin, if that has some of its own.
    """
    # The generator (MINSTD) has states from 1 to 2**31 - 2.
    seed = 20_200_913 if random is None else random % (2**31 - 2) + 1
    return linked(Path(__file__).parent / "worker.js", {"NOW": now, "SEED": seed, "BEGUN": BEGUN})


def linked(entry: Path, constants: Mapping[str, object]) -> str:
    """Link a module and those that it imports, by relative names, to one classic script.

    Each module becomes a function that returns what it exports, and is called once, after those
    that it imports. `constants` are their global `Constants`. As only constants and classes are
    exported, modules that import them get copies.

    Raises:
        ValueError: modules import each other in a circle, or a name that is not exported; or an
            import or export is not of the forms `import { one, two } from "./file.js"`,
            `import "./file.js"`, `export const` and `export class`.
    """
    exports: dict[str, set[str]] = {}

    def link(name: str, above: tuple[str, ...] = ()) -> Iterator[str]:
        if name in above:
            raise ValueError(f"modules import each other: {' -> '.join([*above, name])}")
        if name in exports:
            return
        source = (entry.parent / f"{name}.js").read_text(encoding="utf-8")
        for names, other in _IMPORT.findall(source):
            yield from link(other, (*above, name))
            if unknown := {*re.findall(r"\w+", names)} - exports[other]:
                raise ValueError(f"{name}.js imports {unknown}, which {other}.js does not export")
        # Of a pattern such as `{ message, error: errorOf }`, the last name of each part.
        found = {each for form in _EXPORT.findall(source) for each in _LAST_NAME.findall(form)}
        exports[name] = found
        body = _IMPORT.sub(lambda each: f"const {{{each[1] or ''}}} = _{each[2]};", source)
        body = _EXPORT.sub("", body)
        if wrong := re.search(r"^(?:import|export)\b.*", body, re.MULTILINE):
            raise ValueError(f"{name}.js has {wrong[0]!r}, which can't be linked")
        yield f"const _{name} = (() => {{\n{body}\nreturn {{ {', '.join(sorted(found))} }};\n}})();"

    head = f'"use strict";\nconst Constants = {json.dumps(constants)};\n{_NOT_YET}'
    return "\n".join(["(() => {", head, *link(entry.stem), "})();"])
