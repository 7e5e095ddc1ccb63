"""Answers of servers that misbehave, over real HTTP on loopback: malformed, unusual and cut off."""

import contextlib
import gzip
import json
import re
import threading

import pytest
from support.answers import WHOLE, chunked, completion, completion_of, completion_with, response
from support.servers import wait_until

from pytest_miniwob_agent.core.chat import ModelRequest
from pytest_miniwob_agent.core.errors import ModelError
from pytest_miniwob_agent.core.events import OF_TEST
from pytest_miniwob_agent.models.apis import CHAT
from pytest_miniwob_agent.models.bodies import EVENT_STREAM
from pytest_miniwob_agent.models.client import LiveModel

NO_TEXT = "answered with no chat completion with text: "

# Answers, and the beginning of the error for each. All of them arrive in full: the client must not
# call again, since each call is paid.
MALFORMED = {
    "JSON that is cut off": (response(WHOLE[:-40]), NO_TEXT + '\'{"id": "chatcmpl-1"'),
    "empty": (response(b""), NO_TEXT + "''"),
    "not an object": (response([1, 2]), NO_TEXT + "'[1, 2]'"),
    "an error": (response({"error": "overloaded"}), NO_TEXT + "'{\"error\": \"overloaded\"}'"),
    "a key": (response(b"no sk-" + b"Ab1" * 12), NO_TEXT + "'no [OpenAI key]'"),
    "no choices": (response(completion_with("choices", [])), NO_TEXT),
    "a choice is null": (response(completion_with("choices", [None])), NO_TEXT),
    "a content is null": (response(completion_of(None)), NO_TEXT),
    "nested too deep": (response(b"[" * 200_000), NO_TEXT),
    "HTML": (
        response(b"<html>\n<body>Log in</body>\n</html>", kind="text/html"),
        NO_TEXT + "'<html> <body>Log in</body> </html>'",
    ),
    "a stream of events": (
        response(b"data: " + WHOLE + b"\n\ndata: [DONE]\n\n", kind="text/event-stream"),
        NO_TEXT + "'data: {",
    ),
    "speech": (
        response(b"ID3\x04\x00", kind="audio/mpeg"),
        "answered with audio/mpeg, but only JSON and streams of events are recorded: ",
    ),
    "no content": (response(b"", status="204 No Content"), NO_TEXT + "status 204, ''"),
    "damaged gzip": (
        response(b"damaged" + gzip.compress(WHOLE), "Content-Encoding: gzip"),
        "answered with a body that can't be read: ",
    ),
    "redirected": (
        response(b"", "Location: /v2/elsewhere", status="302 Found"),
        "redirects calls to http://127.0.0.1:",
    ),
    "refused": (
        response({"error": {"message": "no such model"}}, status="404 Not Found"),
        "refused the call: Error code: 404 - no such model",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_answer_is_an_error_of_one_line_and_records_nothing(
    session, tmp_path, raw_server, kind
):
    answer, message = MALFORMED[kind]
    raw_server.answer = lambda number: [answer]
    with session(raw_server, retries=1) as llm, pytest.raises(ModelError) as error:
        llm.complete("one", "plan")
    text = str(error.value)
    assert text.startswith(f"test call: {raw_server.url} {message}")
    assert len(text) < 300
    assert "\n" not in text
    assert raw_server.requests == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


UNUSUAL = {
    "chunked": (chunked(WHOLE), "click id=1"),
    "wrong type": ([response(completion(), kind="text/plain")], "click id=1"),
    "no length": ([response(completion(), length=False)], "click id=1"),
    "huge": ([response(completion("x" * 300_000))], "x" * 300_000),
    "control characters": (
        [response(completion("\x00\x1b[31m\u2028é🎈\t"))], "\x00\x1b[31m\u2028é🎈\t",
    ),
    "usage is a text": ([response(completion_with("usage", "much"))], "click id=1"),
    "gzip": ([response(gzip.compress(WHOLE), "Content-Encoding: gzip")], "click id=1"),
    "a lone surrogate": ([response(completion("\ud800 \ude00id=1"))], "\ufffd \ufffdid=1"),
    "not UTF-8": ([response(WHOLE.replace(b"click", b"cl\xffck"))], "cl\ufffdck id=1"),
    "UTF-16": ([response(WHOLE.decode().encode("utf-16"))], "click id=1"),
    "surrogates in names": (
        [response(completion(**{"x\udc00": {"\ud800": ["\ud83d"]}}))], "click id=1",
    ),
    "NaN": ([response(completion_with("usage", {"prompt_tokens": float("nan")}))], "click id=1"),
    "infinite": (
        [response(completion(logprobs={"a": [float("-inf"), float("inf")]}))], "click id=1",
    ),
    "a pair of surrogates in two pieces": (
        [
            response(
                b'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\n'
                b'data: {"choices": [{"delta": {"content": "\\ude00 \\ud83d"}}]}\n\n'
                b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n',
                kind="text/event-stream",
            )
        ],
        "\U0001f600 \ufffd",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNUSUAL)
def test_an_unusual_answer_is_recorded_and_replayed_as_the_agent_saw_it(session, raw_server, kind):
    pieces, text = UNUSUAL[kind]
    raw_server.answer = lambda number: pieces
    with session(raw_server) as llm:
        live = llm.complete("one", "plan")
    assert live.text == text
    with session() as llm:
        assert llm.complete("one", "plan") == live
    assert raw_server.requests == 1


BUSY = {"error": {"code": 502, "message": "busy"}}
DELTA = {"index": 0, "delta": {"content": "cl"}}


def events(*data):
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in data)


FAILED = {
    "a code": (BUSY, 502),
    "a code as a text": ({"error": {"code": "503", "message": "busy"}}, 503),
    "in a choice": (
        {"choices": [{**BUSY, "finish_reason": "error", "message": {"content": "cl"}}]}, 502,
    ),
    "beside choices": ({**BUSY, "choices": [{"message": {"content": None}}]}, 502),
    "in a stream": (events({"choices": [DELTA]}, BUSY), 502),
    "in a stream's choice": (
        events({"choices": [DELTA]}, {"choices": [{**BUSY, "finish_reason": "error"}]}), 502,
    ),
    "Anthropic's words": (
        events({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}), 529,
    ),
    "OpenAI's words": (
        events({"type": "error", "code": "server_error", "message": "busy"}), 500,
    ),
    "a failed response": (
        events({"type": "x", "response": {"error": {"code": "rate_limit_exceeded"}}}), 429,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILED)
def test_an_error_with_status_200_is_retried_as_one_with_its_own_status(session, raw_server, kind):
    body, status = FAILED[kind]
    form = "text/event-stream" if isinstance(body, bytes) else "application/json"
    failed = response(body, "Retry-After-Ms: 1", kind=form)
    raw_server.answer = lambda number: [failed if number < 3 else response(completion())]
    with session(raw_server, retries=1) as llm, pytest.raises(ModelError) as error:
        llm.complete("one", "plan")
    assert f"refused the call: Error code: {status}" in str(error.value)
    with session(raw_server, retries=1) as llm:
        assert llm.complete("one", "plan").text == "click id=1"
    assert raw_server.requests == 3


@pytest.mark.parametrize("code", [400, 402, "insufficient_quota"])
def test_an_error_with_status_200_that_lasts_is_not_retried(session, raw_server, code):
    raw_server.answer = lambda number: [response({"error": {"code": code, "message": "no"}})]
    with session(raw_server, retries=2) as llm, pytest.raises(ModelError):
        llm.complete("one", "plan")
    assert raw_server.requests == 1


def test_a_stream_that_ends_with_an_error_is_not_an_answer(session, raw_server):
    body = events({"choices": [{**DELTA, "finish_reason": "error"}]})
    raw_server.answer = lambda number: [response(body, kind="text/event-stream")]
    with session(raw_server, retries=2) as llm, pytest.raises(ModelError):
        llm.complete("one", "plan")
    assert raw_server.requests == 1


def test_a_call_without_an_answer_is_made_again(session, tmp_path, raw_server):
    raw_server.answer = lambda number: [b""] if number < 3 else [response(completion())]
    with session(raw_server) as llm, pytest.raises(ModelError) as error:
        llm.complete("one", "plan")
    assert re.match(r"test call: http://127\S* can't be reached: .*$", str(error.value))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    with session(raw_server, retries=1) as llm:
        live = llm.complete("one", "plan")
    assert raw_server.requests == 3
    with session() as llm:
        assert llm.complete("one", "plan") == live


HALF = response(WHOLE[:-40], length=len(WHOLE))
CUT = {
    "half a body": [HALF],
    "half of the chunks": chunked(WHOLE, end=b"")[:-5],
    "a stall": [HALF],
}


@pytest.mark.parametrize("kind", CUT)
def test_an_answer_that_is_cut_off_was_paid_for_and_is_not_asked_for_again(
    session, tmp_path, raw_server, kind
):
    given_up = threading.Event()

    def answer(number):
        yield from CUT[kind]
        if kind == "a stall":
            given_up.wait(300)

    raw_server.answer = answer
    limits = {"timeout": 3} if kind == "a stall" else {}  # the first half may be late, too
    with session(raw_server, limits, retries=3) as llm, pytest.raises(ModelError) as error:
        llm.complete("one", "plan")
    given_up.set()
    assert "answered with a body that can't be read: " in str(error.value)
    assert raw_server.requests == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


STREAMS = {
    "out of tokens": (
        [{"delta": {"role": "assistant", "content": ""}}, {"delta": {}, "finish_reason": "length"}],
        'ran out of tokens (finish_reason is length); raise "max_completion_tokens" in',
    ),
    "held back": (
        [{"delta": {}, "finish_reason": "content_filter"}], "the server's content filter",
    ),
    "cut off": ([{"delta": {"content": "cl"}}], "a stream that was cut off before its end"),
    "an error": (
        [{"delta": {"content": "cl"}}, {"error": {"message": "the GPU fell off"}}],
        """with text: '{"message":"the GPU fell off"}'""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_without_an_answer_is_told_by_its_cause(chat_server, kind):
    pieces, message = STREAMS[kind]
    chunks = [{"choices": [{"index": 0, **piece}]} for piece in pieces]
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    chat_server.reply, chat_server.kind = lambda prompt: text.encode(), EVENT_STREAM
    body = {"model": "m", "messages": [{"role": "user", "content": "one"}], "stream": True}
    model = LiveModel("m", {}, base_url=chat_server.url, retries=0)
    with contextlib.closing(model), pytest.raises(ModelError) as error:
        model.post(ModelRequest(CHAT, body), OF_TEST)
    assert message in str(error.value)


@pytest.mark.parametrize("client", [False, True], ids=["llm", "client"])
def test_a_time_out_names_its_seconds_and_how_often_the_call_was_sent(
    session, tmp_path, chat_server, client
):
    over = threading.Event()
    chat_server.reply = lambda prompt: str(over.wait(300))
    with session(chat_server, {"timeout": 0.5}, retries=1) as llm:
        body = {"model": "m", "messages": [{"role": "user", "content": "one"}]}
        headers = {"X-Stainless-Retry-Count": "0"} if client else {}  # as OpenAI's clients send
        with pytest.raises(ModelError) as error:
            llm.post(ModelRequest(CHAT, body, headers), OF_TEST)
        wait_until(lambda: chat_server.requests)  # it may read the request only now
        over.set()
    assert str(error.value) == (
        f'test call: {chat_server.url} gave no answer within 0.5 s; raise "timeout" in '
        "--miniwob-llm-params (sent 2 times)"
    )
    assert "timeout" not in chat_server.requests[0]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
