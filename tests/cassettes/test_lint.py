"""The problems that `miniwob-agent cassettes lint` finds, and the folders that it leaves alone."""

import pytest
from cassette_files import make_call, plant

from pytest_miniwob_agent.cassettes.folder.lint import lint_folder, unchecked_folders
from pytest_miniwob_agent.cassettes.folder.stems import Used
from pytest_miniwob_agent.cassettes.format.file import dump_cassette

STEMS = {"reflective/m/click-menu-2/1", "reflective/m/click-menu-2/2"}
GOOD = dump_cassette([make_call("The goal")])
LINE = GOOD[: GOOD.index("The goal")].count("\n") + 1


@pytest.fixture
def used(tmp_path):
    """A folder with the cassettes of the two items that use it."""
    for stem in STEMS:
        plant(tmp_path, f"{stem}.yaml")
    return Used(tmp_path, STEMS)


def findings(used):
    return [
        (str(finding.path.relative_to(used.folder)), finding.kind, finding.note)
        for finding in lint_folder(used)
    ]


def test_a_folder_of_good_cassettes_has_no_findings(used):
    assert lint_folder(used) == []


@pytest.mark.parametrize(
    ("name", "text", "kind", "explanation"),
    [
        ("click-menu-2/9.yaml", GOOD, "orphan", "no item uses it"),
        ("gone-task/1.yaml", GOOD, "orphan", "no item uses it"),
        ("click-menu-2/9.partial.yaml", GOOD, "orphan", "no item uses it"),
        ("click-menu-2/1.yaml", "<<<<<<< HEAD\n" + GOOD, "damaged", "a git conflict is not"),
        ("click-menu-2/9.yaml", "", "damaged", "it is empty"),
        ("click-menu-2/.1.yaml.77", GOOD, "stray", "left by a write that was killed"),
        (
            "click-menu-2/1.yaml",
            GOOD.replace("schema: 1\n", ""),
            "damaged",
            "its schema is None instead of 1",
        ),
        (
            "click-menu-2/1.yaml",
            GOOD.replace("The goal", "The key is AKIA" + "AB12" * 4),
            "leak",
            f"AWS key in line {LINE}: revoke the key, then record again",
        ),
        (
            "click-menu-2/1.yaml",
            GOOD.replace("The goal", '"\\u0041KIA' + "AB12" * 4 + '"'),
            "leak",
            "AWS key in line 4: revoke the key, then record again",
        ),
        (
            "click-menu-2/1.yaml",
            GOOD.replace("The goal", '"one\\\n      \\n\\tAKIA' + "AB12" * 4 + '"'),
            "leak",
            f"AWS key in line {LINE + 1}: revoke the key, then record again",
        ),
        (
            "click-menu-2/1.yaml",
            GOOD.replace("request:", "request:  # AKIA" + "AB12" * 4),
            "leak",
            "AWS key in line",
        ),
    ],
    ids=[
        "seed without an item",
        "task without an item",
        "partial file without an item",
        "git conflict",
        "empty",
        "left by a killed write",
        "no schema",
        "key",
        "key that is written with an escape",
        "key behind escapes, on a further line",
        "key in a comment",
    ],
)
def test_a_problem_of_a_file_is_found(used, name, text, kind, explanation):
    path = plant(used.folder, f"reflective/m/{name}", text)
    [finding] = [finding for finding in lint_folder(used) if not finding.note]
    assert (finding.kind, finding.path) == (kind, path)
    assert explanation in finding.what
    assert "AKIA" not in finding.what


def test_unused_calls_are_a_note_and_are_searched_for_keys(used):
    path = plant(used.folder, "reflective/m/click-menu-2/1.unused.yaml", GOOD)
    [unused] = lint_folder(used)
    assert (unused.kind, unused.path, unused.note) == ("unused", path, True)
    assert unused.what.startswith("1 call that the item does not make now; recording takes")
    path.write_text(GOOD.replace("The goal", "The key is AKIA" + "AB12" * 4))
    assert [finding.kind for finding in lint_folder(used)] == ["leak", "unused"]


def test_an_unfinished_recording_is_a_note(used):
    plant(used.folder, "reflective/m/click-menu-2/2.partial.yaml", GOOD)
    [broken_off] = lint_folder(used)
    assert (broken_off.kind, broken_off.note) == ("broken off", True)
    assert broken_off.what == "an unfinished recording; recording the item continues it"


def test_folders_of_agents_and_models_without_items_are_not_checked(used):
    plant(used.folder, "reflective/other/click-menu-2/1.yaml")
    assert lint_folder(used) == []
    assert unchecked_folders(used) == {"reflective/other": 1}
    other = Used(used.folder, {"reflective/other/click-menu-2/7"})
    assert findings(other) == [("reflective/other/click-menu-2/1.yaml", "orphan", False)]
    assert unchecked_folders(other) == {"reflective/m": 2}


def test_cassettes_of_a_users_own_tests_are_ignored(used):
    plant(used.folder, "test_mine/test_weather.yaml", "interactions: []\nversion: 1\n")
    assert lint_folder(used) == []
    assert unchecked_folders(used) == {}
