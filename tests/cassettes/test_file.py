"""The file of a cassette: what it looks like, that it comes back as it was, and damaged ones."""

import json
import string

import pytest
import vcr
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_miniwob_agent.cassettes.file import (
    Call,
    Serializer,
    dump_cassette,
    messages_text,
    read_cassette,
    write_cassette,
)
from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.events import Origin

ORIGIN = Origin("plan", 1, 0, {"plan.txt": "0" * 12, "actions.txt": "1" * 12}, "a" * 12, "b" * 12)


def call(prompt="one", text="click id=1", origin=ORIGIN):
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "temperature": 0}
    message = {"role": "assistant", "content": text}
    return Call(body, {"model": "m", "choices": [{"index": 0, "message": message}]}, origin)


def test_how_it_looks():
    text = dump_cassette([call("A prompt\nof two lines with ü and “quotes”.  \n\tEnd", "a\nb")])
    assert text == (
        "version: 1\n"
        "schema: 1\n"
        "interactions:\n"
        "- call:\n"
        "    purpose: plan\n"
        "    trial: 1\n"
        "    step: 0\n"
        "    prompts:\n"
        "      actions.txt: '111111111111'\n"
        "      plan.txt: '000000000000'\n"
        "    actions: aaaaaaaaaaaa\n"
        "    page: bbbbbbbbbbbb\n"
        "  request:\n"
        "    method: POST\n"
        "    uri: /v1/chat/completions\n"
        "    body:\n"
        "      model: m\n"
        "      messages:\n"
        "      - role: user\n"
        "        content: |-\n"
        "          A prompt\n"
        "          of two lines with ü and “quotes”.  \n"
        "          \tEnd\n"
        "      temperature: 0\n"
        "    headers: {}\n"
        "  response:\n"
        "    status:\n"
        "      code: 200\n"
        "      message: OK\n"
        "    headers:\n"
        "      Content-Type:\n"
        "      - application/json\n"
        "    body:\n"
        "      model: m\n"
        "      choices:\n"
        "      - index: 0\n"
        "        message:\n"
        "          role: assistant\n"
        "          content: |-\n"
        "            a\n"
        "            b\n"
        "...\n"
    )


def test_one_changed_word_is_one_changed_line():
    old, new = (dump_cassette([call(f"Some {word}\ntext")]).splitlines() for word in ("old", "new"))
    assert [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]] == [
        ("          Some old", "          Some new")
    ]


TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=" \t\n\r-:#|>'\"\\{}[]!&*%@`,?" + string.ascii_letters, max_size=60),
    st.text(alphabet="ab \n", max_size=20),
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(prompt="\x85", text="a\u2028b\x85")
@example(prompt=" \u2029'", text="\x07\n")
@example(prompt="\t\n", text=" \n\ta\n ")
@given(prompt=TEXTS, text=TEXTS)
def test_any_text_comes_back_as_it_was(tmp_path, prompt, text):
    path = tmp_path / "1.yaml"
    write_cassette(path, [call(prompt, text), call("last")])
    [back, _] = read_cassette(path)
    assert back.key == call(prompt, text).key
    assert back.text == text
    assert back.origin == ORIGIN
    # PyYAML's own parser, which is not the one that reads cassettes, sees the same.
    data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    assert data["interactions"][0]["request"]["body"]["messages"][0]["content"] == prompt


def test_vcrpy_loads_it_through_our_serializer(tmp_path):
    path = tmp_path / "1.yaml"
    write_cassette(path, [call("one", "click id=1"), call("two", origin=None)])
    recorder = vcr.VCR(serializer="miniwob")
    recorder.register_serializer("miniwob", Serializer())
    with recorder.use_cassette(str(path), record_mode="none") as cassette:
        assert [json.loads(request.body)["messages"] for request in cassette.requests] == [
            [{"role": "user", "content": "one"}],
            [{"role": "user", "content": "two"}],
        ]
        assert "click id=1" in cassette.responses[0]["body"]["string"].decode()


GOOD = dump_cassette([call("one\ntwo"), call("three")])


