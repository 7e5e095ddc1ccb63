"""The file of a cassette: its format, reading what was written, and damaged files."""

import string
from dataclasses import replace

import pytest
import vcr
import yaml
from cassette_files import ORIGIN, make_call
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from vcr.serialize import serialize

from pytest_miniwob_agent import CassetteError
from pytest_miniwob_agent.cassettes.format.file import (
    dump_cassette,
    read_cassette,
    write_cassette,
)
from pytest_miniwob_agent.cassettes.format.serializer import Serializer


def test_the_format_of_a_cassette():
    text = dump_cassette(
        [make_call("A prompt\nof two lines with ü and “quotes”.  \n\tEnd", "a\nb")]
    )
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


def test_a_changed_word_of_a_prompt_changes_one_line():
    old, new = (
        dump_cassette([make_call(f"Some {word}\ntext")]).splitlines() for word in ("old", "new")
    )
    assert [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]] == [
        ("          Some old", "          Some new")
    ]


TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=" \t\n\r-:#|>'\"\\{}[]!&*%@`,?" + string.ascii_letters, max_size=60),
    st.text(alphabet="ab \n", max_size=20),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(prompt="\x85", text="a\u2028b\x85")
@example(prompt=" \u2029'", text="\x07\n")
@example(prompt="\t\n", text=" \n\ta\n ")
@given(prompt=TEXTS, text=TEXTS)
def test_any_text_is_read_as_it_was_written(tmp_path, prompt, text):
    path = tmp_path / "1.yaml"
    write_cassette(path, [make_call(prompt, text), make_call("last")])
    [back, _] = read_cassette(path)
    assert back.key == make_call(prompt, text).key
    assert back.completion.text == text
    assert back.origin == ORIGIN
    # PyYAML's own parser, which is not the one that reads cassettes, sees the same.
    data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    assert data["interactions"][0]["request"]["body"]["messages"][0]["content"] == prompt


def test_a_file_that_grows_has_the_calls_as_they_are_by_then():
    first, second = make_call("one", "a\n\n"), make_call("two", origin=None)
    before = dump_cassette([first, second])
    assert before == dump_cassette([first, second])
    first.origin = None
    second.request = replace(second.request, normalized=("messages[0].id",))
    assert read_back(dump_cassette([first, second])) == [None, ("messages[0].id",)]


def read_back(text):
    """The origin of the first call in a cassette, and what is normalized in the second."""
    data = yaml.load(text, Loader=yaml.SafeLoader)
    first, second = (interaction.get("call") for interaction in data["interactions"])
    return [first, tuple(second["normalized"])]


HEAD = "version: 1\nschema: 1\n"
GOOD = dump_cassette([make_call("one\ntwo"), make_call("three")])


def replaced(old, new, count=1):
    assert old in GOOD
    return GOOD.replace(old, new, count)


def line_of(text):
    return GOOD[: GOOD.index(text)].count("\n") + 1


