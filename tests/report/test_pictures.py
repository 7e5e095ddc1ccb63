"""Pictures in a report (`--miniwob-trace`), of pages that are fakes."""

import pytest
from support.made_report import ONE, TWO, content, items, looks, pictures

from pytest_miniwob_agent.plugins.report.folder import Report


def test_off_takes_no_picture_and_on_takes_one_before_each_action(pictured):
    pictured.runpytest("--miniwob-report=report", "--miniwob-trace=off")
    assert looks(pictured) == []
    assert not (pictured.path / "report" / "pictures").exists()
    pictured.runpytest("--miniwob-report=report", "--miniwob-trace=on")
    assert looks(pictured) == ["click id=1", "click id=2"] * 2
    for item in items(pictured.path / "report").values():
        assert pictures(item) == [(1, 0), (1, 1)]
        assert item["frames"][0]["picture"]["points"] == [[5, 6]]


def test_retain_on_failure_takes_pictures_of_unsolved_items_only(pictured):
    pictured.runpytest("--miniwob-report=report")
    assert looks(pictured) == ["click id=1", "click id=2"]
    found = items(pictured.path / "report")
    assert pictures(found[TWO]) == []
    assert pictures(found[ONE]) == [(1, 0), (1, 1)]
    names = {frame["picture"]["name"] for frame in found[ONE]["frames"][:2]}
    assert {path.name for path in pictured.path.glob("report/pictures/*")} == names


@pytest.mark.sweep
def test_workers_take_the_same_pictures_and_write_the_same_report(pictured):
    pictured.runpytest("--miniwob-report=alone")
    alone = looks(pictured)
    pictured.runpytest_subprocess("--miniwob-report=workers", "-n", "2")
    assert looks(pictured) == alone * 2
    assert content(pictured.path / "workers") == content(pictured.path / "alone")


def test_a_drifted_item_has_pictures_up_to_the_call_that_misses(pictured):
    [cassette] = pictured.path.glob("cassettes/**/click-menu-2/2.yaml")
    cassette.write_text(cassette.read_text().replace("Say in one short", "Say in a short"))
    pictured.runpytest("--miniwob-report=report", "-k", TWO)
    [item] = items(pictured.path / "report").values()
    assert item["status"] == "drifted"
    assert "The most similar is call" in item["reason"]
    assert pictures(item) == [(1, 0), (1, 1)]
    assert looks(pictured) == ["click id=1", "None"]


def test_a_recording_is_neither_changed_nor_paid_for_twice(pictured, chat_server):
    cassettes = []
    for trace in ("off", "retain-on-failure"):
        chat_server.requests.clear()
        pictured.record("--miniwob-report=report", f"--miniwob-trace={trace}", mode="all")
        assert len(chat_server.requests) == 6
        [folder] = pictured.path.glob("cassettes/**/click-menu-2")
        assert {path.name for path in folder.iterdir()} == {"1.yaml", "2.yaml"}
        cassettes.append((folder / "1.yaml").read_text().count("Open the menu"))
    assert cassettes[0] == cassettes[1]
    assert looks(pictured) == ["click id=1", "click id=2"]


@pytest.mark.parametrize(
    ("behaviour", "note"),
    [("shy", "did something else"), ("blind", "described here: ValueError: no eyes")],
)
def test_a_replay_for_pictures_that_differs_or_fails_is_noted(pictured, behaviour, note):
    pictured.path.joinpath(behaviour).touch()
    pictured.runpytest("--miniwob-report=report").assert_outcomes(passed=1, failed=1)
    found = items(pictured.path / "report")
    assert note in found[ONE]["note"]
    assert (found[ONE]["status"], found[TWO]["note"]) == ("unsolved", "")


@pytest.mark.parametrize("trace", ["on", "retain-on-failure"])
def test_pictures_that_can_not_be_written_are_noted_and_leave_the_results(pictured, trace):
    folder = pictured.path / "report"
    Report(folder).prepare()
    (folder / "pictures").write_text("mine")
    result = pictured.runpytest("--miniwob-report=report", f"--miniwob-trace={trace}")
    result.assert_outcomes(passed=1, failed=1)
    item = items(folder)[ONE]
    assert (item["status"], pictures(item)) == ("unsolved", [])
    assert item["note"].startswith("Pictures are missing, as they can't be written: ")


def test_an_item_without_a_cassette_has_no_pictures_but_the_reason(pictured):
    with pictured.test_file.open("a") as file:
        file.write(
            "\nfrom pytest_miniwob_agent.testing import ScriptedLLM\n\n"
            "@pytest.fixture\ndef miniwob_llm():\n    return ScriptedLLM(['DONE'])\n"
        )
    pictured.runpytest("--miniwob-report=report")
    for item in items(pictured.path / "report").values():
        assert "Run it with --miniwob-trace=on" in item["note"]
    assert looks(pictured) == []
