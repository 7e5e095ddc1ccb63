"""The report: a folder of static pages that open from disk, made of the outcomes of a run.

    index.html, report.js, report.css   the same in every report
    data/index.js                       what the overview needs of all items
    data/items/<case>.js                one item, loaded when it is opened
    pictures/<digest>.png               pages as they looked, each picture once

A page that is opened from disk may read no files but scripts, so the data are calls of functions
of report.js with one JSON value. Equal outcomes give equal bytes: there is no time, no path and no
host in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.report import data

PAGES = ("index.html", "report.css", "report.js")

_OURS = '<meta name="generator" content="pytest-miniwob-agent">'
"""Tells a report by its index.html."""

_PICTURE = re.compile(r"[0-9a-f]{16}\.png")


class Report:
    """A folder with a report in it, or one to be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = folder / "index.html"

    def check(self) -> None:
        """Whether a report may be written there.

        Raises:
            UsageError: the folder holds something else, or can't be read.
        """
        folder = self.folder
        with self._as_usage_error():
            if folder.exists() and not folder.is_dir():
                raise UsageError(f"--miniwob-report: {folder} is a file; name a folder")
            if folder.is_dir() and any(folder.iterdir()) and not self._is_ours():
                raise UsageError(
                    f"--miniwob-report: {folder} holds something else than a report, which would "
                    "be mixed with it; name another folder or an empty one"
                )

    @contextlib.contextmanager
    def _as_usage_error(self) -> Iterator[None]:
        """Turn an error of the file system into one of the option that names the folder."""
        try:
            yield
        except OSError as error:
            why = error.strerror or error
            raise UsageError(
                f"--miniwob-report: {self.folder} can't be written: {why}; name another folder"
            ) from None

    def _is_ours(self) -> bool:
        return self.index.is_file() and _OURS in self.index.read_text("utf-8", "replace")

    def prepare(self) -> None:
        """Make the folder known as a report's before pictures come in; an older one stays.

        Raises:
            UsageError: it can't be written.
        """
        with self._as_usage_error():
            if not self.index.exists():
                self._write_pages()
                self._write("data/index.js", "index", {"items": [], "unfinished": True})

    def add_picture(self, png: bytes) -> str:
        """Store a picture and return its name; called by all processes of a run.

        Raises:
            OSError: it can't be written.
        """
        name = hashlib.sha256(png).hexdigest()[:16] + ".png"
        path = self.picture(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".{name}.{os.getpid()}")
            beside.write_bytes(png)
            beside.replace(path)
        return name

    def picture(self, name: str) -> Path:
        """Where a picture is."""
        return self.folder / "pictures" / name

    def write(self, outcomes: Iterable[Outcome], *, judged: bool, broken: bool = False) -> None:
        """Write the report, in place of what there was before.

        Args:
            outcomes: those of the items that ran, in any order.
            judged: whether there was a baseline.
            broken: whether the run was broken off, so that items may be missing.

        Raises:
            UsageError: it can't be written.
        """
        ordered = sorted(
            outcomes, key=lambda outcome: (outcome.case.id, canonical_json(outcome.to_data()))
        )
        with self._as_usage_error():
            self._replace(ordered, judged, broken)

    def _replace(self, outcomes: Sequence[Outcome], judged: bool, broken: bool) -> None:
        self._write_pages()
        names = set()
        rows = []
        for id_, outcome in data.named(outcomes):
            row = data.row(id_, outcome)
            rows.append(row)
            names.add(self._write(f"data/items/{id_}.js", "item", row | data.item(outcome)))
        self._write(
            "data/index.js",
            "index",
            {"setup": data.setup(outcomes), "judged": judged, "broken": broken, "items": rows},
        )
        kept = {picture.name for outcome in outcomes for picture in outcome.pictures}
        self._clean(names, kept)

    def _write_pages(self) -> None:
        for name in PAGES:
            text = Path(__file__).with_name(name).read_text("utf-8")
            write_atomically(self.folder / name, text)

    def _write(self, name: str, function: str, content: Any) -> Path:
        path = self.folder / name
        write_atomically(path, script(function, content))
        return path

    def _clean(self, items: Collection[Path], pictures: Collection[str]) -> None:
        """Delete what an earlier run wrote, and nothing else."""
        for path in list((self.folder / "data" / "items").rglob("*.js")):
            if path not in items and path.read_bytes().startswith(_call("item").encode()):
                path.unlink()
                for folder in list(path.parents)[:2]:
                    with contextlib.suppress(OSError):  # there is more in it
                        folder.rmdir()
        for path in (self.folder / "pictures").glob("*.png"):
            if path.name not in pictures and _PICTURE.fullmatch(path.name):
                path.unlink()


def _call(function: str) -> str:
    return f"miniwobReport.{function}("


def script(function: str, content: Any) -> str:
    """A script that hands data to a function of report.js; no text in it can end the script."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))  # ASCII alone
    return _call(function) + text.replace("<", "\\u003c") + ");\n"
