"""`miniwob-agent cassettes prune`: remove files that no item uses, unused calls and pictures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder.stems import (
    Used,
    cassette_files,
    holds_unused_calls,
    model_folder_of,
    stem_of,
    stray_files,
    unused_files,
)
from pytest_miniwob_agent.cassettes.tape.pictures import unused_pictures


def prunable_files(used: Used) -> list[Path]:
    """Return the files to remove: unused cassettes, calls and pictures, and left-overs.

    Cassettes of agents and models that no item uses are not among them.
    """
    unused = {*unused_files(used), *_unused_calls(used)}
    return [
        *sorted(unused),
        *unused_pictures(used.folder, removed=unused),
        *stray_files(used.folder),
    ]


def _unused_calls(used: Used) -> list[Path]:
    """Return the files of calls that the items no longer make."""
    folders = used.model_folders
    stems = {path: stem_of(used.folder, path) for path in cassette_files(used.folder)}
    return [
        path
        for path, stem in stems.items()
        if holds_unused_calls(path) and (model_folder_of(stem) in folders or used.has(stem))
    ]


def remove_files(folder: Path, paths: Collection[Path]) -> None:
    """Remove files, and the folders below `folder` that become empty."""
    for path in paths:
        path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == folder or any(parent.iterdir()):
                break
            parent.rmdir()
