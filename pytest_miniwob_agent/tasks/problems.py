"""Lists of problems, tasks with seeds of their own: a suite of the package, or a user's file."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.tasks.catalogue import DATA


class ProblemList(NamedTuple):
    """A CSV file of problems, and the limits that they come with, as the marker names them."""

    file: Path
    limits: Mapping[str, Any]

    def read(self) -> Counter[tuple[str, int]]:
        """Return the pairs of task and seed, with the number of times that each is in the file.

        Raises:
            UsageError: the file can't be read, or a line has no task and seed.
        """
        shown = display_path(self.file)
        try:
            rows = list(csv.DictReader(self.file.read_text("utf-8-sig").splitlines()))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the problems {shown} can't be read: {error}") from None
        found: Counter[tuple[str, int]] = Counter()
        for number, row in enumerate(rows, start=2):
            task, seed = (row.get("task") or "").strip(), (row.get("seed") or "").strip()
            if not task or not seed.isascii() or not seed.isdigit():
                raise UsageError(
                    f"{shown}:{number} has no task and seed: a list of problems is a CSV file with "
                    "the columns task and seed, such as click-tab-2,1000"
                )
            found[task, int(seed)] += 1
        if not found:
            raise UsageError(f"{shown} names no problems: give it the columns task and seed")
        return found


PROBLEM_LISTS = {
    "browsergym": ProblemList(DATA / "browsergym.csv", {"trials": 1, "steps": 10, "reward": "any"}),
}
"""Suites that are lists. `browsergym` is the schedule of its benchmark `miniwob`: 625 episodes of
590 problems on 125 tasks, with the seed that the page gets. A line here adds one."""
