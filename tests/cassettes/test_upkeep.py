"""What `miniwob-agent cassettes` finds, removes and shows."""

import pytest
from support.answers import completion

from pytest_miniwob_agent import CassetteError
from pytest_miniwob_agent.cassettes.folder import Used
from pytest_miniwob_agent.cassettes.format import dump_cassette, write_cassette
from pytest_miniwob_agent.cassettes.tape import Call, Request
from pytest_miniwob_agent.cassettes.upkeep import (
    lint_folder,
    prunable_files,
    remove_files,
    shown_calls,
)
from pytest_miniwob_agent.models.apis import CHAT

from .cassette_files import BODY, MESSAGES, ORIGIN, make_call, plant

STEMS = {"reflective/m/click-menu-2/1", "reflective/m/click-menu-2/2"}
GOOD = dump_cassette([make_call("The goal")])
LINE = GOOD[: GOOD.index("The goal")].count("\n") + 1
KEY = "AKIA" + "AB12" * 4


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Leave out the unused calls of the folder that the tests are started in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def used(tmp_path):
    for stem in STEMS:
        plant(tmp_path, f"{stem}.yaml")
    return Used(tmp_path / "cassettes", STEMS, unused=tmp_path / "unused")


def test_a_folder_of_good_cassettes_has_no_findings(used):
    plant(used.folder, "test_mine/test_weather.yaml", "interactions: []\nversion: 1\n")
    plant(used.folder, "reflective/other/click-menu-2/1.yaml")
    assert lint_folder(used) == []
    [finding] = lint_folder(Used(used.folder, {"reflective/other/click-menu-2/7"}))
    assert (finding.path.parent.parent.name, finding.kind) == ("other", "orphan")


@pytest.mark.parametrize(
    ("name", "text", "kind", "explanation"),
    [
        ("click-menu-2/9.yaml", GOOD, "orphan", "no item uses it"),
        ("click-menu-2/9.partial.yaml", GOOD, "orphan", "no item uses it"),
        ("click-menu-2/1.yaml", "<<<<<<< HEAD\n" + GOOD, "damaged", "a git conflict is not"),
        ("click-menu-2/9.yaml", "", "damaged", "it is truncated"),
        ("click-menu-2/.1.yaml.77", GOOD, "stray", "left by a write that was killed"),
    ],
)
def test_a_problem_of_a_file_is_found(used, name, text, kind, explanation):
    path = plant(used.folder, f"reflective/m/{name}", text)
    [finding] = [finding for finding in lint_folder(used) if not finding.note]
    assert (finding.kind, finding.path) == (kind, path)
    assert explanation in finding.what


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("The goal", f"The key is {KEY}", f"line {LINE}"),
        ("The goal", f'"\\u0041{KEY[1:]}"', "call 1"),
        (
            "request:",
            f"request:  # {KEY}",
            f"line {GOOD[: GOOD.index('request:')].count(chr(10)) + 1}",
        ),
        ("schema: 1", f"schema: {KEY}", "line 2"),
    ],
    ids=["plain", "escaped", "in a comment", "in a damaged file"],
)
def test_a_key_is_found_and_not_shown(used, old, new, place):
    path = plant(used.folder, "reflective/m/click-menu-2/1.yaml", GOOD.replace(old, new))
    finding, *damage = lint_folder(used)
    assert (finding.kind, finding.path) == ("leak", path)
    assert finding.what == f"AWS key in {place}: revoke the key, then record again"
    assert [found.kind for found in damage] == ["damaged"] * (old == "schema: 1")


def test_many_files_are_checked_as_few_are(used):
    for number in range(3, 240):
        plant(used.folder, f"reflective/m/click-menu-2/{number}.yaml")
    last = plant(used.folder, "reflective/m/click-menu-2/999.yaml", GOOD.replace("goal", KEY))
    leak, *orphans = sorted(lint_folder(used), key=lambda finding: finding.kind)
    assert (leak.path, leak.what.split(":")[0]) == (last, f"AWS key in line {LINE}")
    assert {finding.kind for finding in orphans} == {"orphan"}
    assert len(orphans) == 238


