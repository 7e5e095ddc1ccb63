"""Files: writing them atomically, outputs that users name, and paths as shown to people."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_miniwob_agent.core.text import sanitize


def write_atomically(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file so that no reader and no crash finds half of it; makes the folder if needed.

    With `durable`, return only once it is on the disk. Half of a surrogate pair, which a page may
    hold, is written as a backslash escape.

    Raises:
        OSError: the file can't be written; the old one is unchanged.
    """
    content = _encoded(content)
    if path.exists() and not (path.is_file() or path.is_symlink()):
        raise OSError(errno.EEXIST, "it is not a regular file")
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, as a file is only replaced at once within a file system.
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


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file that a user names, as `write_atomically` does.

    A FIFO or character device, such as `/dev/stdout`, is written to. A link is followed within the
    project: the working directory, or the folder of a path that is not below it.

    Raises:
        OSError: the file can't be written, or is another one than those.
    """
    if is_stream(path):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
            file.write(_encoded(content))
    else:
        write_atomically(followed(path), content)


def check_output(path: Path) -> None:
    """Check that `write_output` can write a file; makes the folder. Raises an `OSError`."""
    if not is_stream(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        check_writable(followed(path))
    elif not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def is_stream(path: Path) -> bool:
    """True for what is written to and never replaced: a FIFO, a device, or what is open here."""
    if os.path.abspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/")):
        return True  # whatever it is
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def followed(path: Path) -> Path:
    """Return the file or folder that a path leads to; an `OSError` if a link leads elsewhere."""
    named, here = Path(os.path.abspath(path)), Path.cwd()
    root = here if named.is_relative_to(here) else named.parent.resolve()
    real = path.resolve()
    if not real.is_relative_to(root):
        raise OSError(errno.EPERM, f"a link leads to {real}, which is not below {root}")
    return real


def _encoded(content: str | bytes) -> bytes:
    if isinstance(content, bytes):
        return content
    return content.encode("utf-8", errors="backslashreplace")


def write_gitignore(folder: Path) -> None:
    """Have git ignore a folder; makes it if needed."""
    if not (path := folder / ".gitignore").exists():
        write_atomically(path, "*\n")


def check_writable(path: Path) -> None:
    """Check that a file can be written, by one beside it that is removed again; makes the folder.

    Raises:
        OSError: it can't be.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "it is not a regular file")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.") as file:
        file.write(bytes(65_536))  # the size of a long recording
        file.flush()
        os.fsync(file.fileno())


_SHARED = "miniwob-run-"


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Make a temporary folder for the processes of a run, and remove those of killed runs."""
    with tempfile.TemporaryDirectory(prefix=_SHARED) as name:
        folder = Path(name)
        # The system releases the lock however the run ends.
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for other in folder.parent.glob(f"{_SHARED}*"):
                with suppress(OSError):  # it is in use, or another user's
                    _remove_unused(other)
            yield folder
        finally:
            os.close(lock)


def _remove_unused(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # An empty one may be new, and its owner about to lock it.
        if any(folder.iterdir()):
            shutil.rmtree(folder)
    finally:
        os.close(lock)


def same_file(one: Path, other: Path) -> bool:
    """True if writing one changes the other, by links or on a file system that ignores case."""
    one, other = one.resolve(), other.resolve()
    # Not samefile() alone: write_atomically() leaves other hard links as they were.
    alike = str(one).casefold() == str(other).casefold()
    return one == other or (alike and one.exists() and other.exists() and one.samefile(other))


def shown_from_here(path: Path) -> Path:
    """The path to show in a command: relative to the working directory, even with `..`.

    A path that has nothing in common with the working directory stays absolute.
    """
    apart = path.is_absolute() and path.parts[:2] != Path.cwd().parts[:2]
    return path if apart else Path(os.path.relpath(path))


def display_path(path: Path) -> Path:
    """The path to show: relative to the working directory if it is below that, and harmless."""
    here = Path.cwd()
    return Path(sanitize(path.relative_to(here) if path.is_relative_to(here) else path))
