"""The files of one item's calls, and the order of writes that loses none of them.

- `1000.yaml`, the cassette: exactly the calls that the item makes, and the pace of its program.
- `1000.partial.yaml`, an unfinished recording, with a digest of the cassette that it began from. It
  is complete after every call.
- `1000.unused.yaml` below `.miniwob/unused`, calls that were paid for and that the item does not
  make now. They are taken from there before a call is paid for.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.cassettes.folder import ASIDE, PARTIAL, UNUSED, sharing_group, siblings
from pytest_miniwob_agent.cassettes.format import (
    Noted,
    dump_cassette,
    load_cassette,
    read_cassette,
    write_cassette,
    write_recorded,
)
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.tape import Call, Request, Tape
from pytest_miniwob_agent.core.errors import CassetteError, CassetteNotWritten
from pytest_miniwob_agent.core.files import (
    check_writable,
    display_path,
    write_atomically,
    write_gitignore,
)
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.models.api import FOLDER, embed, extract

if TYPE_CHECKING:
    from filelock import BaseFileLock


# Wall-clock seconds to wait in silence for a process that records the same item.
_PATIENCE = 3.0


def without(calls: Iterable[Call], others: Iterable[Call]) -> list[Call]:
    """Return the calls that are not among the others; of equal calls, the surplus."""
    left = Counter(call.content for call in others)
    kept = []
    for call in calls:
        if left[call.content]:
            left[call.content] -= 1
        else:
            kept.append(call)
    return kept


class ItemFiles:
    """The files of one item's calls; if the mode writes, no other process has them until `close`.

    Args:
        folder: the cassette folder.
        stem: the item's cassette in it.
        mode: the mode of recording.
        family: what the agent is a variant of (`folder.find_family`).
        state: the project's folder `.miniwob`, for locks, unused calls, and pictures that no
            cassette has; None to lock nothing, to keep no pictures, and for one below `folder`.
        run: a folder that the processes of this run share; None if no other test has the item.
        allow: regular expressions of what looks like a secret but isn't one.
        on_wait: is told that another process has the item for long, as one that is suspended does.

    Attributes:
        mode: the mode; once a test of the run has recorded `all` of the item, `new_episodes`.
        existed: True if the item had a cassette.
        screen_version: that of the recording which `load` has read (`observations.SCREEN_VERSION`);
            None until there is one.
        clock: where the clock of an app's pages begins, in seconds since 1970, as an unfinished
            recording notes it; None until there is one.
        pace: the moves of the page's clock for a program, by that recording and in this run.
        remarks: what the user must know about the files.

    Raises:
        CassetteError: this process has them open already.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        mode: Record,
        *,
        family: str = "",
        state: Path | None = None,
        run: Path | None = None,
        allow: Collection[str] = (),
        on_wait: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._folder, self._state = folder, state or folder / ".miniwob"
        self.stem, self._family, self.allow = stem, family, allow
        self.cassette = folder / f"{stem}.yaml"
        self.partial = folder / f"{stem}{PARTIAL}"
        self._unused = self._state / ASIDE / f"{stem}{UNUSED}"
        self.pictures = Pictures(folder, state and state / FOLDER)
        self.remarks: list[str] = []
        self.screen_version: int | None = None
        self.clock: float | None = None
        self.pace = Pace()
        self._digest: str | None = None
        self._stored: list[Call] = []
        self._aside: list[Call] = []
        self._shares = mode in (Record.NEW_EPISODES, Record.DEFER)
        id_ = _path_id(self.cassette)
        self._lock = self._acquire(id_, on_wait) if state is not None and mode.writes else None
        self._done = run and run / "recorded" / id_
        done = self._done is not None and self._done.exists()
        # A second test of the item must not drop what the first one has just recorded.
        self.mode = Record.NEW_EPISODES if mode is Record.ALL and done else mode
        self.existed = self.cassette.exists()

    def _acquire(self, id_: str, on_wait: Callable[[str], None]) -> BaseFileLock:
        from filelock import Timeout

        # The operating system releases it if this process dies.
        lock = self._named_lock(id_)
        try:
            lock.acquire(timeout=_PATIENCE)
        except Timeout:
            on_wait(
                f"{display_path(self.cassette)} is being recorded by another process; waiting for "
                "it to end (`jobs -l` lists those of a shell that are suspended)"
            )
            lock.acquire()
        if lock.lock_counter > 1:
            lock.release()
            raise CassetteError(
                f"{display_path(self.cassette)} is being recorded by this process already: use the "
                "model of one fixture, miniwob_llm, in a test"
            )
        return lock

    def _named_lock(self, name: str) -> BaseFileLock:
        from filelock import FileLock

        file = self._state / "locks" / f"{name}.lock"
        write_gitignore(self._state)
        file.parent.mkdir(parents=True, exist_ok=True)
        # One object in all threads, so that its count tells if this process holds it already.
        return FileLock(file, thread_local=False, is_singleton=True)

    @property
    def group(self) -> str:
        """What the stems of the items that share answers with this one have in common."""
        return sharing_group(self.stem, self._family)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other process ask for an answer that the item shares, in a block."""
        if self._lock is None or not self._shares:
            yield
        else:
            with self._named_lock(f"shared/{_path_id(self._folder / self.group)}"):
                yield

    def shared(self, request: Request, earlier: int) -> Call | None:
        """Return the answer of another item of the group (`folder.sharing_group`) to a request.

        `earlier` is the number of equal requests of this item before it; the other item needs a
        call for each of them too. A recording with `all` sends every request itself.
        """
        for stem in siblings(self._folder, self.stem, self._family) if self._shares else ():
            # In this order, as the cassette is written before the other file is removed.
            partial = _read(self._folder / f"{stem}{PARTIAL}")
            calls = [*partial, *without(_read(self._folder / f"{stem}.yaml"), partial)]
            equal = [call for call in calls if call.key == request.key]
            if earlier < len(equal):
                call = equal[earlier]
                return replace(call, origin=None, written="", answered_in=call.answered_in or stem)
        return None

    def close(self) -> None:
        """Let others record the item."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def load(self) -> Tape:
        """Return the calls to replay: those of an unfinished recording, then the cassette's.

        Unused ones are spare, but for a recording of all, which asks for everything again, and of
        a conversation that the server keeps, whose ids are gone.

        Raises:
            CassetteError: a file can't be read as a cassette.
        """
        anew = self.mode is Record.ALL
        self._stored = [] if anew else self._recording(self.cassette)
        if not self.mode.writes:
            return Tape(self._stored, alike=self.pictures.are_alike)
        partial = self._take_up()
        calls = [*partial, *without(self._stored, partial)]
        unused = without(_read(self._unused), calls)
        if anew or _kept_by_server(unused):
            self._aside, unused = unused, []
        return Tape(calls, unused, self.pictures.are_alike)

    def _recording(self, path: Path) -> list[Call]:
        try:
            calls, noted = load_cassette(path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        self._take(noted)
        return calls

    def _take(self, noted: Noted) -> None:
        self.screen_version = noted.screens
        self.pace = Pace(noted.pace, strict=not self.mode.writes)

    def _take_up(self) -> list[Call]:
        """Return the calls of an unfinished recording.

        It is continued only if it began from the present cassette, and not in the mode `all` or
        within a conversation that the server keeps. Otherwise its calls become unused ones.
        """
        if self.cassette.exists():  # a digest that is the same with every kind of line end
            content = self.cassette.read_bytes().replace(b"\r\n", b"\n")
            self._digest = hashlib.sha256(content).hexdigest()[:16]
        if not self.partial.exists():
            return []
        calls, noted = load_cassette(self.partial)
        # Rounds of deferred recording are a day apart, and each one is a continuation.
        kept = self.mode is not Record.DEFER and _kept_by_server(calls)
        if self.mode is Record.ALL:
            why = "was not continued, as --miniwob-record=all begins anew"
        elif noted.began_from != self._digest:
            why = "began from a different cassette and was not continued"
        elif kept:
            why = f"was not continued, as the server keeps its conversation ({kept})"
        else:
            self._take(noted)
            self.clock = noted.clock
            return calls
        unused = _read(self._unused)
        left = without(calls, [*_read(self.cassette), *unused])
        if left:
            write_cassette(self._unused, [*unused, *left], allow=self.allow)
            taken = "" if kept else ", from where --miniwob-record=new_episodes takes what it needs"
            self.remarks.append(
                f"{display_path(self.partial)} {why}; {counted(len(left), 'call')} moved to "
                f"{display_path(self._unused)}{taken}"
            )
        self.partial.unlink()
        return []

    def check_room(self) -> None:
        """Check that calls can be kept, before one is paid for.

        Raises:
            CassetteNotWritten: they can't.
        """
        try:
            check_writable(self.partial)
        except OSError as error:
            raise CassetteNotWritten(
                "no model call was made, as its completion could not be kept: "
                f"{display_path(self.partial)} can't be written: {error}. Make room there, or name "
                "another folder with --miniwob-cassettes"
            ) from None

    def save(self, calls: Sequence[Call], rescue: Path | None = None) -> Path:
        """Write all calls of a recording that goes on, and return the file; `load` comes first.

        `rescue` is another cassette folder to write below, where this one has no room. Raises as
        `write_cassette` does.
        """
        self.pictures.write(calls, rescue)
        path = rescue / self.partial.relative_to(self._folder) if rescue else self.partial
        more: dict[str, Any] = {} if self.clock is None else {"clock": self.clock}
        more |= {"began_from": self._digest, **self._noted}
        write_cassette(path, calls, allow=self.allow, **more)
        return path

    @property
    def _noted(self) -> dict[str, Any]:
        return {"screens": self.screen_version or SCREEN_VERSION, "pace": self.pace.moves}

    def finish(self, calls: Sequence[Call], unused: Sequence[Call]) -> None:
        """Write the cassette and the unused calls at the end of a recording."""
        # In an order in which each call is in one of the files, if not in two, at any point.
        if set(calls) == set(self._stored):
            calls = self._stored  # threads may have replayed them in another order
        unused = [*self._aside, *unused]
        stored = _read(self._unused)
        added = without(unused, stored)
        if added:
            stored = [*stored, *added]
            write_cassette(self._unused, stored, allow=self.allow)
        # Whatever has become of it meanwhile.
        present = self.cassette.read_text("utf-8", "replace") if self.cassette.exists() else ""
        if not calls and self.pace.moves is None:
            self.cassette.unlink(missing_ok=True)
        elif present != dump_cassette(calls, **self._noted):
            write_cassette(self.cassette, calls, **self._noted, allow=self.allow)
        if not unused:
            self._unused.unlink(missing_ok=True)
        elif without(stored, unused):
            write_cassette(self._unused, unused, allow=self.allow)
        self.partial.unlink(missing_ok=True)
        if self._done is not None:
            write_atomically(self._done, "")


def _path_id(path: Path) -> str:
    # Resolved, so that runs in different working directories share a lock.
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]


