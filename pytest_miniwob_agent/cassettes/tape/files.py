"""The files of one item's calls, and the order of writes that loses none of them.

- `1000.yaml`, the cassette: exactly the calls that the item makes.
- `1000.partial.yaml`, an unfinished recording, with a digest of the cassette that it began from. It
  is complete after every call.
- `1000.unused.yaml`, calls that were paid for and that the item does not make now. They are taken
  from there before a call is paid for.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder.stems import PARTIAL, UNUSED
from pytest_miniwob_agent.cassettes.format.call import Call
from pytest_miniwob_agent.cassettes.format.file import (
    CallTexts,
    dump_cassette,
    load_cassette,
    read_cassette,
    write_cassette,
)
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import counted


def without(calls: Iterable[Call], others: Iterable[Call]) -> list[Call]:
    """Return the calls that are not among the others; of equal ones, as many as there are more."""
    left = Counter(call.content for call in others)
    kept = []
    for call in calls:
        if left[call.content]:
            left[call.content] -= 1
        else:
            kept.append(call)
    return kept


class ItemFiles:
    """The files of one item's calls.

    Args:
        folder: the cassette folder.
        stem: the item's cassette in it, see `names.stem`.
        former: the cassette under its name of earlier versions, which is read where there is none
            under the present name.
    """

    def __init__(self, folder: Path, stem: str, former: Path | None = None) -> None:
        self._folder = folder
        self.cassette = folder / f"{stem}.yaml"
        self.partial = folder / f"{stem}{PARTIAL}"
        self.unused = folder / f"{stem}{UNUSED}"
        self._former = former
        self._digest: str | None = None
        self._texts = CallTexts()

    @property
    def source(self) -> Path:
        """The file that the recorded calls are read from."""
        if self._former is not None and self._former.exists() and not self.cassette.exists():
            return self._former
        return self.cassette

    def read(self) -> list[Call]:
        """Return the calls of the cassette; none if there is none.

        Raises:
            CassetteError: a damaged file; also for the methods below.
        """
        return read_cassette(self.source) if self.source.exists() else []

    def read_unused(self) -> list[Call]:
        """Return the unused calls."""
        return read_cassette(self.unused) if self.unused.exists() else []

    def take_up(self, *, all_anew: bool) -> tuple[list[Call], str]:
        """Return the calls of an unfinished recording, and a remark if it is not continued.

        It is continued if it began from the present cassette. With another one, its calls would
        replace newer answers: those that are kept nowhere else become unused ones.

        Args:
            all_anew: the mode `all`, which continues its own recordings only.
        """
        self._digest = self._digest_of_cassette()
        if self._former is not None and not self.partial.exists():
            former = self._former.with_name(self._former.name.removesuffix(".yaml") + PARTIAL)
            if former.exists():
                self.partial.parent.mkdir(parents=True, exist_ok=True)
                former.replace(self.partial)
        if not self.partial.exists():
            return [], ""
        calls, metadata = load_cassette(self.partial)
        recorded_all = metadata.get("recording") == "all"
        if "began_from" in metadata:
            continued = metadata["began_from"] == self._digest
        else:  # of an earlier version: it copied the cassette, unless it recorded all anew
            continued = recorded_all or not without(self.read(), calls)
        if continued:
            return (calls if recorded_all or not all_anew else []), ""
        unused = self.read_unused()
        left = without(calls, [*self.read(), *unused])
        remark = ""
        if left:
            write_cassette(self.unused, [*unused, *left])
            remark = (
                f"{display_path(self.partial)} began from another cassette than the present one "
                f"and was not continued: {counted(len(left), 'call')} "
                f"moved to {display_path(self.unused)}, from where recording takes what it needs"
            )
        self.partial.unlink()
        return [], remark

    def save(self, calls: Sequence[Call], *, all_anew: bool) -> None:
        """Write all calls of a recording that goes on; `take_up` comes first.

        Raises:
            CassetteError: a text in them looks like a key; nothing is written.
            CassetteNotWritten: there is no room, or no permission.
        """
        self._write_partial(self.partial, calls, all_anew)

    def rescue(self, calls: Sequence[Call], folder: Path, *, all_anew: bool) -> Path:
        """Write a recording that `save` could not keep below another cassette folder.

        Raises:
            CassetteNotWritten: there is no room, or no permission.
        """
        path = folder / self.partial.relative_to(self._folder)
        self._write_partial(path, calls, all_anew)
        return path

    def _write_partial(self, path: Path, calls: Sequence[Call], all_anew: bool) -> None:
        recording = {"recording": "all"} if all_anew else {}
        write_cassette(path, calls, self._texts, began_from=self._digest, **recording)

    def finish(self, calls: Sequence[Call], unused: Sequence[Call]) -> None:
        """Write the cassette and the unused calls at the end of a recording.

        Killed at any point, each call is in one of the files, if not in two.
        """
        stored = self.read_unused()
        added = without(unused, stored)
        if added:
            stored = [*stored, *added]
            write_cassette(self.unused, stored, self._texts)
        if not calls:
            self.cassette.unlink(missing_ok=True)
        elif not self._holds(calls):
            write_cassette(self.cassette, calls, self._texts)
        if not unused:
            self.unused.unlink(missing_ok=True)
        elif without(stored, unused):
            write_cassette(self.unused, unused, self._texts)
        self.partial.unlink(missing_ok=True)

    def _holds(self, calls: Sequence[Call]) -> bool:
        exists = self.cassette.exists()
        return exists and self.cassette.read_text("utf-8") == dump_cassette(calls, self._texts)

    def _digest_of_cassette(self) -> str | None:
        """Return a digest of the cassette, the same with every kind of line end."""
        if not self.cassette.exists():
            return None
        content = self.cassette.read_bytes().replace(b"\r\n", b"\n")
        return hashlib.sha256(content).hexdigest()[:16]
