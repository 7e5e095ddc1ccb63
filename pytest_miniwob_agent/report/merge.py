"""Reports of the shards of a suite, joined into the one that a run of all items would have made."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.report.data import id_in_report
from pytest_miniwob_agent.report.folder import Report, read_data
from pytest_miniwob_agent.results.shard import Part, Shard, check_parts


class _Item(NamedTuple):
    """An item of a shard's report: its case, the folder and the path of its page, its row."""

    case: str
    folder: Path
    page: str
    row: Mapping[str, Any]


def merge_reports(folders: Sequence[Path], target: Report) -> int:
    """Write the report of all shards, with their pictures; return the number of its items.

    Args:
        folders: the folder of each shard's report, in any order.
        target: the report to write.

    Raises:
        UsageError: they are not the reports of the shards of one suite, all of them, each once; or
            one can't be read, or the target can't be written.
    """
    if target.folder.resolve() in [folder.resolve() for folder in folders]:
        raise UsageError(
            f"{target.folder} is one of the reports that are to be merged: name another folder"
        )
    target.check()
    indexes = [_read(folder, "data/index.js", "index") for folder in folders]
    parts = [_part(folder, index) for folder, index in zip(folders, indexes, strict=True)]
    check_parts(parts, "--miniwob-report")
    items = _numbered(zip(folders, indexes, strict=True))
    target.prepare()
    pictures = _copy_pictures(folders, target)
    target.replace(
        {
            "setup": [
                ", ".join(sorted({name for each in side for name in each.split(", ") if name}))
                for side in zip(*(index["setup"] for index in indexes), strict=True)
            ],
            "judged": any(index["judged"] for index in indexes),
            "gate": None,  # `compare` judges the results of all shards
            "broken": any(index["broken"] for index in indexes),
            "items": [item.row for item in items],
        },
        (_read(item.folder, item.page, "item") | item.row for item in items),
        pictures,
    )
    return len(items)


def _read(folder: Path, name: str, function: str) -> Any:
    """Return the value of a data file of a report.

    Raises:
        UsageError: there is none.
    """
    try:
        return read_data(folder / name, function)
    except FileNotFoundError:
        raise UsageError(
            f"{folder} has no {name}: name the folder of a report, as --miniwob-report writes it"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / name} can't be read: {error}") from None


def _part(folder: Path, index: Mapping[str, Any]) -> Part:
    if index.get("unfinished"):
        raise UsageError(f"{folder} was not finished, as its run was ended: run that shard again")
    shard = Shard.from_data(index["shard"], str(folder)) if "shard" in index else None
    ran = frozenset(row["id"].partition("~")[0] for row in index["items"])
    return Part(str(folder), shard, ran, {})


def _numbered(reports: Iterable[tuple[Path, Mapping[str, Any]]]) -> list[_Item]:
    """Return the items of all reports in order; the second one of a case gets a number."""
    found = [
        _Item(row["id"].partition("~")[0], folder, f"data/items/{row['id']}.js", row)
        for folder, index in reports
        for row in index["items"]
    ]
    found.sort(key=lambda item: (item.case, canonical_json({**item.row, "id": "", "seed": ""})))
    items = []
    for case, group in groupby(found, lambda item: item.case):
        for number, item in enumerate(group, start=1):
            id_ = id_in_report(case, number)
            row = {**item.row, "id": id_, "seed": id_.rpartition("/")[2]}
            items.append(item._replace(row=row))
    return items


def _copy_pictures(folders: Iterable[Path], target: Report) -> set[str]:
    """Copy the pictures of reports and return their names, which tell what is in them."""
    names = set()
    for folder in folders:
        for path in sorted(Report(folder).pictures.glob("*.png")):
            names.add(path.name)
            copy = target.picture(path.name)
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    return names
