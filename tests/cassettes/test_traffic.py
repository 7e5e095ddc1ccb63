"""The traffic of apps in the cassette folder: what is found, removed, counted and shown."""

import base64
import gzip
import json

import pytest
from support.damage import damaged
from support.projects import ROOT

from pytest_miniwob_agent import CassetteError
from pytest_miniwob_agent.cassettes import traffic as traffic_module
from pytest_miniwob_agent.cassettes.folder import Used, find_cassette
from pytest_miniwob_agent.cassettes.format import write_cassette
from pytest_miniwob_agent.cassettes.traffic import Bodies, Exchange, Traffic, Trial
from pytest_miniwob_agent.cassettes.upkeep import (
    count_calls,
    lint_folder,
    prunable_files,
    shown_calls,
)
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.observations import SCREEN_VERSION

from .cassette_files import ORIGIN, make_call, plant

STEM = "tools/m/add-note/1"
KEY = "AKIA" + "AB12" * 4
HTML = [("Content-Type", "text/html")]


def record(folder, body=b"<h1>Notes</h1>", sent="text=milk", later=b"later"):
    bodies = Bodies(folder)
    digest = bodies.write(body)
    url = "http://app.localhost/notes"
    exchanges = [
        Exchange(0, "Document", "GET", url, status=200, headers=HTML, body=digest),
        Exchange(1, "Fetch", "POST", url, "0" * 32, sent, status=204),
        Exchange(1, "Fetch", "GET", f"{url}/slow"),
        Exchange(1, "Fetch", "GET", f"{url}/cut", failed=True),
    ]
    message = {"socket": 1, "type": "message", "body": bodies.write(later), "after": 3, "at": 0}
    trial = Trial("Add milk.", "/", 1.0, 2)
    trial.exchanges, trial.messages = exchanges, [message]
    tape = Traffic(["http://app.localhost"])
    tape.trials.append(trial)
    traffic = plant(folder.parent, f"{folder.name}/{STEM}.traffic.jsonl", tape.dump())
    return traffic, bodies.path(digest)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "cassettes"
    write_cassette(folder / f"{STEM}.yaml", [make_call("Add milk.", origin=ORIGIN)])
    record(folder)
    return folder


def found_in(folder):
    return [(each.kind, each.path.name, each.what) for each in lint_folder(Used(folder, {STEM}))]


def test_an_item_with_traffic_has_no_findings(folder):
    assert found_in(folder) == []
    assert prunable_files(Used(folder, {STEM})) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "is missing"), (b"\x1f\x8b\x08garbage that is no body", "is damaged"), ("", "changed")],
)
def test_a_missing_or_changed_body_is_found_with_how_to_get_it_back(folder, content, problem):
    traffic, body = record(folder)
    if content is None:
        body.unlink()
    else:
        body.write_bytes(content or Bodies(folder).path(Bodies(folder).write(b"x")).read_bytes())
    [damage, *_] = found_in(folder)
    assert damage[:2] == ("damaged", traffic.name)
    assert problem in damage[2]
    assert "git checkout -- cassettes/bodies/" in damage[2]


def test_no_more_of_a_body_is_unpacked_than_a_recording_takes(folder, monkeypatch):
    monkeypatch.setattr(traffic_module, "LARGEST", 1_000)
    record(folder, bytes(1_001))
    assert "is too large for a recording" in found_in(folder)[0][2]
    record(folder, bytes(1_000))
    assert ("damaged", "1.traffic.jsonl") not in [each[:2] for each in found_in(folder)]


def test_traffic_that_can_not_be_read_is_found_and_its_bodies_stay(folder):
    traffic, _ = record(folder)
    traffic.write_text(traffic.read_text()[:-20])
    [(kind, name, what)] = found_in(folder)
    assert (kind, name) == ("damaged", traffic.name)
    assert "can't be read" in what
    assert "record the item again" in what


GET = '{"step": 1, "kind": "Fetch", "method": "GET", "url": "u"'
MESSAGE = '{"socket": 1, "type": "message", "after": 3, "at": 0}'
ANSWER = '{"socket": 1, "type": "answer", "after": 3, "at": 0, "status": 200, "stream": 0'


@pytest.mark.parametrize(
    ("number", "text", "problem"),
    [
        (1, '{"schema": 1, "origins": []}', "`origins`"),
        (1, '{"schema": 1, "origins": ["file:///etc"]}', "`origins[0]`"),
        (1, '{"schema": 1, "origins": ["http://a.localhost"], "clock": 1e99}', "`clock` can't be"),
        (2, MESSAGE, "no trial has begun"),
        (2, '{"goal": "Add milk."}', "start"),
        (3, "[" * 100_000, "recursion"),
        (3, '{"kind": "Fetch"}', "missing"),
        (4, f'{GET}, "headers": -1}}', "`headers`"),
        (4, f'{GET}, "status": true}}', "`status`"),
        (4, f'{GET}, "body": "../../x"}}', "`body`"),
        (6, MESSAGE.replace("0", "1e999"), "`at`"),
        (6, MESSAGE.replace("0", "NaN"), "`at`"),
        (6, MESSAGE.replace('"socket": 1, ', ""), "`socket` is missing"),
        (6, MESSAGE.replace("}", ', "binary": true, "data": "?"}'), "base64"),
        (6, f"{ANSWER}}}", "`body` is missing"),
        (6, f'{ANSWER}, "body": "", "headers": ["a: b"]}}', "`headers[0]`"),
        (7, '{"reward": 1e9, "questions": 1}', "`reward`"),
        (7, '{"reward": NaN}', "`reward`"),
        (7, '{"reward": 1, "exchanges": []}', "`exchanges`"),
    ],
)
def test_a_wrong_value_is_found_with_its_line(folder, number, text, problem):
    traffic, _ = record(folder)
    lines = traffic.read_text().splitlines()
    lines[number - 1] = text
    traffic.write_text("\n".join(lines) + "\n")
    [(kind, name, what), *_] = found_in(folder)
    assert (kind, name) == ("damaged", traffic.name)
    assert f"cassettes/{STEM}.traffic.jsonl:{number} can't be read: " in what
    assert problem in what


