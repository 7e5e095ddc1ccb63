"""`miniwob-agent cassettes prune`: remove files that no item uses, unused calls and pictures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder.stems import (
    UNUSED,
    Used,
    cassette_files,
    model_folder_of,
    stray_files,
)
from pytest_miniwob_agent.cassettes.tape.pictures import unused_pictures


def prunable_files(used: Used) -> list[Path]:
    """Return the files to remove: unused cassettes, calls and pictures, and left-overs.

    Cassettes of agents and models that no item uses are not among them.
    """
    unused = []
    for path, stem, ending in cassette_files(used.folder):
        known = model_folder_of(stem) in used.model_folders or used.has(stem)
        if used.lacks(stem) or (ending == UNUSED and known):
            unused.append(path)
    pictures = unused_pictures(used.folder, removed=unused)
    return [*unused, *pictures, *stray_files(used.folder)]


def remove_files(folder: Path, paths: Collection[Path]) -> None:
    """Remove files, and the folders below `folder` that become empty."""
    for path in paths:
        path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == folder or any(parent.iterdir()):
                break
            parent.rmdir()
