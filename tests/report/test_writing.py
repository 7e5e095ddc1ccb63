"""Runs that write a report: its files, its folder, and what it says of each item."""

import re
import shutil

import pytest
from support.made_report import ONE, TWO, content, index, items, looks

from pytest_miniwob_agent.plugins.report.folder import Report


def test_a_run_writes_a_file_for_each_item_and_shows_where(pictured):
    result = pictured.runpytest("--miniwob-report=out/report")
    result.stdout.fnmatch_lines(["report: out/report/index.html"])
    folder = pictured.path / "out" / "report"
    assert [row["id"] for row in index(folder)["items"]] == [ONE, TWO]
    item = items(folder)[TWO]
    assert item["status"] == "solved"
    actions = [frame.get("action", {}).get("text") for frame in item["frames"]]
    assert actions == ["click id=1", "click id=2", None]
    assert item["frames"][-1]["end"]["ending"] == "correct"


def test_an_earlier_report_is_replaced_and_other_files_stay(pictured):
    pictured.runpytest("--miniwob-report=report", "--miniwob-trace=on")
    folder = pictured.path / "report"
    assert len(list(folder.glob("pictures/*.png"))) == 2
    (folder / "mine.txt").write_text("mine")
    pictured.runpytest("--miniwob-report=report", "-k", TWO)
    found = {name for name in content(folder) if not name.startswith("scripts/")}
    data = {"data/index.js", f"data/items/{TWO}.js"}
    assert found == {"index.html", "report.css", "mine.txt", *data}
    assert [row["id"] for row in index(folder)["items"]] == [TWO]


@pytest.mark.parametrize("name", ["report", "report/mine.txt"], ids=["file", "folder"])
def test_a_folder_with_other_files_is_refused(project, name):
    path = project.path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    result = project.runpytest("--miniwob-report=report")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--miniwob-report: *report *; name a*folder*"])
    shown = project.runpytest("--miniwob-report=report", "--collect-only")  # writes none
    assert shown.ret == pytest.ExitCode.OK
    assert path.read_text() == "mine"


def test_a_run_that_was_interrupted_is_marked_so(pictured):
    for args, items_, broken in ((["-x"], 1, True), ([], 2, False)):
        pictured.runpytest("--miniwob-report=report", "--miniwob-trace=off", *args)
        data = index(pictured.path / "report")
        assert (len(data["items"]), data["broken"]) == (items_, broken)


def test_a_folder_that_can_not_be_made_stops_the_run_at_its_start(pictured):
    pictured.path.joinpath("afile").touch()
    result = pictured.runpytest("--miniwob-report=afile/sub")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--miniwob-report: *afile/sub can't be written: *"])
    assert looks(pictured) == []


def test_a_report_that_can_not_be_written_fails_the_run_after_its_other_steps(pictured):
    folder = pictured.path / "report"
    Report(folder).prepare()
    shutil.rmtree(folder / "data")
    (folder / "data").write_text("mine")
    result = pictured.runpytest("--miniwob-report=report", "--miniwob-results=out.jsonl", "-k", TWO)
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*--miniwob-report: *report can't be written: *"])
    result.stdout.no_fnmatch_line("report: *")
    assert (pictured.path / "out.jsonl").exists()


def test_an_item_that_is_not_recorded_has_the_reason_and_its_frames(pictured):
    pictured.runpytest("--miniwob-report=report", "--miniwob-seeds=3")
    [item] = items(pictured.path / "report").values()
    assert item["status"] == "error"
    assert re.match(r"there is no cassette .*\nRecord it with: pytest", item["reason"])
    assert "report" not in item["reason"]
    assert [(frame["trial"], frame["step"]) for frame in item["frames"]] == [(1, 0)]


def test_items_that_wait_say_so_and_pages_without_pictures_have_a_note(project):
    project.runpytest("--miniwob-report=report", "--miniwob-record=defer")
    for item in items(project.path / "report").values():
        assert (item["status"], item["reason"]) == ("waiting", "It waits for a completion.")
        assert "the page has no method look(action)" in item["note"]


def test_an_error_before_the_episode_is_the_reason(pictured):
    with pictured.test_file.open("a") as file:
        file.write("\n@pytest.fixture\ndef miniwob_limits():\n    raise OSError('no disk <b>')\n")
    pictured.runpytest("--miniwob-report=report", "-k", TWO)
    [item] = items(pictured.path / "report").values()
    assert (item["status"], item["reason"]) == ("error", "OSError: no disk <b>")


def test_a_regression_is_marked(pictured):
    broken = pictured.path / "broken"
    broken.unlink()
    pictured.runpytest("--miniwob-results=before.jsonl").assert_outcomes(passed=2)
    broken.touch()
    pictured.runpytest("--miniwob-baseline=before.jsonl", "--miniwob-report=report")
    found = items(pictured.path / "report")
    assert (found[ONE]["change"], found[TWO]["change"]) == ("regressed", "")
    assert found[ONE]["before"] == {"solved": 1, "samples": 1, "text": "solved in trial 1"}
    data = index(pictured.path / "report")
    assert data["judged"]
    assert (data["gate"]["name"], data["gate"]["decision"]) == ("items", "failed")
