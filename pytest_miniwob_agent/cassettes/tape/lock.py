"""The lock of an item's files: one test at a time records an item.

The operating system releases the lock of a process that dies. Lock files are not beside the
cassettes but in the folder `.miniwob/locks` of the project, where git does not see them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.files import display_path

# Imported where a lock is taken, which a replay never does: it takes a tenth of a second.
if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCKS = "locks"
"""The name of the folder of lock files, beside `pending.jsonl`."""


def digest_of_path(cassette: Path) -> str:
    """Return a name for what belongs to a cassette, the same from every working directory."""
    return hashlib.sha256(str(cassette.resolve()).encode()).hexdigest()[:32]


def lock_item(folder: Path, cassette: Path) -> BaseFileLock:
    """Return the lock of a cassette, after waiting until no other process holds it.

    Raises:
        CassetteError: this process holds it already, or no file can be made in the folder of locks.
    """
    from filelock import FileLock

    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        # One object for the file in all threads of this process, which counts who holds it.
        lock = FileLock(
            folder / f"{digest_of_path(cassette)}.lock", thread_local=False, is_singleton=True
        )
        lock.acquire()
    except OSError as error:
        raise CassetteError(
            f"{display_path(cassette)} can't be locked for recording: {error}. Make "
            f"{display_path(folder)} writable"
        ) from None
    if lock.lock_counter > 1:
        lock.release()
        raise CassetteError(
            f"{display_path(cassette)} is being recorded by this process already: use the model of "
            "one fixture, miniwob_llm, in a test"
        )
    return lock