def test_unused_calls_and_unfinished_recordings_are_notes(used):
    path = plant(used.unused, "reflective/m/click-menu-2/1.unused.yaml", GOOD)
    plant(used.folder, "reflective/m/click-menu-2/2.partial.yaml", GOOD)
    broken_off, unused = lint_folder(used)
    assert (unused.kind, unused.path, unused.note) == ("unused", path, True)
    assert unused.what == "1 call that the item no longer makes"
    assert (broken_off.kind, broken_off.note) == ("broken off", True)
    path.write_text(GOOD.replace("The goal", KEY))
    assert [finding.kind for finding in lint_folder(used)] == ["broken off", "leak", "unused"]


def test_only_files_that_no_item_uses_are_removed(tmp_path):
    folder, unused = tmp_path / "cassettes", tmp_path / "unused"
    kept = [
        plant(folder, "reflective/m/click-menu-2/1.yaml"),
        plant(folder, "reflective/m/click-menu-2/1.partial.yaml"),
        plant(folder, "reflective/other/click-menu-2/9.yaml"),
        plant(unused, "reflective/other/click-menu-2/1.unused.yaml"),
        plant(folder, "test_mine/test_weather.yaml", "interactions: []\nversion: 1\n"),
    ]
    removed = [
        plant(folder, "reflective/m/click-menu-2/9.partial.yaml"),
        plant(folder, "reflective/m/gone-task/1.yaml"),
        plant(unused, "reflective/m/click-menu-2/1.unused.yaml"),
        plant(folder, "reflective/m/click-menu-2/.1.yaml.77", "half"),
    ]
    paths = prunable_files(Used(folder, {"reflective/m/click-menu-2/1"}, unused=unused))
    assert paths == removed
    remove_files(folder, paths)
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in removed)
    assert not (folder / "reflective/m/gone-task").exists()
    remove_files(folder, kept)
    assert list(folder.iterdir()) == []  # the folder itself stays


def test_other_apis_streams_and_normalized_requests_are_shown_as_such(tmp_path):
    path = tmp_path / "1.yaml"
    stream = 'data: {"choices": [{"index": 0, "delta": {"content": "\\u001b[2JHi"}, "finish_reason": "length"}]}\n\ndata: [DONE]\n\n'  # noqa: E501
    normalized = ("messages[3].tool_call_id",)
    refused = completion("", refusal="I can't\nand won't.")
    refused["choices"].append(
        completion("Or so.", calls=[("click", {})])["choices"][0] | {"index": 1}
    )
    responses = {"output": [{"type": "message", "content": [{"text": "Yes."}]}], "model": "r"}
    write_cassette(
        path,
        [
            Call(Request(CHAT, {**BODY, "stream": True}, normalized), stream, ORIGIN),
            Call(Request(CHAT, {"messages": MESSAGES[1:2]}), completion("Yes."), ORIGIN),
            Call(Request(CHAT, BODY | {"n": 2, "tools": []}), refused, ORIGIN),
            Call(Request("/v1/responses", {"model": "m", "input": "Go on?"}), responses, ORIGIN),
        ],
    )
    first, streamed, text, _, second, two, third, last = shown_calls(path)
    assert "\nnormalized: messages[3].tool_call_id\n" in first
    assert streamed == "--- model, a stream ---\n [2JHi\nfinish reason: length"
    assert "tools" not in text
    assert "\ntools: none\n… 4 earlier messages" in second
    assert two == (
        "--- m, 11 + 3 tokens ---\nrefusal:\n  I can't\n  and won't.\n"
        "choice 2: Or so.\nchoice 2: click({})"
    )
    assert third == "=== call 4: plan, trial 1, step 0 ===\npath: /v1/responses\nGo on?"
    assert last == "--- r ---\nYes."


def test_a_folder_or_a_broken_link_in_the_place_of_a_cassette_is_named(tmp_path):
    (tmp_path / "a/m/t/1.yaml").mkdir(parents=True)
    with pytest.raises(CassetteError, match=r"1.yaml: not a readable cassette: .*Is a directory"):
        list(shown_calls(tmp_path / "a/m/t/1.yaml"))
    for name in ("2.yaml", "2.traffic.jsonl"):
        (tmp_path / "a/m/t" / name).symlink_to("nowhere")
    found = lint_folder(Used(tmp_path, ["a/m/t/1", "a/m/t/2"]))
    assert [finding.kind for finding in found if not finding.note] == ["damaged"] * 3
