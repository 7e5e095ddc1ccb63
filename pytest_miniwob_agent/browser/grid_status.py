"""The state of a Selenium Grid: its nodes, their places for browsers, and who has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_miniwob_agent.core.text import listed


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a browser on a node that is up.

    Attributes:
        node: the address of the node, as the Grid reaches it.
        stereotype: the capabilities that the place offers.
        session: the id of the session that has it, or "".
    """

    node: str
    stereotype: Mapping[str, Any]
    session: str


@dataclass(frozen=True, slots=True)
class GridStatus:
    """The versions of a Grid's nodes, and the places on them."""

    versions: tuple[str, ...]
    slots: tuple[Slot, ...]

    @property
    def chrome(self) -> list[Slot]:
        """The places for Chrome."""
        return [slot for slot in self.slots if slot.stereotype.get("browserName") == "chrome"]

    @property
    def free(self) -> int:
        """The number of places for Chrome that no session has."""
        return sum(not slot.session for slot in self.chrome)

    @property
    def offered(self) -> str:
        """The browsers that there are places for, as a text."""
        names = {str(slot.stereotype.get("browserName")) for slot in self.slots}
        return listed(sorted(names)) or "nothing"

    @property
    def why_none(self) -> str:
        """The reason why the Grid gives no session, as far as its state shows it."""
        count = len(self.chrome)
        if not self.slots:
            return "none of its nodes is up"
        if not count:
            return f"its nodes have no Chrome, but {self.offered}"
        if self.free:
            return (
                f"{self.free} of {count} places for Chrome are free, so that a node is slow, or "
                "none has the capabilities that are asked for"
            )
        return (
            f"it is full, {count} of {count} places for Chrome have a session, and each worker "
            "(-n) keeps one until it ends"
        )

    @classmethod
    def from_data(cls, data: Any) -> GridStatus | None:
        """Return the status in a Grid's answer, None for the answer of something else."""
        value = data.get("value") if isinstance(data, dict) else None
        if not isinstance(value, dict) or "ready" not in value:
            return None
        nodes = [node for node in value.get("nodes", ()) if node.get("availability") == "UP"]
        slots = tuple(
            Slot(
                str(node.get("uri", "")),
                slot.get("stereotype") or {},
                str((slot.get("session") or {}).get("sessionId", "")),
            )
            for node in nodes
            for slot in node.get("slots", ())
        )
        return cls(
            tuple(sorted({str(node.get("version", "")).split(" ")[0] for node in nodes})), slots
        )