def _read(path: Path) -> list[Call]:
    try:
        return read_cassette(path)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _kept_by_server(calls: Iterable[Call]) -> str:
    """Name what calls continue of a conversation that the server keeps; empty if nothing."""
    return next((name for call in calls for name in call.request.continues), "")


def is_recording(state: Path) -> bool:
    """Return True while a process has the files of an item to itself."""
    from filelock import FileLock, Timeout

    for file in (state / "locks").glob("*.lock"):
        try:
            with FileLock(file, timeout=0):
                pass
        except Timeout:
            return True
    return False


class Pictures:
    """The pictures of one item's calls: those of its cassette, and those of this run.

    `kept` is the folder for pictures that no cassette has; with None they are not kept.
    """

    def __init__(self, folder: Path, kept: Path | None = None) -> None:
        self._folder = folder
        self._kept = kept
        self._new: dict[str, bytes] = {}

    def extract(self, body: Any) -> Any:
        """Return the body of a request with references in the place of its pictures."""
        body, taken = extract(body)
        self._new |= taken
        return body

    def embed(self, body: Any) -> Any:
        """Return a body with its pictures in the place of the references; raises as `read` does."""
        return embed(body, self.read)

    def read(self, digest: str) -> bytes:
        """Return a picture; raises as `read_picture` does."""
        return self._new[digest] if digest in self._new else read_picture(self._folder, digest)

    def write(self, calls: Iterable[Call], folder: Path | None = None) -> None:
        """Write the pictures of calls that have no file yet, below the cassette folder or another.

        Raises:
            CassetteNotWritten: there is no room, or no permission.
        """
        for digest in dict.fromkeys(digest for call in calls for digest in call.request.pictures):
            path = _picture_path(folder or self._folder, digest)
            if path.exists():
                continue
            write_recorded(path, self.read(digest), durable=True)

    def shown_path(self, digest: str) -> str | None:
        """Return the path of a picture, for people; `keep` it if no cassette has it."""
        path = _picture_path(self._folder, digest)
        return str(display_path(path)) if path.exists() else self.keep(digest, self.read(digest))

    def keep(self, name: str, png: bytes) -> str | None:
        """Keep a picture of this run; return its path, or None if it can't be kept."""
        if self._kept is None:
            return None
        path = self._kept / f"{name}.png"
        try:
            write_gitignore(self._kept.parent)
            write_atomically(path, png)
        except OSError:
            return None
        return str(display_path(path))

    def are_alike(self, recorded: Request, request: Request) -> bool:
        """Return True if two requests differ in pictures alone, which count as equal."""
        pairs = list(zip(recorded.pictures, request.pictures, strict=False))
        if not pairs or recorded.outline != request.outline:
            return False
        from pytest_miniwob_agent.pictures import compare

        differences = (
            compare(self.read(then), self.read(now)) for then, now in pairs if then != now
        )
        return all(found is not None and found.tolerated for found in differences)


def _picture_path(folder: Path, digest: str) -> Path:
    return folder / FOLDER / f"{digest}.png"


def read_picture(folder: Path, digest: str) -> bytes:
    """Return a picture of a cassette folder.

    Raises:
        CassetteError: it is missing, damaged or was changed.
    """
    from pytest_miniwob_agent.pictures import NotAPicture, decoded, pixel_digest

    path = _picture_path(folder, digest)
    try:
        png = path.read_bytes()
        if pixel_digest(decoded(png)) == digest:
            return png
        problem = "was changed: its pixels do not match its name"
    except FileNotFoundError:
        problem = "is missing"
    except NotAPicture:
        problem = "is damaged"
    raise CassetteError(
        f"the picture {display_path(path)} {problem}. Restore it (git checkout -- "
        f"{display_path(path)}), or delete the cassettes with its name (grep -rl {digest} "
        f"{display_path(folder)}) and record their items again"
    )
