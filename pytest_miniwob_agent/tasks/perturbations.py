"""Perturbations: scripts by which the page of a task is made harder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pytest_miniwob_agent.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A way to make a page harder; the task stays the same (docs/robustness.md).

    Args:
        name: what ids and folders of cassettes have after a `~`.
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
                f"a perturbation can't be called {self.name!r}: use lower-case ASCII letters, "
                "digits and `-`, and begin with a letter; all and clean are taken"
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


@cache
def shipped_kinds() -> dict[str, Perturbation]:
    """Return the perturbations that come with this package, by their names."""
    return {
        name: Perturbation(name, (SCRIPTS / f"{name}.js").read_text("utf-8"), needs)
        for name, needs in NEEDS.items()
    }
