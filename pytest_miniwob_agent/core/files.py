"""Writing files that no reader meets half-written; paths to be shown."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write beside, then rename, so that no reader and no crash meets half a file.

    Half of a surrogate pair, which a page may hold, is written as JSON and Python escape it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(text.encode("utf-8", errors="backslashreplace"))
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def display_path(path: Path) -> Path:
    """The path as it is written from the working directory."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
