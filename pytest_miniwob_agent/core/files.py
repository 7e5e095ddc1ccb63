"""Files: writing them atomically, and their paths as shown to people."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that no reader and no crash finds half of it; makes the folder if needed.

    It is written beside its place, then renamed. Half of a surrogate pair, which a page may hold,
    is written as a backslash escape.

    Raises:
        OSError: the file can't be written; the old one is unchanged.
    """
    if isinstance(content, str):
        content = content.encode("utf-8", errors="backslashreplace")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def display_path(path: Path) -> Path:
    """The path to show: relative to the working directory if it is below that."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
