"""`miniwob-agent cassettes stats`: count items, calls, tokens and bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder.stems import (
    PARTIAL,
    UNUSED,
    case_of,
    cassette_files,
    model_folder_of,
)
from pytest_miniwob_agent.cassettes.format.call import usage_of
from pytest_miniwob_agent.cassettes.format.file import read_cassette
from pytest_miniwob_agent.cassettes.tape.pictures import path_of
from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.tasks.catalogue import installed_tasks


@dataclass(slots=True)
class Stats:
    """The counts of the cassettes of an agent and a model, for one category of tasks.

    `size` is in bytes, `unused` a number of calls, and `pictures` has the sizes by digest.
    """

    items: int = 0
    purposes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    size: int = 0
    unused: int = 0
    pictures: dict[str, int] = field(default_factory=dict)


OWN = "own pages"
"""The category of tasks that are not in the package, as cassettes do not name it."""


def count_calls(folder: Path) -> dict[tuple[str, str], Stats]:
    """Return the counts by agent and model (`reflective/claude`) and by category, sorted.

    Raises:
        CassetteError: a damaged file.
    """
    rows: dict[tuple[str, str], Stats] = {}
    for path, stem, ending in cassette_files(folder):
        if ending == PARTIAL:
            continue
        category = installed_tasks().get(case_of(stem).partition("/")[0], OWN)
        row = rows.setdefault((model_folder_of(stem), category), Stats())
        calls = read_cassette(path)
        if ending == UNUSED:
            row.unused += len(calls)
            continue
        row.items += 1
        row.purposes.update(call.origin.purpose if call.origin else "unknown" for call in calls)
        row.usage += usage_of(calls)
        row.size += path.stat().st_size
        for digest in {digest for call in calls for digest in call.request.pictures}:
            picture = path_of(folder, digest)
            row.pictures[digest] = picture.stat().st_size if picture.exists() else 0
    return dict(sorted(rows.items()))