REQUEST, LAST = line_of("  request:"), GOOD.count("\n")
CALL = line_of("- call:")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", None, "it is empty"),
        (" \n\n", None, "it is empty"),
        ("interactions: [", 1, "it is not valid YAML"),
        (GOOD.replace("schema: 1", "schema: 1\n\tx"), 3, "it is not valid YAML"),
        (GOOD.replace("schema: 1", "schema: &a 1\nx: *b"), 3, "it is not valid YAML"),
        ("just words", None, "it has no list of interactions"),
        ("# a comment", None, "it has no list of interactions"),
        ("? [a]\n: b", None, "it is not plain data: a key must be a text"),
        ("interactions: &a [*a]", None, "it is not plain data"),
        ("interactions: !!python/name:os.system x", None, "it is not plain data"),
        ("a: 1", None, "it has no list of interactions"),
        (replaced("version: 1", "version: 2"), None, "its version is 2 instead of 1"),
        (replaced("schema: 1", "schema: 7"), None, "its schema is 7 instead of 1"),
        (replaced("schema: 1\n", ""), None, "its schema is None instead of 1"),
        (f"{HEAD}interactions: []\n...\n", None, "it holds no calls"),
        (f"{HEAD}interactions:\n- 1\n", 4, "call 1 is not a mapping"),
        (f"{HEAD}interactions:\n- request: {{}}\n", 4, "lacks its request or its response"),
        (
            replaced("    uri: /v1/chat/completions\n", ""),
            CALL,
            "call 1 has no uri or no body",
        ),
        (replaced("step: 0", "step: 2026-01-01"), None, "it is not plain data"),
        (replaced("messages:", "massages:"), CALL, "call 1 has no chat messages"),
        (
            replaced("choices:", "choice:"),
            CALL,
            "call 1 has a response that is not an answer of a model",
        ),
        (
            replaced("content: click id=1", "content: 7"),
            CALL,
            "is not an answer of a model",
        ),
        (replaced("purpose: plan", "porpoise: plan"), CALL, "call 1 has no valid origin"),
        (replaced("trial: 1", "trial: one"), CALL, "call 1 has no valid origin"),
        (GOOD[:-4], LAST - 1, "it is truncated"),
        (GOOD[: GOOD.rindex("id=1")], LAST - 1, "it is truncated"),
        (replaced("  request:", "<<<<<<< HEAD\n  request:"), REQUEST, "git conflict"),
        (replaced("  request:", "=======\n  request:"), REQUEST, "git conflict"),
        (replaced("  request:", ">>>>>>> main\n  request:"), REQUEST, "git conflict"),
    ],
)
def test_a_damaged_cassette_is_an_error_with_file_line_and_hint(tmp_path, text, line, problem):
    path = tmp_path / "1.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CassetteError) as error:
        read_cassette(path)
    message = str(error.value)
    location = f"{path}:{line}" if line else str(path)
    assert message.startswith(f"{location}: not a readable cassette: ")
    assert problem in message
    assert "git checkout" in message


def test_a_truncated_cassette_is_never_read(tmp_path):
    """At every end of a line, within the last lines, and at some points between."""
    path = tmp_path / "1.yaml"
    ends = [index for index, character in enumerate(GOOD) if character == "\n"]
    lengths = {*ends, *range(0, len(GOOD), 97), *range(len(GOOD) - 20, len(GOOD) - 1)}
    for length in sorted(lengths - {len(GOOD) - 1}):
        path.write_text(GOOD[:length], encoding="utf-8")
        with pytest.raises(CassetteError):
            read_cassette(path)


def test_a_cassette_that_is_not_utf8_is_an_error(tmp_path):
    path = tmp_path / "1.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CassetteError, match="it is not UTF-8"):
        read_cassette(path)


def test_conflict_markers_inside_a_text_are_not_a_conflict(tmp_path):
    path = tmp_path / "1.yaml"
    prompt = "<<<<<<< HEAD\n=======\n>>>>>>> main"
    write_cassette(path, [make_call(prompt)])
    assert read_cassette(path)[0].request.text == prompt


def test_vcrpy_loads_a_cassette_with_the_serializer(tmp_path):
    write_cassette(tmp_path / "c.yaml", [make_call("A prompt", "An answer")])
    recorder = vcr.VCR(serializer="miniwob")
    recorder.register_serializer("miniwob", Serializer())
    with recorder.use_cassette(str(tmp_path / "c.yaml"), record_mode="none") as cassette:
        [(request, response)] = cassette.data
    assert request.uri == "/v1/chat/completions"
    assert b"An answer" in response["body"]["string"]
    text = serialize({"requests": [request], "responses": [response]}, Serializer())
    (tmp_path / "again.yaml").write_text(text)
    [call] = read_cassette(tmp_path / "again.yaml")
    assert call.completion.text == "An answer"
