"""The report's folder: static pages that open from disk, and the data and pictures they show.

    index.html, report.css, scripts/   the same in every report
    data/index.js                      the overview of all items
    data/items/<case>.js               one item, loaded when its page is opened
    pictures/<digest>.png              pictures of pages, and those that were sent to a model

A page that is opened from disk can load scripts but not read other files, so each data file is a
script that passes one JSON value to a function of scripts/pages.js. Equal outcomes give equal
bytes: the report contains no times, paths or host names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.report import data
from pytest_miniwob_agent.report.sent import SentPictures
from pytest_miniwob_agent.results.file import Shard
from pytest_miniwob_agent.results.gate import Verdict

_GENERATOR = '<meta name="generator" content="pytest-miniwob-agent">'
"""Part of the index.html of every report."""


class Report:
    """A report's folder, which need not exist yet; `option` names the folder in messages."""

    def __init__(self, folder: Path, option: str = "--miniwob-report") -> None:
        self.folder = folder
        self.index = folder / "index.html"
        self.pictures = folder / "pictures"
        self._option = option

    def check(self) -> None:
        """Check that a report may be written there; write nothing.

        Raises:
            UsageError: the folder contains something else, or can't be read.
        """
        folder = self.folder
        with self._as_usage_error():
            if folder.exists() and not folder.is_dir():
                raise UsageError(f"{self._option}: {folder} is a file; name a folder")
            if folder.is_dir() and any(folder.iterdir()) and not self._is_report():
                raise UsageError(
                    f"{self._option}: {folder} contains files that are not a report's; name an "
                    "empty folder, or one that does not exist"
                )

    @contextlib.contextmanager
    def _as_usage_error(self) -> Iterator[None]:
        """Turn an error of the file system into one of the option that names the folder."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(
                f"{self._option}: {self.folder} can't be written: {reason}; name another folder"
            ) from None

    def _is_report(self) -> bool:
        return self.index.is_file() and _GENERATOR in self.index.read_text("utf-8", "replace")

    def prepare(self) -> None:
        """Create the folder before the first picture is added; an earlier report stays as it is.

        Raises:
            UsageError: the folder can't be written.
        """
        with self._as_usage_error():
            if not self.index.exists():
                self._write_pages()
                unfinished = {"items": [], "unfinished": True}
                self._write_data("data/index.js", "index", unfinished)

    def add_picture(self, png: bytes) -> str:
        """Store a picture and return its name; every process of a run may call this.

        Raises:
            OSError: the picture can't be written.
        """
        name = hashlib.sha256(png).hexdigest()[:16] + ".png"
        path = self.picture(name)
        if not path.exists():
            write_atomically(path, png)
        return name

    def picture(self, name: str) -> Path:
        """Return the path of a picture."""
        return self.pictures / name

    def write(
        self,
        outcomes: Iterable[Outcome],
        *,
        judged: bool,
        verdict: Verdict | None = None,
        broken: bool = False,
        shard: Shard | None = None,
        sent: Sequence[Path] = (),
    ) -> None:
        """Write the report, replacing an earlier one.

        Args:
            outcomes: the outcomes of the items that ran, in any order.
            judged: the outcomes were compared with a baseline.
            verdict: the gate's decision on them, if there is one.
            broken: the run was interrupted, so that items may be missing.
            shard: the part of the suite that ran, None for the whole.
            sent: the folders of the pictures that were sent to a model.

        Raises:
            UsageError: the folder can't be written.
        """
        ordered = sorted(outcomes, key=lambda outcome: (outcome.case.id, outcome.test))
        ids = data.unique_ids(outcome.case.id for outcome in ordered)
        rows = [data.overview_row(*pair) for pair in zip(ids, ordered, strict=True)]
        index = {
            "setup": data.agents_and_models(ordered),
            "judged": judged,
            "gate": verdict and data.gate_data(verdict),
            "broken": broken,
            "items": rows,
        }
        if shard is not None:
            index["shard"] = to_data(shard)
        pictures = SentPictures(sent)
        pages = (
            row | data.item_page(outcome) | pictures.of(outcome)
            for row, outcome in zip(rows, ordered, strict=True)
        )
        taken = {picture.name for outcome in ordered for picture in outcome.pictures}
        self.replace(index, pages, taken, pictures.found)

    def replace(
        self,
        index: Mapping[str, Any],
        pages: Iterable[Mapping[str, Any]],
        pictures: Collection[str],
        more_pictures: Mapping[str, Path],
    ) -> None:
        """Write the data of a report in place of those of an earlier one.

        Args:
            index: the overview.
            pages: the data of each item's page, with its `id`.
            pictures: the names of the pictures in the folder that the pages show.
            more_pictures: pictures to copy into the folder, by their names there.

        Raises:
            UsageError: the folder can't be written.
        """
        with self._as_usage_error():
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            self._write_pages()
            for page in pages:
                self._write_data(f"data/items/{page['id']}.js", "item", page)
            self._write_data("data/index.js", "index", index)
            for path in self.pictures.glob("*.png"):
                if path.name not in pictures:
                    path.unlink()
            for name, path in more_pictures.items():
                write_atomically(self.picture(name), path.read_bytes())

    def _write_pages(self) -> None:
        source = Path(__file__).parent
        for path in (source / "index.html", source / "report.css", *source.glob("scripts/*.js")):
            write_atomically(self.folder / path.relative_to(source), path.read_text("utf-8"))

    def _write_data(self, name: str, function: str, value: Any) -> None:
        write_atomically(self.folder / name, _script(function, value))


def _call(function: str) -> str:
    return f"miniwobReport.{function}("


def _script(function: str, value: Any) -> str:
    """A data file; it is ASCII without `<`, so that no text in the value can end the script."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return _call(function) + text.replace("<", "\\u003c") + ");\n"


def read_data(path: Path, function: str) -> Any:
    """Return the value of a data file.

    Raises:
        UsageError: there is no such file, or it is not one.
    """
    try:
        text = path.read_text("ascii")
        if text.startswith(_call(function)):
            return json.loads(text.removeprefix(_call(function)).removesuffix(");\n"))
    except FileNotFoundError:
        raise UsageError(
            f"there is no {path}: name the folder of a report, as --miniwob-report writes it"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read: {error}") from None
    raise UsageError(f"{path} is not a data file of a report")
