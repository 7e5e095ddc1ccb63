"""The report's folder: static pages that open from disk, and the data and pictures they show.

    index.html, report.js, report.css   the same in every report
    data/index.js                       the overview of all items
    data/items/<case>.js                one item, loaded when its page is opened
    pictures/<digest>.png               pictures of pages, and those that a model was sent

A page that is opened from disk can load scripts but not read other files, so each data file is a
script that passes one JSON value to a function of report.js. Equal outcomes give equal bytes: the
report contains no times, paths or host names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.report import data
from pytest_miniwob_agent.report.scripts import report_script
from pytest_miniwob_agent.report.sent import SentPictures
from pytest_miniwob_agent.results.comparison import Caution
from pytest_miniwob_agent.results.gate import Verdict
from pytest_miniwob_agent.results.shard import Shard

PAGES = ("index.html", "report.css")
"""Files that are copied into every report; `report.js` is joined from several."""

_GENERATOR = '<meta name="generator" content="pytest-miniwob-agent">'
"""Part of the index.html of every report."""

_PICTURE_NAME = re.compile(r"[0-9a-f]{16}(?:-[0-9a-f]{16})?\.png")


class Report:
    """A report's folder, which need not exist yet.

    Args:
        folder: the folder.
        option: the option that names it, for messages.
    """

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
        cautions: Sequence[Caution] = (),
        broken: bool = False,
        shard: Shard | None = None,
        sent: Sequence[Path] = (),
    ) -> None:
        """Write the report, replacing an earlier one.

        Args:
            outcomes: the outcomes of the items that ran, in any order.
            judged: the outcomes were compared with a baseline.
            verdict: the gate's decision on them, if there is one.
            cautions: differences of the two runs that may explain those of their results.
            broken: the run was interrupted, so that items may be missing.
            shard: the part of the suite that was run, None if that was the whole.
            sent: the folders of the pictures that were sent to a model.

        Raises:
            UsageError: the folder can't be written.
        """
        ordered = []
        by_case = sorted(outcomes, key=_case)
        for _, same in groupby(by_case, key=_case):
            several = list(same)
            if len(several) > 1:  # in an order that does not depend on that in which they ran
                several.sort(key=lambda outcome: canonical_json(outcome.to_data()))
            ordered += several
        rows = {id_: data.overview_row(id_, outcome) for id_, outcome in data.with_ids(ordered)}
        pictures = SentPictures(sent)
        sent_by_id = {
            id_: {"sent": pictures.in_messages(outcome), "changed": pictures.changed(outcome)}
            for id_, outcome in data.with_ids(ordered)
        }
        index = {
            "setup": data.agents_and_models(ordered),
            "judged": judged,
            "gate": verdict and data.gate_data(verdict, cautions),
            "broken": broken,
            "items": list(rows.values()),
        }
        if shard is not None:
            index["shard"] = shard.to_data()
        with self._as_usage_error():
            for name, path in pictures.found.items():
                write_atomically(self.picture(name), path.read_bytes())
        taken = {picture.name for outcome in ordered for picture in outcome.pictures}
        self.replace(
            index,
            (
                rows[id_] | data.item_page(outcome) | sent_by_id[id_]
                for id_, outcome in data.with_ids(ordered)
            ),
            taken | pictures.found.keys(),
        )

    def replace(
        self,
        index: Mapping[str, Any],
        pages: Iterable[Mapping[str, Any]],
        pictures: Collection[str],
    ) -> None:
        """Write the data of a report, and delete what an earlier one had besides.

        Args:
            index: the overview.
            pages: the data of each item's page, with its `id`.
            pictures: the names of the pictures that the pages show.

        Raises:
            UsageError: the folder can't be written.
        """
        with self._as_usage_error():
            self._write_pages()
            files = {
                self._write_data(f"data/items/{page['id']}.js", "item", page) for page in pages
            }
            self._write_data("data/index.js", "index", index)
            self._delete_stale(files, pictures)

    def _write_pages(self) -> None:
        for name in PAGES:
            text = Path(__file__).with_name(name).read_text("utf-8")
            write_atomically(self.folder / name, text)
        write_atomically(self.folder / "report.js", report_script())

    def _write_data(self, name: str, function: str, value: Any) -> Path:
        path = self.folder / name
        write_atomically(path, _script(function, value))
        return path

    def _delete_stale(self, items: Collection[Path], pictures: Collection[str]) -> None:
        """Delete the items and pictures of an earlier report, and no other files."""
        for path in list((self.folder / "data" / "items").rglob("*.js")):
            if path not in items and path.read_bytes().startswith(_call("item").encode()):
                path.unlink()
                for folder in list(path.parents)[:2]:
                    with contextlib.suppress(OSError):  # it is not empty
                        folder.rmdir()
        for path in self.pictures.glob("*.png"):
            if path.name not in pictures and _PICTURE_NAME.fullmatch(path.name):
                path.unlink()


def _case(outcome: Outcome) -> str:
    return outcome.case.id


def _call(function: str) -> str:
    return f"miniwobReport.{function}("


def _script(function: str, value: Any) -> str:
    """Return a script that passes a value to a function of report.js.

    No text in the value can end the script: it is ASCII, and without `<`.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return _call(function) + text.replace("<", "\\u003c") + ");\n"


def read_data(path: Path, function: str) -> Any:
    """Return the value that a script of a report passes to a function of report.js.

    Raises:
        ValueError: the file is not such a script.
        OSError: it can't be read.
    """
    text = path.read_text("ascii")
    start = _call(function)
    if not text.startswith(start) or not text.endswith(");\n"):
        raise ValueError(f"{path} is not a data file of a report")
    return json.loads(text[len(start) : -3])
