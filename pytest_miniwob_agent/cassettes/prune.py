"""`miniwob-agent cassettes prune`: remove the files that no item uses."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder import Used, stray_files, unused_files


def prunable_files(used: Used) -> list[Path]:
    """Return the files to remove: unused cassettes, and what killed writes left.

    Cassettes of agents and models that no item uses are not among them.
    """
    return [*unused_files(used), *stray_files(used.folder)]


def remove_files(folder: Path, paths: Collection[Path]) -> None:
    """Remove files, and the folders below `folder` that become empty."""
    for path in paths:
        path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == folder or any(parent.iterdir()):
                break
            parent.rmdir()
