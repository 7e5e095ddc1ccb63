"""The pictures of requests: PNGs beside the cassettes, each kept once, by the digest of its pixels.

A request refers to them by their paths below the cassette folder, `pictures/<digest>.png`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.core.errors import CassetteError, CassetteNotWritten
from pytest_miniwob_agent.core.files import display_path, keep_out_of_commits, write_atomically
from pytest_miniwob_agent.pictures.references import FOLDER, put_in, references_in, take_out


class Pictures:
    """The pictures of one item's calls: those of its cassette, and those of this run.

    `kept` is the folder for pictures that no cassette has; None keeps none.
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
        """Return a body with its pictures in the place of the references; raises as `read` does."""
        return put_in(body, self.read)

    def read(self, digest: str) -> bytes:
        """Return a picture; raises as `read_picture` does."""
        return self._new[digest] if digest in self._new else read_picture(self._folder, digest)

    def write(self, calls: Iterable[Call], folder: Path | None = None) -> None:
        """Write the pictures of calls that have no file yet, below the cassette folder or another.

        Raises:
            CassetteNotWritten: there is no room, or no permission.
        """
        for digest in dict.fromkeys(digest for call in calls for digest in call.request.pictures):
            path = file_of(folder or self._folder, digest)
            if path.exists():
                continue
            try:
                write_atomically(path, self.read(digest), durable=True)
            except OSError as error:
                raise CassetteNotWritten(
                    f"{display_path(path)} can't be written: {error}"
                ) from None

    def path_of(self, digest: str) -> str | None:
        """Return the path of a picture, for people; `keep` it if no cassette has it."""
        path = file_of(self._folder, digest)
        return str(display_path(path)) if path.exists() else self.keep(digest, self.read(digest))

    def keep(self, name: str, png: bytes) -> str | None:
        """Keep a picture of this run; return its path, or None if it can't be kept."""
        if self._kept is None:
            return None
        path = self._kept / f"{name}.png"
        try:
            keep_out_of_commits(self._kept.parent)
            write_atomically(path, png)
        except OSError:
            return None
        return str(display_path(path))

    def are_alike(self, recorded: Request, request: Request) -> bool:
        """Return True if two requests differ in pictures alone, which count as equal."""
        pairs = list(zip(recorded.pictures, request.pictures, strict=False))
        if not pairs or recorded.outline != request.outline:
            return False
        from pytest_miniwob_agent.pictures.image import compare

        differences = (
            compare(self.read(then), self.read(now)) for then, now in pairs if then != now
        )
        return all(found is not None and found.tolerated for found in differences)


def file_of(folder: Path, digest: str) -> Path:
    """Return the file of a picture below a cassette folder."""
    return folder / FOLDER / f"{digest}.png"


def read_picture(folder: Path, digest: str) -> bytes:
    """Return a picture of a cassette folder.

    Raises:
        CassetteError: it is missing, damaged or was changed.
    """
    from pytest_miniwob_agent.pictures.image import NotAPicture, decoded, digest_of

    path = file_of(folder, digest)
    try:
        png = path.read_bytes()
        if digest_of(decoded(png)) == digest:
            return png
        problem = "was changed: its pixels are not those of its name"
    except FileNotFoundError:
        problem = "is missing"
    except NotAPicture:
        problem = "is damaged"
    raise CassetteError(
        f"the picture {display_path(path)} {problem}. Restore it (git checkout -- "
        f"{display_path(path)}), or delete the cassettes with its name (grep -rl {digest} "
        f"{display_path(folder)}) and record their items again"
    )


def unused_pictures(folder: Path, unused: Path, removed: Collection[Path] = ()) -> list[Path]:
    """Return the pictures that no cassette of a folder refers to, but for `removed` ones.

    Unused calls, in the folder `unused`, refer to theirs too. All are searched as texts, so that
    damaged ones count.
    """
    pictures = sorted((folder / FOLDER).glob("[!.]*.png"))
    used = {
        digest
        for path in (chain(folder.rglob("*.yaml"), unused.rglob("*.yaml")) if pictures else ())
        if path not in removed and path.is_file()
        for digest in references_in(path.read_text(encoding="utf-8", errors="replace"))
    }
    return [path for path in pictures if path.stem not in used]
