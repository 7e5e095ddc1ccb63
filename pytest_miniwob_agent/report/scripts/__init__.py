"""Scripts that draw the report's pages from the data beside them.

Each file holds one concept; `report_script` joins them into one function, so that they share their
names and add only `miniwobReport` to those of the page. They are not modules, which a page that is
opened from disk can't load.

    elements    elements and texts of a page; foreign text never becomes markup
    items       the items, and what their data mean
    rates       the overview's figures: rates, the comparison with the baseline
    causes      the reasons for which items have no result, grouped
    map         the map of tasks and seeds
    overview    filters and the list of items
    film        pictures of an item's steps, with marks where actions point
    step        one step: action, calls, reflection
    item        an item's page, and the steps through it
    pages       addresses, keys and themes, and the functions that data files call
"""

from __future__ import annotations

from pathlib import Path

FILES = ("elements", "items", "rates", "causes", "map", "overview", "film", "step", "item", "pages")
"""The files, in their order."""


def report_script() -> str:
    """Return the scripts as one, which defines `miniwobReport`."""
    folder = Path(__file__).parent
    sources = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in FILES]
    return '"use strict";\n(() => {\n' + "\n".join(sources) + "})();\n"
