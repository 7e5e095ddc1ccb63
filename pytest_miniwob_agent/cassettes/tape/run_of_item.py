"""The tests of one run that recorded an item."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pytest_miniwob_agent.core.files import write_atomically


@dataclass(frozen=True, slots=True)
class RunOfItem:
    """The tests of one run that recorded an item; used under the item's lock.

    Args:
        path: the file with their ids.
        test: the id of the test that has the item now; plugins may run a test again.
    """

    path: Path
    test: str

    def has_another_test(self) -> bool:
        """Return True if another test has recorded the item."""
        return bool(self._tests() - {self.test})

    def add_test(self) -> None:
        """Add the test that has the item now."""
        write_atomically(self.path, json.dumps(sorted(self._tests() | {self.test})))

    def _tests(self) -> set[str]:
        return set(json.loads(self.path.read_text("utf-8"))) if self.path.exists() else set()
