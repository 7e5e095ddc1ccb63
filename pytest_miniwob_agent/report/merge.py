"""The merge of the reports of shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.report.data import unique_ids
from pytest_miniwob_agent.report.folder import Report, read_data
from pytest_miniwob_agent.results.file import read_shard
from pytest_miniwob_agent.results.merge import check_shards


def merge_reports(folders: Sequence[Path], target: Report) -> int:
    """Write the report that one run of all items would have written; return the number of items.

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
    indexes = [read_data(folder / "data/index.js", "index") for folder in folders]
    shards = []
    for folder, index in zip(folders, indexes, strict=True):
        if index.get("unfinished"):
            raise UsageError(f"{folder} is unfinished, as its run was stopped: run the shard again")
        shard = read_shard(index, str(folder))
        shards.append((str(folder), shard))
    check_shards(shards)
    items = sorted(
        (
            (row["id"].partition("~")[0], canonical_json(row), folder, row)
            for folder, index in zip(folders, indexes, strict=True)
            for row in index["items"]
        ),
        key=lambda item: item[:2],
    )
    ids = unique_ids(case for case, *_ in items)
    rows = [row | {"id": id_} for id_, (*_, row) in zip(ids, items, strict=True)]
    setups = zip(*(index["setup"] for index in indexes), strict=True)
    target.replace(
        {
            "setup": [
                ", ".join(sorted({name for names in side for name in names.split(", ") if name}))
                for side in setups
            ],
            "judged": any(index["judged"] for index in indexes),
            "gate": None,  # `compare` judges the results of all shards
            "broken": any(index["broken"] for index in indexes),
            "items": rows,
        },
        (
            read_data(folder / f"data/items/{old['id']}.js", "item") | row
            for row, (_, _, folder, old) in zip(rows, items, strict=True)
        ),
        (),
        {path.name: path for folder in folders for path in folder.glob("pictures/*.png")},
    )
    return len(items)
