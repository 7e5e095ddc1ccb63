"""Pictures of requests beside the cassettes: recording, matching, drift, and the folder."""

import contextlib
import json
from pathlib import Path

import pytest
from PIL import Image
from support.drawn_pictures import chat_body, opened, page_with_button

from pytest_miniwob_agent import Drift, Limits, Pending
from pytest_miniwob_agent.cassettes.deferred import read_pending, take_answers, update_pending
from pytest_miniwob_agent.cassettes.files import ItemFiles
from pytest_miniwob_agent.cassettes.folder import Used
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.recording import RecordedModel, Server
from pytest_miniwob_agent.cassettes.upkeep import count_calls, lint_folder, prunable_files
from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.secrets import find
from pytest_miniwob_agent.models.apis import CHAT
from pytest_miniwob_agent.models.requests import read_completion
from pytest_miniwob_agent.pictures import encode_png, pixel_digest

STEM = "looker/m/click-menu-2/1"
ANSWER = {"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "A"}}]}
PNG = page_with_button()
DIGEST = pixel_digest(opened(PNG))


class Answering:
    """A server whose answers are all the same."""

    def post(self, request, origin):
        return ModelResponse(json.dumps(ANSWER).encode())


def item(folder, record=Record.NONE):
    files = ItemFiles(folder, STEM, record, state=folder / "state")
    return RecordedModel(files, Server(lambda count: Answering()), "m", {})


def record(folder, *bodies):
    llm = item(folder, Record.NEW_EPISODES)
    with contextlib.closing(llm.files):
        for body in bodies:
            llm.post(ModelRequest(CHAT, body))
        llm.finish(Limits())
    return (folder / f"{STEM}.yaml").read_text("utf-8")


def replay(folder, body, record=Record.NONE):
    llm = item(folder, record)
    with contextlib.closing(llm.files):
        return read_completion(llm.post(ModelRequest(CHAT, body))).text


def drift(folder, body):
    with pytest.raises(Drift) as error:
        replay(folder, body)
    return error.value


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record(tmp_path, chat_body(PNG))
    return tmp_path


@pytest.fixture
def picture(recorded):
    return recorded / "pictures" / f"{DIGEST}.png"


def test_a_picture_is_kept_once_and_named_in_the_cassette(tmp_path):
    text = record(tmp_path, chat_body(PNG), chat_body(PNG, PNG, text="And now?"))
    assert text.count(f"url: pictures/{DIGEST}.png\n") == 3
    assert len(text) < 2_500
    [file] = (tmp_path / "pictures").iterdir()
    assert pixel_digest(opened(file.read_bytes())) == file.stem == DIGEST
    [row] = count_calls(tmp_path, tmp_path / "unused").values()
    assert row.pictures == {DIGEST: file.stat().st_size}


def test_a_recorded_call_is_replayed_by_equal_pixels_however_they_are_compressed(recorded):
    again = opened(PNG)
    assert replay(recorded, chat_body(encode_png(again))) == "A"
    drift(recorded, chat_body(page_with_button(42)))
    drift(recorded, chat_body(PNG, text="What else?"))
    drift(recorded, chat_body(PNG, PNG))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "is missing"),
        (page_with_button(41), "was changed: its pixels do not"),
        (b"\x89PNG", "is damaged"),
        (lambda: encode_png(Image.new("1", (14_000, 14_000))), "is damaged"),  # 588 MB as RGB
    ],
)
def test_a_missing_or_changed_picture_is_found_with_how_to_get_it_back(
    recorded, picture, content, problem
):
    picture.unlink()
    if content is not None:
        picture.write_bytes(content() if callable(content) else content)
    [finding] = lint_folder(Used(recorded, {STEM}))
    assert finding.kind == "damaged"
    for text in (problem, f"Restore it (git checkout -- pictures/{DIGEST}.png)"):
        assert text in finding.what


def test_a_button_moved_by_two_pixels_is_drift_that_shows_where(recorded, picture):
    error = drift(recorded, chat_body(page_with_button(42)))
    [changed] = error.pictures
    where = "128 of 33,600 pixels differ, by 137 of 255 at most, in the 62 x 22 pixels at 40,100"
    assert changed.what == where
    assert changed.recorded == f"pictures/{DIGEST}.png"
    assert opened(Path(changed.present).read_bytes()).tobytes() == (
        opened(page_with_button(42)).tobytes()
    )
    assert opened(Path(changed.difference).read_bytes()).getpixel((40, 110)) == (220, 0, 0)
    for line in (f"picture 1: {where}", changed.recorded, changed.present, changed.difference):
        assert line in str(error)
    assert [cause.kind for cause in error.causes] == ["page"]
    assert where in error.causes[0].what
    [added] = drift(recorded, chat_body(PNG, page_with_button(42))).pictures
    assert (added.number, added.what, added.recorded) == (2, "added", None)


def test_a_deferred_request_carries_its_pictures_and_its_answer_keeps_them(tmp_path):
    with pytest.raises(Pending) as waiting:
        replay(tmp_path, chat_body(PNG), Record.DEFER)
    assert not (tmp_path / "pictures").exists()
    pending, answers = tmp_path / "pending.jsonl", tmp_path / "answers.jsonl"
    update_pending(pending, {STEM}, [waiting.value.request])
    [line] = read_pending(pending).values()
    assert line["body"] == chat_body(PNG)
    answer = {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": ANSWER}}
    answers.write_text(json.dumps(answer), encoding="utf-8")
    assert take_answers(answers, pending, tmp_path) == ["1 completion recorded"]
    [again] = take_answers(answers, pending, tmp_path)
    assert again.endswith("1 recorded before")
    assert replay(tmp_path, chat_body(PNG), Record.DEFER) == "A"
    assert (tmp_path / "pictures" / f"{DIGEST}.png").exists()


def test_lint_and_prune_find_pictures_that_no_cassette_refers_to(recorded, picture):
    used = Used(recorded, {STEM})
    assert lint_folder(used) == []
    assert prunable_files(used) == []
    left = recorded / "pictures" / f"{'0' * 16}.png"
    left.write_bytes(PNG)
    half = recorded / "pictures" / f".{DIGEST}.png.77"
    half.write_bytes(b"")
    found = [(finding.kind, finding.path) for finding in lint_folder(used)]
    assert found == [("orphan", left), ("stray", half)]
    assert prunable_files(used) == [left, half]
    # A picture goes together with the last cassette that refers to it.
    cassette_path = recorded / f"{STEM}.yaml"
    assert prunable_files(Used(recorded, {"looker/m/other/1"})) == [
        cassette_path, left, picture, half,
    ]  # fmt: skip
    # Also a damaged cassette may be restored.
    cassette_path.write_text(cassette_path.read_text("utf-8")[:-20], encoding="utf-8")
    assert picture not in prunable_files(used)


def test_a_secret_beside_a_picture_is_found_and_the_letters_of_a_picture_are_none():
    key = "AKIA" + "QWERTYUIOPASDFGH"
    letters = f"iVBORw0KGgo+/{key}/AA"
    assert find(chat_body(PNG, text=f"key {key}"))
    assert find({"source": {"media_type": "image/png", "data": f"{letters} {key}"}})
    for data in (letters, f"data:image/png;base64,{letters}="):
        assert not find({"source": {"media_type": "image/png", "data": data}})
