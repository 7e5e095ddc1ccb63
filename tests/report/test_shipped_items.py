"""Reports of shipped items, which are replayed in a real browser.

Their pages are also photographed for people to look at, at two widths and in both themes: into a
temporary folder, or the one that MINIWOB_ARTEFACTS names.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.made_report import items, pictures
from support.projects import ROOT, SUITE_RUNS

pytestmark = [pytest.mark.integration, pytest.mark.sweep]

FEW = "click-menu-2/1001 or click-scroll-list/1000 or email-inbox/1000"
"""Selects items that open menus, scroll and type."""

FEW_STEPS = ("--miniwob-steps=4", "--miniwob-trials=1", "-o", "miniwob_baseline=")
"""Too few for the one that scrolls, which is not solved then."""


def replay(folder, selected, *args, status=pytest.ExitCode.OK):
    events = folder / "events.json"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/test_suite.py", "-k", selected,
         "-p", "support.plugins.events", *args],
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": SUITE_RUNS, "PYTHONPATH": str(ROOT / "tests"),
             "EVENTS": str(events), "SLEPT": str(folder / "slept.txt")},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert result.returncode == status, result.stdout
    outcomes = json.loads(events.read_text())
    return {id_: outcome["episode"] for id_, (_, outcome) in outcomes.items()}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    report = folder / "report"
    args = (FEW, *FEW_STEPS, f"--miniwob-report={report}")
    failed = pytest.ExitCode.TESTS_FAILED
    return report, replay(folder, *args, "--miniwob-trace=on", status=failed)


def test_pictures_make_no_difference_to_what_happens(real, tmp_path):
    """Pictures of solved items; those of unsolved ones are of a second replay, and equal."""
    report = tmp_path / "report"
    args = (FEW, *FEW_STEPS, f"--miniwob-report={report}")
    assert replay(tmp_path, *args, status=pytest.ExitCode.TESTS_FAILED) == real[1]
    without, with_pictures = items(report), items(real[0])
    assert without
    assert without.keys() == with_pictures.keys()
    for id_, item in without.items():
        assert bool(pictures(item)) == (item["status"] == "unsolved")
        if not pictures(item):
            for frame in with_pictures[id_]["frames"]:
                frame.pop("picture", None)
        assert item == with_pictures[id_]
    # One has too few steps, and the goal of click-menu-2/1001 does not say what to click.
    assert sum(item["status"] == "unsolved" for item in without.values()) == 2


def test_pictures_show_where_actions_point(real):
    shown = items(real[0])
    assert shown
    for item in shown.values():
        for frame in item["frames"]:
            if not frame.get("action", {}).get("text", "").startswith(("click", "enter")):
                continue
            picture = frame["picture"]
            [[x, y]], [[left, top, width, height]] = picture["points"], picture["boxes"]
            assert left <= x <= min(left + width, picture["size"][0])
            assert top <= y <= min(top + height, picture["size"][1])


PAGES = {
    "overview": "#/",
    "item": "#/item/n-screen-n-step/click-menu-2/1001/2/1",
    "reflection": "#/item/n-screen-n-step/click-menu-2/1001/2/0",
    "typing": "#/item/n-screen-n-step/email-inbox/1000/1/2",
}


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_pages_are_drawn_for_people_to_look_at(window, real, tmp_path, width, theme):
    folder = Path(os.environ.get("MINIWOB_ARTEFACTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    window.look_like(width, theme)
    for name, place in PAGES.items():
        window.open(real[0], place)
        path = folder / f"{name}-{width}-{theme}.png"
        path.write_bytes(window.picture())
        assert path.stat().st_size > 10_000
        assert window.wide() == width
        assert window.problems() == []