def replaced(old, new, count=1):
    assert old in GOOD
    return GOOD.replace(old, new, count)


def line_of(text):
    return GOOD[: GOOD.index(text)].count("\n") + 1


BODY, ANSWER = line_of("body:"), line_of("body:\n      model: m\n      choices")
REQUEST, LAST = line_of("  request:"), GOOD.count("\n")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", None, "it is empty"),
        (" \n\n", None, "it is empty"),
        ("interactions: [", 1, "no YAML"),
        (GOOD.replace("schema: 1", "schema: 1\n\tx"), 3, "no YAML"),
        (GOOD.replace("schema: 1", "schema: &a 1\nx: *b"), 3, "no YAML"),
        ("just words", None, "no list of interactions"),
        ("# a comment", None, "no list of interactions"),
        ("? [a]\n: b", None, "no plain data"),
        ("interactions: &a [*a]", None, "no plain data"),
        ("interactions: !!python/name:os.system x", None, "no plain data: could not"),
        ("a: 1", None, "no list of interactions"),
        (replaced("version: 1", "version: 2"), 1, "have version 1, not 2"),
        (replaced("schema: 1", "schema: 7"), 2, "schema 7 is not that of this version"),
        ("version: 1\nschema: 1\ninteractions: []\n...\n", 3, "it holds no call"),
        ("version: 1\ninteractions:\n- 1\n", 3, "call 1 is no mapping"),
        ("version: 1\ninteractions:\n- request: {}\n", 3, "lacks its request or its response"),
        (replaced("messages:", "massages:"), BODY, "request of call 1 holds no chat messages"),
        (replaced("choices:", "choice:"), ANSWER, "response of call 1 is no chat completion"),
        (
            replaced("content: click id=1", "content: 7"),
            ANSWER,
            "is no chat completion with a text",
        ),
        (replaced("purpose: plan", "porpoise: plan"), 4, "does not say where it comes from"),
        (replaced("trial: 1", "trial: one"), 4, "does not say where it comes from"),
        (GOOD[:-4], LAST - 1, "it is cut off"),
        (GOOD[: GOOD.rindex("id=1")], LAST - 1, "it is cut off"),
        (replaced("  request:", "<<<<<<< HEAD\n  request:"), REQUEST, "git conflict"),
        (replaced("  request:", "=======\n  request:"), REQUEST, "git conflict"),
        (replaced("  request:", ">>>>>>> main\n  request:"), REQUEST, "git conflict"),
    ],
)
def test_a_damaged_one_is_an_error_with_file_line_and_cure(tmp_path, text, line, what):
    path = tmp_path / "1.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CassetteError) as error:
        read_cassette(path)
    message = str(error.value)
    assert message.startswith(f"{path}:{line}: not a cass" if line else f"{path}: not a cass")
    assert what in message
    assert "git checkout" in message


@pytest.mark.parametrize("length", range(0, len(GOOD) - 1, 7))
def test_no_part_of_one_is_taken_for_the_whole(tmp_path, length):
    path = tmp_path / "1.yaml"
    path.write_text(GOOD[:length], encoding="utf-8")
    with pytest.raises(CassetteError):
        read_cassette(path)


def test_no_utf8(tmp_path):
    path = tmp_path / "1.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CassetteError, match="no UTF-8"):
        read_cassette(path)


def test_what_looks_like_a_conflict_inside_of_a_text_is_none(tmp_path):
    path = tmp_path / "1.yaml"
    prompt = "<<<<<<< HEAD\n=======\n>>>>>>> main"
    write_cassette(path, [call(prompt)])
    assert messages_text(read_cassette(path)[0].body) == prompt


def test_a_file_of_before_the_schema(tmp_path):
    path = tmp_path / "1.yaml"
    old = dump_cassette([call(origin=None)]).replace("schema: 1\n", "").removesuffix("...\n")
    path.write_text(old, encoding="utf-8")
    [only] = read_cassette(path)
    assert only.origin is None
    assert only.text == "click id=1"
