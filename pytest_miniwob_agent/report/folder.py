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

from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.report import data
from pytest_miniwob_agent.results.file import Shard, read_shard
from pytest_miniwob_agent.results.gate import Verdict
from pytest_miniwob_agent.results.merge import check_shards

_GENERATOR = '<meta name="generator" content="pytest-miniwob-agent">'  # in every index.html


class Report:
    """A report's folder, which need not exist yet; `option` names the folder in messages."""

    def __init__(self, folder: Path, option: str = "--miniwob-report") -> None:
        self.folder = folder
        self.index = folder / "index.html"
        self._option = option

    def check(self) -> None:
        """Raise a `UsageError` if the folder contains something else, or can't be read."""
        with self._as_usage_error():
            if self.folder.exists() and not self.folder.is_dir():
                raise UsageError(f"{self._option}: {self.folder} is a file; name a folder")
            if self.index.is_file() and _GENERATOR in self.index.read_text("utf-8", "replace"):
                return
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise UsageError(
                    f"{self._option}: {self.folder} contains files that are not a report's; name "
                    "an empty folder, or one that does not exist"
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

    def prepare(self) -> None:
        """Create the folder before the first picture is added; an earlier report stays as it is."""
        with self._as_usage_error():
            if not self.index.exists():
                self._write_pages()
                self._write_data("data/index.js", "index", {"items": [], "unfinished": True})

    def add_picture(self, png: bytes) -> str:
        """Store a picture and return its name; every process of a run may call this."""
        name = hashlib.sha256(png).hexdigest()[:16] + ".png"
        if not self.picture(name).exists():
            write_atomically(self.picture(name), png)
        return name

    def picture(self, name: str) -> Path:
        """Return the path of a picture."""
        return self.folder / "pictures" / name

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

        `judged` outcomes were compared with a baseline. Of a `broken` run, which was interrupted,
        items may be missing. `sent` are the folders of pictures that were sent to a model.

        Raises:
            UsageError: the folder can't be written.
        """
        ordered = sorted(outcomes, key=lambda outcome: (outcome.case.id, outcome.test))
        ids = data.unique_ids(outcome.case.id for outcome in ordered)
        rows = [data.overview_row(*pair) for pair in zip(ids, ordered, strict=True)]
        names = zip(*((outcome.agent, outcome.model) for outcome in ordered), strict=True)
        index = {
            "setup": [", ".join(sorted(set(side))) for side in names] or ["", ""],
            "judged": judged,
            "gate": verdict and data.gate_data(verdict),
            "broken": broken,
            "items": rows,
        }
        if shard is not None:
            index["shard"] = to_data(shard)
        pictures = data.SentPictures(sent)
        pages = (
            row | data.item_page(outcome) | pictures.of(outcome)
            for row, outcome in zip(rows, ordered, strict=True)
        )
        taken = {picture.name for outcome in ordered for picture in outcome.pictures}
        self._replace(index, pages, taken, pictures.shown)

    def merge(self, folders: Sequence[Path]) -> int:
        """Write the report of all shards, as one run of all items would; return how many those are.

        `folders` hold the report of each shard, in any order.

        Raises:
            UsageError: they are not the reports of the shards of one suite, all of them, each once;
                or one can't be read, or this one can't be written.
        """
        if self.folder.resolve() in [folder.resolve() for folder in folders]:
            raise UsageError(
                f"{self.folder} is one of the reports that are to be merged: name another folder"
            )
        self.check()
        indexes = [_read_data(folder / "data/index.js", "index") for folder in folders]
        for folder, index in zip(folders, indexes, strict=True):
            if index.get("unfinished"):
                raise UsageError(
                    f"{folder} is unfinished, as its run was stopped: run the shard again"
                )
            for row in index["items"]:
                if not {"", ".", ".."}.isdisjoint(row["id"].split("/")):
                    raise UsageError(
                        f"{folder} has an item with the id {row['id']!r}: write it again"
                    )
        sources = list(zip(map(str, folders), indexes, strict=True))
        check_shards([(source, read_shard(index, source)) for source, index in sources])
        items = [
            (data.case_of(row["id"]), canonical_json(row), folder, row)
            for folder, index in zip(folders, indexes, strict=True)
            for row in index["items"]
        ]
        items.sort(key=lambda item: item[:2])
        ids = data.unique_ids(case for case, *_ in items)
        rows = [row | {"id": id_} for id_, (*_, row) in zip(ids, items, strict=True)]
        setups = zip(*(index["setup"] for index in indexes), strict=True)
        names = [set(", ".join(side).split(", ")) - {""} for side in setups]
        index = {
            "setup": [", ".join(sorted(side)) for side in names],
            "judged": any(index["judged"] for index in indexes),
            "gate": None,  # `compare` judges the results of all shards
            "broken": any(index["broken"] for index in indexes),
            "items": rows,
        }
        pages = (
            _read_data(folder / f"data/items/{old['id']}.js", "item") | row
            for row, (_, _, folder, old) in zip(rows, items, strict=True)
        )
        pictures = {path.name: path for folder in folders for path in folder.glob("pictures/*.png")}
        self._replace(index, pages, (), pictures)
        return len(items)

    def _replace(
        self,
        index: Mapping[str, Any],
        pages: Iterable[Mapping[str, Any]],
        taken: Collection[str],
        more: Mapping[str, Path],
    ) -> None:
        """Write the overview and the items' pages in place of those of an earlier report.

        Of the pictures in the folder those that were `taken` stay; `more` are copied there.
        """
        with self._as_usage_error():
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            self._write_pages()
            for page in pages:
                self._write_data(f"data/items/{page['id']}.js", "item", page)
            self._write_data("data/index.js", "index", index)
            for path in self.folder.glob("pictures/*.png"):
                if path.name not in taken:
                    path.unlink()
            for name, path in more.items():
                write_atomically(self.picture(name), path.read_bytes())

    def _write_pages(self) -> None:
        source = Path(__file__).parent
        for path in (source / "index.html", source / "report.css", *source.glob("scripts/*.js")):
            write_atomically(self.folder / path.relative_to(source), path.read_text("utf-8"))

    def _write_data(self, name: str, function: str, value: Any) -> None:
        """Write a data file: ASCII without `<`, so that no text in it can end the script."""
        text = json.dumps(value, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
        write_atomically(self.folder / name, f"miniwobReport.{function}({text});\n")


def _read_data(path: Path, function: str) -> Any:
    """Return the value of a data file.

    Raises:
        UsageError: there is no such file, or it is not one.
    """
    try:
        text = path.read_text("ascii")
        return json.loads(text.removeprefix(f"miniwobReport.{function}(").removesuffix(");\n"))
    except FileNotFoundError:
        raise UsageError(
            f"there is no {path}: name the folder of a report, as --miniwob-report writes it"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} can't be read: {error}") from None
