"""The file of a cassette: its format, reading what was written, and damaged files."""

import json
import re
import string
from dataclasses import replace

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.damage import damaged
from support.projects import ROOT
from support.sweeps import swept

from pytest_miniwob_agent import CassetteError
from pytest_miniwob_agent.cassettes.folder import Used
from pytest_miniwob_agent.cassettes.format import (
    Serializer,
    dump_cassette,
    load_cassette,
    read_cassette,
    write_cassette,
)
from pytest_miniwob_agent.cassettes.tape import Call, Request
from pytest_miniwob_agent.cassettes.upkeep import lint_folder
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
from pytest_miniwob_agent.core.pace import Move

from .cassette_files import ORIGIN, make_call


def test_the_format_of_a_cassette():
    prompt = "A prompt\nof two lines with ü and “quotes”.  \n\tEnd"
    assert dump_cassette([make_call(prompt, "a\nb")]) == (
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


TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=" \t\n\r-:#|>'\"\\{}[]!&*%@`,?" + string.ascii_letters, max_size=60),
    st.text(alphabet="ab \n", max_size=20),
)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(prompt="\x85", text="a\u2028b\x85")
@example(prompt=" \u2029'", text="\x07\n")
@example(prompt="<<<<<<< HEAD\n=======\n>>>>>>> main", text="no conflict")
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


GOOD = dump_cassette([make_call("one\ntwo"), make_call("three")])


def replaced(old, new):
    assert old in GOOD
    return GOOD.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is truncated: the end marker (...) is missing"),
        (GOOD[:-4], "it is truncated"),
        ("interactions: [\n...\n", "did not find expected node content in line 2"),
        (replaced("schema: 1", "schema: 1\n\tx"), "in line 3, column 1"),
        ("just words\n...\n", 'it can\'t be "just words"'),
        ("version: 1\nschema: 1\n...\n", "`interactions` can't be null"),
        ("interactions: &a [*a]\n...\n", "an alias, which no cassette has"),
        (replaced("trial: 1", "trial: &a 1").replace("step: 0", "step: *a"), "an alias"),
        ("a: " + "[" * 100_000 + "]" * 100_000 + "\n...\n", "it is nested too deeply"),
        ("a: " + "- " * 100_000 + "\n...\n", "block sequence entries are not allowed"),
        ("- " * 100_000 + "1\n...\n", "it is nested too deeply"),
        (replaced("schema: 1", "schema: 1\nschema: 1"), "a key comes twice"),
        (replaced("method: POST", "method: GET"), 'call 1: `request.method` can\'t be "GET"'),
        (replaced("    method: POST\n", ""), "call 1: `request.method` is missing"),
        (replaced("model: m", "1: m"), "a key is not a string"),
        ("interactions: !!python/name:os.system x\n...\n", "could not determine a constructor"),
        (replaced("step: 0", "step: 2026-01-01"), "could not determine a constructor"),
        (replaced("version: 1", "version: 2"), "`version` can't be 2"),
        (replaced("schema: 1\n", ""), "its schema is None, and this version"),
        (replaced("schema: 1\n", "schema: 4\n"), "its schema is 4, and this version"),
        (replaced("code: 200", "code: 500"), "call 1: `response.status.code` can't be 500"),
        (replaced("messages:", "massages:"), "call 1: `request.body.messages` can't be null"),
        (replaced("content: click id=1", "content: 7"), "`response.body` is not an answer"),
        (replaced("messages:", "messages: []\n      massages:"), "it has no chat messages"),
        *[
            (replaced("step: 0", f"step: {value}"), "in line 7, column 11")
            for value in ("!!bool zz", '!!int ""', "!!int ':'", "!!float ''", f"1{':59' * 999}.5")
        ],
        (replaced("step: 0", f"step: {'9' * 5000}"), "in line 7, column 11"),
        (replaced("step: 0", "step: -1"), "call 1: `call.step` can't be -1"),
        (replaced("trial: 1", "trial: true"), "call 1: `call.trial` can't be true"),
        *[
            (replaced("  request:", f"{mark}\n  request:"), "a git conflict is not resolved")
            for mark in ("<<<<<<< HEAD", "=======", ">>>>>>> main")
        ],
    ],
)
def test_a_damaged_cassette_is_an_error_with_its_place_and_a_hint(tmp_path, text, problem):
    path = tmp_path / "1.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CassetteError) as error:
        read_cassette(path)
    message = str(error.value)
    assert message.startswith(f"{path}: not a readable cassette: ")
    assert problem in message
    assert "git checkout" in message


