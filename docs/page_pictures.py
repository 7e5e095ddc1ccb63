"""Pictures in the documentation: `make pictures` takes them, `make check-pictures` compares them.

    docs/pictures/<task>.png     the page of each task at seed 1000
    docs/gallery.md              these pictures
    docs/report*.png             pages of reports on shipped items
    docs/memories.svg            memories within 1, 3 and 5 trials

Browsers draw the edges of letters differently, so pictures are compared by the mean colours of
small squares, and a picture is only written where that shows a change.
"""

import argparse
import io
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from support.projects import ROOT, SUITE_RUNS
from support.report_window import Window

from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.plugins.papers.figures import variant_tables
from pytest_miniwob_agent.plugins.papers.output import draw
from pytest_miniwob_agent.plugins.papers.tables import Paper
from pytest_miniwob_agent.results.file import read_results
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES, OTHER, installed_tasks

DOCS = ROOT / "docs"
GALLERY = DOCS / "gallery.md"
PAGES = DOCS / "pictures"

SEED = 1000
COLUMNS = 4
WIDEST = 200
"""The width of a picture in the gallery; a wider one is made smaller."""

INTRODUCTION = f"""\
# Gallery

The page of every [task](tasks.md) at seed {SEED}, as an agent sees it first.
Made by `make pictures`; CI fails if a page no longer looks like this.
"""

SQUARE = 4
"""The side of the squares whose mean colours are compared, in pixels."""

TOLERANCE = 40
"""The difference of a mean colour, of 255, from which on a picture has changed."""

REPORTS = {
    "reflection": [
        "tests/suites/reflection.py", "--miniwob-trace=on",
        "-k", "reflective/claude/reflection/two-formats",
        "--miniwob-baseline=cassettes/reflection.jsonl",
    ],
    "three-trials": [
        "tests/suites/reflection.py", "--miniwob-trace=off", "--miniwob-trials=3", "-n2",
        "-k", "reflective/claude/reflection", "--miniwob-baseline=cassettes/reflection.jsonl",
    ],
    "graded": [
        "examples/django_admin/test_admin.py", "-cexamples/django_admin/pytest.ini",
        "--miniwob-trace=on", "-k", "delete-user",
    ],
}  # fmt: skip
"""Runs of shipped items, by the names of their reports."""

REPORT_PICTURES = {
    DOCS / "report.png": (
        "reflection",
        "#/item/reflective/claude/reflection/two-formats/1001/2/0",
        900,
    ),
    DOCS / "report-overview.png": ("three-trials", "#/", 1100),
    DOCS / "report-graders.png": ("graded", "#/item/tools/claude/apps/delete-user/1", 780),
}
"""The report, the place in it and the height of the pictures of reports."""

FONTS = """
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(':root { --mono: "DejaVu Sans Mono"; font-family: "DejaVu Sans" }');
    document.adoptedStyleSheets = [sheet];
"""
"""Replaces the fonts of the machine by those that Debian's Chromium comes with."""


def read(png):
    return Image.open(io.BytesIO(png)).convert("RGB")


def compact(image):
    """Return a PNG of an image, with a palette where there are few enough colours for one."""
    red, green, blue = np.moveaxis(np.asarray(image, np.uint32), 2, 0)
    colours, indices = np.unique(red << 16 | green << 8 | blue, return_inverse=True)
    if len(colours) <= 256:
        image = Image.fromarray(indices.reshape(red.shape).astype(np.uint8))
        image.putpalette([colour >> shift & 255 for colour in colours for shift in (16, 8, 0)])
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def changed(before, after):
    """Return if two pictures, as PNG, differ by more than how browsers draw."""
    one, other = (np.asarray(read(png), np.int16) for png in (before, after))
    if one.shape != other.shape:
        return True
    height, width = (size // SQUARE * SQUARE for size in one.shape[:2])
    difference = (one - other)[:height, :width]
    squares = difference.reshape(height // SQUARE, SQUARE, width // SQUARE, SQUARE, 3)
    return bool((np.abs(squares.mean(axis=(1, 3))) > TOLERANCE).any())


def look_at(browser, task):
    """Return a picture of a task's page."""
    page = MiniwobPage(browser, Case(task, installed_tasks()[task], SEED))
    page.reset()
    image = read(page.look().png)
    return compact(image.reduce(-(-image.width // WIDEST)))


def gallery():
    """Return the text of the gallery."""
    lines = [INTRODUCTION]
    for category in (*CATEGORIES, OTHER):
        tasks = [task for task, its in installed_tasks().items() if its == category]
        lines += [f"## {category}", "", "|" + " |" * COLUMNS, "|" + ":--|" * COLUMNS]
        cells = [f"![{task}](pictures/{task}.png)<br>**{task}**" for task in tasks]
        for first in range(0, len(cells), COLUMNS):
            lines.append(f"|{'|'.join(cells[first : first + COLUMNS])}|")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def memories():
    """Return the figure of the memories that are recorded at all eight seeds."""
    runs = read_results(ROOT / "cassettes/memories.jsonl").by_setup.values()
    papers = [Paper(run) for run in runs if len(run.items) == 160]
    tables = {table.name: table for table in variant_tables(papers)}
    return draw([("eight items of each page", tables["memories_by_trials"])])


def taken():
    """Yield the content of every file that `make pictures` writes, with its path."""
    with closing(Browser()) as browser:
        for task in installed_tasks():
            yield PAGES / f"{task}.png", look_at(browser, task)
    yield GALLERY, gallery().encode()
    yield DOCS / "memories.svg", memories().encode()
    with TemporaryDirectory() as name:
        for report, args in REPORTS.items():
            write_report(Path(name, report), args)
        window = Window()
        try:
            for path, (report, place, height) in REPORT_PICTURES.items():
                window.open(Path(name, report), place)
                window.driver.execute_script(FONTS)
                yield path, compact(read(window.picture(height)))
        finally:
            window.driver.quit()


def write_report(folder, args):
    """Replay shipped items with a report; items that are not solved are wanted, too."""
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", f"--miniwob-report={folder}", *args],
        cwd=ROOT, env={**os.environ, "PYTEST_ADDOPTS": SUITE_RUNS},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not (folder / "data" / "items").exists():
        sys.exit(f"The report of {' '.join(args)} was not written:\n{result.stdout}{result.stderr}")


def is_stale(path, content):
    """Return if a file is missing or shows something else than this content."""
    if not path.exists():
        return True
    before = path.read_bytes()
    return before != content and (path.suffix != ".png" or changed(before, content))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one is stale")
    check = parser.parse_args().check
    stale, made = [], set()
    for path, content in taken():
        made.add(path)
        if is_stale(path, content):
            stale.append(path)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
    for path in sorted(set(PAGES.glob("*.png")) - made):  # of tasks that are gone
        stale.append(path)
        if not check:
            path.unlink()
    for path in stale:
        print(path.relative_to(ROOT))
    if check and stale:
        sys.exit("These no longer show what is there: `make pictures` makes them again.")
    print(f"{len(made)} files, {len(stale)} of them changed")


if __name__ == "__main__":
    main()
