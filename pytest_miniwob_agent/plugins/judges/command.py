"""`miniwob-agent judges`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from pytest_miniwob_agent.core.text import counted, percent, text_table, wrap
from pytest_miniwob_agent.plugins.judges.labels import COLUMNS, Agreement, Judged, read_labels

WIDTH = 80


def add_judges(parser: ArgumentParser) -> None:
    parser.description = (
        "Compare the verdicts of a judge, a model that says whether an item passes, with the "
        "labels that people gave the same items. Use a file for each question and model."
    )
    columns = (f"  {name:9}{text}" for name, text in COLUMNS.items())
    parser.epilog = "\n".join(["Columns of the file:\n", *columns])
    parser.add_argument("file", type=Path, metavar="FILE", help="a CSV file, in UTF-8")
    parser.set_defaults(run=compare_labels)


def compare_labels(options: Namespace) -> int:
    print("\n".join(_lines(Agreement(read_labels(options.file)))))
    return 0


def _lines(agreement: Agreement) -> Iterator[str]:
    size = len(agreement.items)
    low, high = map(percent, agreement.interval)
    share = percent(agreement.agreed / size)
    yield f"agreement  {share} % ({agreement.agreed} of {counted(size, 'item')}), {low} to {high} %"
    if (found := agreement.kappa) is None:
        verdict = "pass" if agreement.items[0].verdict else "fail"
        yield f"kappa      undefined: people and judge {verdict} all items"
    else:
        value, low_kappa, high_kappa = found
        yield f"kappa      {value:.2f}, {low_kappa:.2f} to {high_kappa:.2f}"
    yield "Intervals at 95 %. Kappa is the agreement beyond chance."
    yield ""
    rows = zip(("label pass", "label fail"), agreement.table, strict=True)
    cells = [(name, *map(str, row)) for name, row in rows]
    yield from text_table([("", "verdict pass", "verdict fail"), *cells], WIDTH)
    for label, text in (
        (False, "passed, but failed by people"),
        (True, "failed, but passed by people"),
    ):
        if wrong := [each for each in agreement.wrong if each.label is label]:
            yield ""
            yield f"{counted(len(wrong), 'item')} {text}"
            for each in wrong:
                yield from _item_lines(each)


def _item_lines(each: Judged) -> Iterator[str]:
    yield from wrap(f"{each.item}: {each.reason}" if each.reason else each.item, WIDTH, indent=2)
