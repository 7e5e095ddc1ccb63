"""Perturbations: scripts by which the page of a task is made harder, and which fit a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_miniwob_agent.core.errors import UsageError

if TYPE_CHECKING:
    from pytest_miniwob_agent.tasks.catalogue import TaskPage


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A way to make a page harder; the task stays the same (docs/robustness.md).

    Args:
        name: what ids and folders of cassettes have behind a `~`.
        script: JavaScript that runs before the scripts of each page, with the object `page`; empty
            for a change elsewhere, such as of the model.
        needs: `declaration` if a page must declare something for it (`task.perturb`,
            `AppTask.perturb`), `requests` if it changes the requests of pages.

    Raises:
        UsageError: the name can't be in an id.
    """

    name: str
    script: str = ""
    needs: Literal["", "declaration", "requests"] = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name) or self.name in ("all", "clean"):
            raise UsageError(
                f"a perturbation can't be called {self.name!r}: use small letters of ASCII, digits "
                "and `-`, begin with a letter, and take neither all nor clean"
            )


SCRIPTS = Path(__file__).parents[1] / "perturbations"
"""The scripts of those that come with this package."""

NEEDS: dict[str, Literal["", "declaration", "requests"]] = {
    "overlay": "",
    "late": "",
    "moved": "declaration",
    "reworded": "declaration",
    "renamed": "",
    "twins": "declaration",
    "slow": "requests",
    "failing": "requests",
    "expired": "declaration",
    "zoomed": "",
    "inert": "",
    "language": "declaration",
    "attacked": "declaration",
}
"""What each needs of a page. A line here and a script add one."""

_SCRIPT = re.compile(r"""<script[^>]+src\s*=\s*["']?/?([\w./-]+)""", re.IGNORECASE)


@cache
def shipped_kinds() -> dict[str, Perturbation]:
    """Return the perturbations that come with this package, by their names."""
    return {
        name: Perturbation(name, (SCRIPTS / f"{name}.js").read_text("utf-8"), needs)
        for name, needs in NEEDS.items()
    }


def why_unfit(page: TaskPage, kind: Perturbation) -> str:
    """Return why a perturbation can't be that of a page; empty if it can.

    A page declares what it needs in its file or in a script beside it that it names.
    """
    if kind.needs == "requests" and page.root is None and page.app is None:
        return "the pages of the miniwob package make no requests"
    if kind.needs != "declaration":
        return ""
    if page.app is not None:
        known = kind.name in page.app.perturb
        return "" if known else f"AppTask {page.task!r} has no perturb={{{kind.name!r}: ...}}"
    if page.root is None:
        return "the pages of the miniwob package declare nothing for it"
    texts = [page.file.read_text("utf-8", "replace")]
    files = [page.root / path for path in _SCRIPT.findall(texts[0])]
    texts += [file.read_text("utf-8", "replace") for file in files if file.is_file()]
    if any(re.search(rf"\bperturb\b.*\b{kind.name}\b", text, re.DOTALL) for text in texts):
        return ""
    return f"the page declares no task.perturb = {{{kind.name}: ...}}"
