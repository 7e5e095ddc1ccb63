"""Names of cassettes: where the calls of an agent, a model and a case are kept.

Agents, models and tasks have names of their own in a path, on every file system. A plain name
(lower-case ASCII letters, digits, `_`, `.` and `-`) is kept as it is. Any other becomes lower-case
and gets a digest of the original behind a `~`, which no plain name holds: `vendor/x:free` is
`vendor_x_free~4dc9217baf56`.
"""

from __future__ import annotations

import hashlib
import re

from pytest_miniwob_agent.core.case import Case

_PLAIN = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,118}[a-z0-9_-])?")
"""Names of up to 120 characters; Windows drops a dot at the end of a name."""

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
"""Names that Windows keeps for devices, with any ending."""


def stem(agent: str, model: str, case: Case) -> str:
    """Return the path of an item's cassette below the cassette folder, without its ending."""
    return "/".join(map(_safe_name, (agent, model, case.task, case.sample)))


def _safe_name(name: str) -> str:
    if _PLAIN.fullmatch(name) and not _DEVICE.fullmatch(name):
        return name
    readable = re.sub(r"[^a-z0-9_-]+", "_", name.lower())[:60]
    return f"{readable or '_'}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"