ANY = re.compile(r"\.schema$|\.(body|headers)[.[]")
"""What has parts of any type, and the version, which has a message of its own."""


def test_any_part_of_another_type_is_an_error_with_its_call_and_path(tmp_path):
    call = replace(make_call("one"), answered_in="a/m/t/2")
    call.request = replace(call.request, normalized=("messages[1].id",))
    move = Move(1, 0, "", "click-1", 50)
    noted = {"pace": [move], "clock": 2e9, "recording": "all", "began_from": "ab12"}
    write_cassette(tmp_path / "1.yaml", [call], screens=SCREEN_VERSION, **noted)
    data = yaml.safe_load((tmp_path / "1.yaml").read_text(encoding="utf-8"))
    for path, changed in damaged(data):
        if not ANY.search(path):
            text = yaml.safe_dump(changed, explicit_end=True)
            (tmp_path / "1.yaml").write_text(text.removesuffix("...\n") + "...\n")
            with pytest.raises(CassetteError) as error:
                read_cassette(tmp_path / "1.yaml")
            inner = path.removeprefix(".interactions[0]")
            assert ("call 1: " in str(error.value)) == (inner != path)
            assert f"`{inner[1:]}`" in str(error.value) or not inner


def test_a_truncated_cassette_is_never_read(tmp_path):
    path = tmp_path / "1.yaml"
    for length in {*range(0, len(GOOD), 97), *range(len(GOOD) - 20, len(GOOD) - 1)}:
        path.write_text(GOOD[:length], encoding="utf-8")
        with pytest.raises(CassetteError):
            read_cassette(path)


@pytest.mark.parametrize("every", [200, *swept(50)])
def test_a_shipped_cassette_is_written_as_it_was_read_and_loaded_by_vcrpy(every):
    import vcr  # takes long

    recorder = vcr.VCR(serializer="miniwob", record_mode="none")
    recorder.register_serializer("miniwob", Serializer())
    shipped = sorted(
        path
        for top in ("cassettes", "examples/**/cassettes")
        for path in ROOT.glob(f"{top}/**/*.yaml")
    )
    assert len(shipped) > 3000
    for path in shipped[::every]:
        calls, noted = load_cassette(path)
        noted = {"screens": noted.screens, "pace": noted.pace}
        assert dump_cassette(calls, **noted) == path.read_text(encoding="utf-8")
        with recorder.use_cassette(str(path)) as cassette:
            loaded = [
                (request.uri, json.loads(request.body), json.loads(response["body"]["string"]))
                for request, response in cassette.data
            ]
        assert loaded == [(call.request.path, call.request.body, call.recorded) for call in calls]


KEY = "sk-" + "aB3" * 16
RESPONSES_END = {"type": "response.completed", "response": {"output": [], "status": "completed"}}
CHAT_END = {"choices": [{"index": 0, "delta": {"content": "A"}, "finish_reason": "stop"}]}
MESSAGES_BEGIN = {"type": "message_start", "message": {"role": "assistant", "content": []}}
MESSAGES_END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
GEMINI_END = {"candidates": [{"content": {"parts": [{"text": "A"}]}, "finishReason": "STOP"}]}


