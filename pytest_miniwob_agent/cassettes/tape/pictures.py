"""The pictures of requests: PNGs beside the cassettes, each kept once, by the digest of its pixels.

A request refers to them by their paths below the cassette folder, `pictures/<digest>.png`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.core.errors import CassetteError, CassetteNotWritten
from pytest_miniwob_agent.core.files import display_path, write_atomically
from pytest_miniwob_agent.pictures.references import FOLDER, put_in, references_in, take_out


class Pictures:
    """The pictures of one item's calls: those of its cassette, and those of this run.

    Args:
        folder: the cassette folder.
        kept: the folder for pictures that no cassette has; None to keep none.
    """

    def __init__(self, folder: Path, kept: Path | None = None) -> None:
        self._folder = folder
        self._kept = kept
        self._new: dict[str, bytes] = {}

    def take_out(self, body: Any) -> Any:
        """Return the body of a request with references in the place of its pictures."""
        body, taken = take_out(body)
        self._new |= taken
        return body

    def put_in(self, body: Any) -> Any:
        """Return a body with its pictures as data in the place of the references.

        Raises:
            CassetteError: a picture is missing or was changed.
        """
        return put_in(body, self.read)

    def read(self, digest: str) -> bytes:
        """Return a picture.

        Raises:
            CassetteError: it is missing or was changed.
        """
        return self._new[digest] if digest in self._new else read_picture(self._folder, digest)

    def write(self, calls: Iterable[Call], folder: Path | None = None) -> None:
        """Write the pictures of calls that have no file yet, below the cassette folder or another.

        Raises:
            CassetteNotWritten: there is no room, or no permission.
        """
        folder = folder or self._folder
        for digest in dict.fromkeys(digest for call in calls for digest in call.request.pictures):
            path = path_of(folder, digest)
            if path.exists():
                continue
            try:
                write_atomically(path, self.read(digest), durable=True)
            except OSError as error:
                raise CassetteNotWritten(
                    f"{display_path(path)} can't be written: {error}"
                ) from None

    def file_of(self, digest: str) -> str:
        """Return the path of a recorded picture, for people."""
        return str(display_path(path_of(self._folder, digest)))

    def keep(self, digest: str) -> str | None:
        """Keep a picture of this run that no cassette has; return its path, for people.

        It is None if it can't be kept, for which no run fails.
        """
        if path_of(self._folder, digest).exists():
            return self.file_of(digest)
        return self.keep_as(digest, self.read(digest))

    def keep_as(self, name: str, png: bytes) -> str | None:
        """Keep a picture of this run under a name; return its path as `keep` does."""
        if self._kept is None:
            return None
        path = self._kept / f"{name}.png"
        try:
            write_atomically(path, png)
        except OSError:
            return None
        return str(display_path(path))

    def keep_others(self, recorded: Request, request: Request) -> None:
        """Keep the pictures of a request that is replayed by one with others, which are alike."""
        for digest in set(request.pictures).difference(recorded.pictures):
            self.keep(digest)

    def are_alike(self, recorded: Request, request: Request) -> bool:
        """Return True if two requests differ in pictures alone, which count as equal."""
        pairs = list(zip(recorded.pictures, request.pictures, strict=False))
        if not pairs or recorded.outline != request.outline:
            return False
        from pytest_miniwob_agent.pictures.image import compare

        for then, now in pairs:
            if then != now:
                difference = compare(self.read(then), self.read(now))
                if difference is None or not difference.tolerated:
                    return False
        return True


def path_of(folder: Path, digest: str) -> Path:
    """Return the file of a picture below a cassette folder."""
    return folder / FOLDER / f"{digest}.png"


def read_picture(folder: Path, digest: str) -> bytes:
    """Return a picture of a cassette folder.

    Raises:
        CassetteError: it is missing or was changed.
    """
    path = path_of(folder, digest)
    advice = (
        f"Restore it (git checkout -- {display_path(path)}), or delete the cassettes with its "
        f"name (grep -rl {digest} {display_path(folder)}) and record their items again"
    )
    try:
        png = path.read_bytes()
    except FileNotFoundError:
        raise CassetteError(f"the picture {display_path(path)} is missing. {advice}") from None
    except OSError as error:
        raise CassetteError(f"{display_path(path)} can't be read: {error}") from None
    if problem := problem_of(png, digest):
        raise CassetteError(f"the picture {display_path(path)} {problem}. {advice}")
    return png


def problem_of(png: bytes, digest: str) -> str:
    """Return what is wrong with the file of a picture; empty if it holds the pixels of its name."""
    from pytest_miniwob_agent.pictures.image import NotAPicture, decoded, digest_of

    try:
        found = digest_of(decoded(png))
    except NotAPicture:
        return "is damaged"
    return "" if found == digest else "was changed: its pixels are not those of its name"


def unused_pictures(folder: Path, removed: Collection[Path] = ()) -> list[Path]:
    """Return the pictures that no cassette of a folder refers to.

    Cassettes are searched as texts, so that damaged ones count, too.

    Args:
        folder: the cassette folder.
        removed: cassettes that are about to be removed, which do not count.
    """
    pictures = sorted((folder / FOLDER).glob("[!.]*.png"))
    if not pictures:
        return []
    used: set[str] = set()
    for path in folder.rglob("*.yaml"):
        if path not in removed:
            used |= set(references_in(path.read_text(encoding="utf-8", errors="replace")))
    return [path for path in pictures if path.stem not in used]
