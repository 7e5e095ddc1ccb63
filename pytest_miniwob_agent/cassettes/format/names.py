"""Names of cassettes: where the calls of an agent, a model and a case are kept.

Each part of a path is a name of its own for each agent, model and task, on every file system. A
plain name (lower-case ASCII letters, digits, `_`, `.` and `-`) is kept as it is. Any other becomes
lower-case and gets a digest of the original behind a `~`, which no plain name holds:
`vendor/x:free` is `vendor_x_free~4dc9217baf56`.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder.stems import PARTIAL
from pytest_miniwob_agent.cassettes.format.file import read_cassette
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


def former_cassette(folder: Path, agent: str, model: str, case: Case) -> Path | None:
    """Return the place of an item's cassette under its former name, if it has only that one.

    Earlier versions put `_` in the place of characters that a path can't hold, so that several
    models could have one file: only the model whose calls it holds still reads it.

    Raises:
        CassetteError: a damaged file.
    """
    parts = (agent, model, case.task, case.sample)
    former = "/".join(re.sub(r"[^\w.-]+", "_", part) for part in parts)
    present = stem(agent, model, case)
    if former == present or {".", "..", ""} & set(former.split("/")):
        return None
    if (folder / f"{present}.yaml").exists():
        return None
    path = folder / f"{former}.yaml"
    for file in (path, folder / f"{former}{PARTIAL}"):
        if file.exists():
            calls = read_cassette(file)
            return path if all(call.body.get("model") == model for call in calls) else None
    return None