EVENT = {
    "data": "AA==", "binary": True, "name": "news", "last": "7", "retry": 1, "fatal": False,
    "protocol": "", "code": 1000, "reason": "", "turn": 1,
}  # fmt: skip
MORE = {"screens": 1, "clock": 2e9, "code": {"reward": "ab12"}, "allow": ["a"]}


def test_any_part_of_another_type_is_found_with_its_line_and_path(folder):
    traffic, _ = record(folder)
    lines = [json.loads(line) for line in traffic.read_text().splitlines()]
    lines[0] |= MORE
    lines[6] |= EVENT
    lines.insert(7, json.loads(f'{ANSWER}, "body": "", "headers": [["a", "b"]]}}'))
    lines[8] |= {"made": 4}
    traffic.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(Traffic.load(traffic).trials[0].messages) == 2
    for number, line in enumerate(lines):
        for path, changed in damaged(line):
            others = [*lines[:number], changed, *lines[number + 1 :]]
            traffic.write_text("".join(json.dumps(other) + "\n" for other in others))
            with pytest.raises(CassetteError) as error:
                Traffic.load(traffic)
            place = f".traffic.jsonl:{number + 1} can't be read: "
            assert f"{place}`{path[1:]}`" in str(error.value) or path in ("", ".schema")


def test_keys_are_found_in_requests_and_in_bodies(folder):
    record(folder, f"<p>{KEY}</p>".encode(), f"key={KEY}", KEY.encode())
    said = [what for kind, _, what in found_in(folder) if kind == "leak"]
    assert said == [
        "AWS key in line 4: revoke the key, then record again",
        "AWS key in the answer to GET /notes at step 0: revoke the key, then record again",
        "AWS key in message 1 of trial 1: revoke the key, then record again",
    ]


def test_keys_are_found_in_what_hides_them_unless_the_tape_says_that_they_are_none(folder):
    sent = base64.b64encode(f"key={KEY}".encode()).decode()
    traffic, _ = record(folder, gzip.compress(KEY.encode()), sent, KEY.encode("utf-16"))
    said = [what.partition(":")[0] for kind, _, what in found_in(folder) if kind == "leak"]
    assert said == [
        "AWS key in Base64 in line 4",
        "AWS key unpacked in the answer to GET /notes at step 0",
        "AWS key between zeros in message 1 of trial 1",
    ]
    tape = Traffic.load(traffic)
    tape.allow = [r"AKIA\w+"]
    traffic.write_text(tape.dump())
    assert {kind for kind, *_ in found_in(folder)} == {"orphan"}  # the bodies of before


def test_a_tape_is_written_as_it_was_read(folder):
    shipped = [*ROOT.glob("examples/*/cassettes/**/*.traffic.jsonl")]
    assert shipped
    for tape in (*shipped, folder / f"{STEM}.traffic.jsonl"):
        assert Traffic.load(tape).dump() == tape.read_text("utf-8")
    tape.write_text(Traffic(["http://app.localhost"], screens=SCREEN_VERSION).dump())
    assert Traffic.load(tape).screens == SCREEN_VERSION


def test_traffic_without_a_cassette_is_a_note(folder):
    (folder / f"{STEM}.yaml").unlink()
    [finding] = lint_folder(Used(folder, {STEM}))
    assert (finding.kind, finding.note) == ("alone", True)
    shown = shown_calls(find_cassette(folder, "add-note/1", list))
    assert "GET /notes" in next(shown)


def test_bodies_and_halves_of_files_that_nothing_uses_are_removed(folder):
    traffic, body = record(folder)
    bodies = Bodies(folder)
    left = bodies.path(bodies.write(b"of a recording that was killed"))
    halves = [
        plant(folder, f"bodies/.{left.name}.77", ""),
        plant(folder, f"{STEM.rpartition('/')[0]}/.{traffic.name}.77", ""),
    ]
    assert {(kind, name) for kind, name, _ in found_in(folder)} == {
        ("orphan", left.name), *(("stray", half.name) for half in halves),
    }  # fmt: skip
    assert set(prunable_files(Used(folder, {STEM}))) == {left, *halves}
    removed = prunable_files(Used(folder, {"tools/m/other/1"}))
    assert {traffic, body, folder / f"{STEM}.yaml"} <= set(removed)


def test_requests_and_bytes_are_counted(folder, capsys):
    [((model, category), row)] = count_calls(folder, folder / "unused").items()
    assert (model, category) == ("tools/m", "apps")
    assert (row.items, row.usage.calls, row.exchanges, len(row.bodies)) == (1, 1, 4, 2)
    assert main(["cassettes", "stats"]) == 0
    assert "4 requests of apps of 0 kB" in capsys.readouterr().out


def test_requests_are_shown_beside_the_calls_at_their_steps(folder):
    before, call, _, after = shown_calls(folder / f"{STEM}.yaml")
    assert before.splitlines()[1:] == ["trial 1, step 0: GET /notes: 200 text/html"]
    assert call.startswith("=== call 1")
    assert after.splitlines()[1:] == [
        "trial 1, step 1: POST /notes text=milk: 204",
        "trial 1, step 1: GET /notes/slow: no answer",
        "trial 1, step 1: GET /notes/cut: a network error",
    ]
