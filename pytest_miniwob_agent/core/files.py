"""Files: writing them atomically, and their paths as shown to people."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pytest_miniwob_agent.core.text import sanitize


def write_atomically(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file so that no reader and no crash finds half of it; makes the folder if needed.

    With `durable`, return only once it is on the disk. Half of a surrogate pair, which a page may
    hold, is written as a backslash escape.

    Raises:
        OSError: the file can't be written; the old one is unchanged.
    """
    if isinstance(content, str):
        content = content.encode("utf-8", errors="backslashreplace")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def keep_out_of_commits(folder: Path) -> None:
    """Have git ignore a folder, which is made if needed, by a file of its own."""
    if not (path := folder / ".gitignore").exists():
        write_atomically(path, "*\n")


def check_writable(path: Path) -> None:
    """Check that a file can be written, by one beside it that is removed again; makes the folder.

    Raises:
        OSError: it can't be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.") as file:
        file.write(bytes(65_536))  # the size of a long recording
        file.flush()
        os.fsync(file.fileno())


def same_file(one: Path, other: Path) -> bool:
    """True if writing one changes the other: by links, or by a case that the file system ignores.

    Hard links do not count, as `write_atomically` leaves the others as they were.
    """
    one, other = one.resolve(), other.resolve()
    alike = str(one).casefold() == str(other).casefold()
    return one == other or (alike and one.exists() and other.exists() and one.samefile(other))


def shown_from_here(path: Path) -> Path:
    """The path to show in a command: relative to the working directory, also where it is beside.

    A path that has nothing in common with the working directory stays absolute.
    """
    apart = path.is_absolute() and path.parts[:2] != Path.cwd().parts[:2]
    return path if apart else Path(os.path.relpath(path))


def display_path(path: Path) -> Path:
    """The path to show: relative to the working directory if it is below that, and harmless."""
    here = Path.cwd()
    return Path(sanitize(path.relative_to(here) if path.is_relative_to(here) else path))
