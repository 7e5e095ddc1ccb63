"""Pictures that were sent to a model, as the report shows them with messages and with drift."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any

from pytest_miniwob_agent.core.events import Called
from pytest_miniwob_agent.core.outcome import Outcome

_SHOWN = re.compile(r"\[picture pictures/([0-9a-f]{16}\.png)\]")
_NAME = re.compile(r"[0-9a-f]{16}(?:-[0-9a-f]{16})?\.png")


class SentPictures:
    """The pictures that items sent, of which some have a file.

    Args:
        folders: where files are looked for, such as the pictures beside the cassettes.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self.found: dict[str, Path] = {}
        """The files, by their names in the report."""

    def of(self, outcome: Outcome) -> dict[str, Any]:
        """Return the pictures of an item's calls, and what changed in those of a drifted one.

        Pictures are named only if they have a file.
        """
        return {"sent": self._in_messages(outcome), "changed": self._changed(outcome)}

    def _in_messages(self, outcome: Outcome) -> list[str]:
        texts = (event.prompt for event in outcome.history if isinstance(event, Called))
        return self._with_file(name for text in texts for name in _SHOWN.findall(text))

    def _changed(self, outcome: Outcome) -> list[dict[str, Any]]:
        changed = outcome.drift.pictures if outcome.drift is not None else ()
        return [
            {"what": f"picture {change.number}: {change.what}"}
            | {
                kind: name
                for kind in ("recorded", "present", "difference")
                for name in self._with_file([PurePath(getattr(change, kind) or "").name])
            }
            for change in changed
        ]

    def _with_file(self, names: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if self._find(name)]

    def _find(self, name: str) -> bool:
        if name not in self.found and _NAME.fullmatch(name):
            paths = (folder / name for folder in self._folders)
            if path := next((path for path in paths if path.is_file()), None):
                self.found[name] = path
        return name in self.found