def of_responses(kind):
    kind, name = {"type": f"response.{kind}.delta"}, "summary_index" if "y" in kind else "index"
    for number, half in enumerate(PIECES):
        for index, piece in enumerate(("other ", half)):
            yield {
                **kind,
                "output_index": index,
                name: 0,
                "sequence_number": number,
                "delta": piece,
            }


PIECES = [KEY[at : at + 3] for at in range(0, len(KEY), 3)]
IN_EVENTS = {
    **{
        f"/v1/responses {kind}": [*of_responses(kind), RESPONSES_END]
        for kind in (
            "reasoning_summary_text", "reasoning_text", "function_call_arguments", "refusal",
            "output_text", "mcp_call_arguments", "code_interpreter_call_code", "of_tomorrow",
        )
    },
    **{
        f"/v1/chat/completions {name}": [
            *({"choices": [{"index": 0, "delta": {name: half}}]} for half in PIECES), CHAT_END,
        ]
        for name in ("content", "reasoning_content", "reasoning", "refusal", "of_tomorrow")
    },
    "/v1/chat/completions reasoning_details": [
        *(
            {"choices": [{"index": 0, "delta": {"reasoning_details": [{"text": half}]}}]}
            for half in PIECES
        ),
        CHAT_END,
    ],
    "/v1/chat/completions two choices in turns": [
        *(
            {"choices": [{"index": n, "delta": {"thoughts": text}}]}
            for half in PIECES for n, text in enumerate((half, "other "))
        ),
        CHAT_END,
    ],
    **{
        f"/v1/messages {name}": [
            MESSAGES_BEGIN,
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "a", name: half}}
                for half in PIECES
            ),
            MESSAGES_END,
        ]
        for name in ("thinking", "partial_json", "text", "of_tomorrow")
    },
    "/v1/messages each piece with an index of its own": [
        MESSAGES_BEGIN,
        *({"type": "of_tomorrow", "index": n, "text": half} for n, half in enumerate(PIECES)),
        MESSAGES_END,
    ],
    **{
        f"/v1beta/models/m:streamGenerateContent {len(part)}": [
            *(
                {"candidates": [{"content": {"parts": [{**part, "text": half}]}}]}
                for half in PIECES
            ),
            GEMINI_END,
        ]
        for part in ({}, {"thought": True})
    },
    "/v1beta/models/m:streamGenerateContent partialArgs": [
        *(
            {"candidates": [{"content": {"parts": [
                {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": half}]}}
            ]}}]}
            for half in PIECES
        ),
        GEMINI_END,
    ],
    "/v1/of/tomorrow texts": PIECES,
    "/v1/of/tomorrow objects": [{"a": [{"b": half}]} for half in PIECES],
}  # fmt: skip


@pytest.mark.parametrize("kind", IN_EVENTS)
@pytest.mark.parametrize("form", ["stream", "list"])
def test_a_key_in_pieces_of_events_is_not_written_and_found(kind, form, tmp_path):
    """Whatever of it the whole answer repeats, if anything."""
    path, events = kind.partition(" ")[0], IN_EVENTS[kind]
    if form == "list":
        path, answer = "/v1/other", events
    else:
        answer = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    asked = {"stream": True, "messages": [{"role": "user", "content": "A"}]}
    call = Call(Request(path, asked), answer, ORIGIN)
    with pytest.raises(CassetteError, match=r"looks like a secret \(OpenAI key\)"):
        write_cassette(tmp_path / "1.yaml", [call])
    assert list(tmp_path.iterdir()) == []
    stored = tmp_path / "agent/m/click/1.yaml"
    stored.parent.mkdir(parents=True)
    stored.write_text(dump_cassette([call]), encoding="utf-8")
    assert KEY not in stored.read_text(encoding="utf-8")
    [finding] = lint_folder(Used(tmp_path, {"agent/m/click/1"}, unused=tmp_path / "unused"))
    assert (finding.kind, finding.what.partition(":")[0]) == ("leak", "OpenAI key in call 1")
