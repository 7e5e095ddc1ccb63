"""What becomes of each command of the protocol that a program sends (commands.txt).

A line there is a command, what becomes of it, and why that is not more:

- `allowed`: it is carried out
- `app`: it is carried out on the pages of an app, and refused on others
- `empty`: it changes nothing, and is answered as if it were carried out; programs send it unasked
- `closes`: it detaches the program from the page, as if that were closed
- `refused`: it is answered with an error that gives the reason

A test compares the file with the protocol of the installed browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ALLOWED, APP, EMPTY, CLOSES, REFUSED = "allowed", "app", "empty", "closes", "refused"

JUDGES = "the pages and scripts of a test item judge, and come from it alone"

REASONS = {
    "alone": "a test item has one page and no other: work on that one",
    "clock": "the clock of a test item's page is moved on by the item",
    "device": "a test item's browser has no such device, wallet or account",
    "drawing": "it changes what a test item's page looks like, and not by the page's own scripts",
    "file": "a test item's page gets no file of this machine: give its name and content, as "
    "Playwright's set_input_files can",
    "flat": "sessions are flat here: it needs flatten: true",
    "input": "a test item's page gets all input",
    "judges": JUDGES,
    "machine": "it reaches beyond a test item's page, to its browser, this machine or the network",
    "nodes": "a test item's page is changed by input and scripts, and its elements stay what they "
    "are",
    "runs": "the browser of a test item can't be ended by a program",
    "scopes": "it reaches what scripts of a test item's page keep to themselves, such as its judge",
    "scripts": "it stops, follows or changes scripts of a test item's page, and some of them judge",
    "setting": "a test item lets programs change only what it is sure to undo",
    "stays": "the page of a test item can't be left or loaded anew: follow its own links",
    "storage": "a test item clears what its page stores: use the page's own scripts, or cookies",
    "tools": "it is for developer tools: a program does without it on the page of a test item",
}
"""Why a command is refused, by the words of commands.txt."""

UNKNOWN = "it is none of the commands that the page of a test item takes"


@cache
def table() -> dict[str, tuple[str, str]]:
    """What becomes of each command, by its name, and the reason for a refusal, or an empty text."""
    lines = (Path(__file__).parent / "commands.txt").read_text(encoding="utf-8").splitlines()
    rows = [[*line.split(), ""] for line in lines]
    return {row[0]: (row[1], REASONS.get(row[2], "")) for row in rows}


def fate(method: str) -> str:
    """What becomes of a command on the pages of an app; one that is not in the table is refused."""
    return table().get(method, (REFUSED, UNKNOWN))[0]


def refusal(method: str, params: Mapping[str, Any], *, on_app: bool) -> str | None:
    """Return why a command is refused, with its name; None if it is not."""
    found, why = table().get(method, (REFUSED, UNKNOWN))
    attaches = method == "Target.attachToTarget" or params.get("autoAttach")
    if found in (ALLOWED, APP) and attaches and params.get("flatten") is not True:
        found, why = REFUSED, REASONS["flat"]
    if found == REFUSED or (found == APP and not on_app):
        return f"{method} was refused: {why}"
    return None
