"""The forms of Chat Completions, Responses, Messages and Gemini: answers, streams, paths."""

import json

import pytest

from pytest_miniwob_agent.core.chat import ToolCall
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import (
    CHAT,
    find_api,
    is_answer,
    parse_answer,
    parse_completion,
    recorded_path,
)
from pytest_miniwob_agent.models.bodies import read_events

GEMINI = "/v1beta/models/g:streamGenerateContent"
APIS = (CHAT, "/v1/responses", "/v1/messages", GEMINI)

CALLS = (
    ToolCall("c1", "click", '{"id": 1}'),
    ToolCall("c2", "enter", '{"text": "\u00e9\\n\u2028"}'),
)


def stream_of(events):
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


@pytest.mark.parametrize("path", APIS)
@pytest.mark.parametrize(
    "said",
    [
        Completion("one\n\ntwo \u2028", 7, 9, "m"),
        Completion("", None, None, "m", tool_calls=CALLS),
        Completion("I click.", 0, 0, "m", tool_calls=CALLS[:1]),
    ],
    ids=["text", "calls", "both"],
)
def test_a_stream_of_an_answer_adds_up_to_the_answer(path, said):
    api = find_api(path)
    answer = api.served(api.answer(said), "1")
    stream = api.stream(answer)
    collected = api.collect(read_events(stream.replace("\n", "\r\n")))
    ends = {"usage"} if path == "/v1/messages" else {"id", "created"}  # zero counts; not in chunks
    for name in answer.keys() - (ends if path != "/v1/responses" else set()):
        assert collected[name] == answer[name], name
    for read in (parse_completion(path, answer), parse_completion(path, stream)):
        assert (read.text, read.tool_calls, read.model) == (said.text, said.tool_calls, "m")
        if path != "/v1/messages":
            assert read.completion_tokens == said.completion_tokens


@pytest.mark.parametrize(
    ("path", "usage", "cached", "written"),
    [
        (CHAT, {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, 4, 0),
        ("/v1/responses", {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}, 4, 0),
        (
            "/v1/messages",
            {"input_tokens": 2, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3},
            4,
            3,
        ),
        (GEMINI, {"promptTokenCount": 9, "cachedContentTokenCount": 4}, 4, 0),
        (CHAT, {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": "4"}}, 0, 0),
    ],
)
def test_of_a_prompts_tokens_those_of_the_providers_cache_are_known(path, usage, cached, written):
    name, said = ("usageMetadata", "candidatesTokenCount") if path == GEMINI else ("usage", None)
    said = said or ("completion_tokens" if path == CHAT else "output_tokens")
    found = parse_completion(path, {name: {**usage, said: 1}}).usage
    assert (found.prompt, found.cached, found.written) == (9, cached, written)


@pytest.mark.parametrize("path", APIS)
def test_a_stream_that_is_cut_off_at_any_line_before_its_end_is_not_an_answer(path):
    api = find_api(path)
    said = Completion("Hello.", 1, 2, "m", tool_calls=(ToolCall("c", "click", '{"id": 1}'),))
    events = api.events(api.served(api.answer(said), "1"))
    ends = {CHAT: 2, "/v1/responses": 1, "/v1/messages": 2, GEMINI: 1}[path]
    for length in range(len(events) - ends + 1):
        cut = stream_of(events[:length])
        assert parse_answer(path, cut.encode(), "text/event-stream; charset=utf-8") is None, length
    assert is_answer(path, stream_of(events))
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    assert not is_answer(path, stream_of([*events[:1], error]))
    assert not is_answer(path, error)


def test_an_answer_is_read_whole():
    chat = {
        "model": "m",
        "system_fingerprint": "fp",
        "choices": [
            {"message": {"content": None, "reasoning_content": "Hm.", "refusal": "No."}},
            {"message": {"content": "Second."}, "finish_reason": "stop"},
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    said = parse_completion(CHAT, chat)
    assert (said.text, said.reasoning, said.refusal) == ("", "Hm.", "No.")
    assert said.others == (Completion("Second.", finish_reason="stop"),)
    messages = {
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Yes."},
            {"type": "tool_use", "id": "t", "name": "click", "input": {"id": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "cache_read_input_tokens": 4, "output_tokens": 2},
    }
    said = parse_completion("/v1/messages", messages)
    assert (said.text, said.reasoning, said.prompt_tokens) == ("Yes.", "Hm.", 5)
    assert said.tool_calls == (ToolCall("t", "click", '{"id": 1}'),)
    assert parse_completion("/v1/messages", find_api("/v1/messages").stream(messages)) == said
    responses = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]},
            {"type": "function_call", "call_id": "c", "name": "click", "arguments": "{"},
        ],
    }
    said = parse_completion("/v1/responses", responses)
    assert (said.reasoning, said.refusal, said.finish_reason) == ("Hm.", "No.", "max_output_tokens")
    assert said.tool_calls == (ToolCall("c", "click", "{"),)
    assert parse_completion("/v1/responses", find_api("/v1/responses").stream(responses)) == said


CALL = {"id": "a", "type": "function", "function": {"name": "click", "arguments": '{"x": 1}'}}
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "SIG"}}}
SIGNED_FUNCTION = {**CALL["function"], "provider_specific_fields": {"signature": "SIG"}}
CUSTOM = {"id": "b", "type": "custom", "custom": {"name": "c", "input": "i"}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "SIG"}


@pytest.mark.parametrize(
    ("came", "back"),
    [
        ({"content": "Yes."}, {"content": "Yes."}),
        ({"content": "", "tool_calls": [CALL]}, {"content": None, "tool_calls": [CALL]}),
        ({"content": None, "tool_calls": [SIGNED]}, {"content": None, "tool_calls": [SIGNED]}),
        (
            {"content": None, "tool_calls": [{"index": 0, **SIGNED, "function": SIGNED_FUNCTION}]},
            {"content": None, "tool_calls": [{**SIGNED, "function": SIGNED_FUNCTION}]},
        ),
        ({"content": None, "tool_calls": [CUSTOM]}, {"content": None, "tool_calls": [CUSTOM]}),
        # DeepSeek wants an empty one back as well.
        ({"content": "A", "reasoning_content": ""}, {"content": "A", "reasoning_content": ""}),
        (
            {"content": "A", "refusal": None, "tool_calls": [], "function_call": None},
            {"content": "A"},
        ),
        ({"content": "A", "blocks": [THOUGHT]}, {"content": "A", "blocks": [THOUGHT]}),
        (
            {"content": [THOUGHT, {"type": "text", "text": "A"}]},
            {"content": [THOUGHT, {"type": "text", "text": "A"}]},
        ),
        ({"content": "", "refusal": "No."}, {"content": "", "refusal": "No."}),
        (
            {"content": None, "audio": {"id": "a", "data": "UklG", "expires_at": 1}},
            {"content": "", "audio": {"id": "a"}},
        ),
        (
            {"content": None, "function_call": {"name": "click", "arguments": "{}"}},
            {"content": None, "function_call": {"name": "click", "arguments": "{}"}},
        ),
    ],
)  # fmt: skip
def test_the_message_to_go_on_with_is_the_one_that_came_less_what_is_refused(came, back):
    answer = {"choices": [{"message": {"role": "assistant", **came}, "finish_reason": "stop"}]}
    said = parse_completion(CHAT, answer)
    assert said.message == {"role": "assistant", **back}
    said.message.clear()
    assert said.message == {"role": "assistant", **back}
    streamed = parse_completion(CHAT, find_api(CHAT).stream(answer))
    assert streamed == said
    if back == {"content": "Yes."} or back.get("tool_calls") == [CALL]:
        assert "original" not in to_data(said)


def piece(index=None, name=None, **call):
    function = {"arguments": call.pop("arguments", "")} | ({"name": name} if name else {})
    return {"function": function} | ({} if index is None else {"index": index}) | call


def details(text=None, **more):
    said = {"type": "reasoning.text", "format": "f", "index": 0} | ({"text": text} if text else {})
    return {"reasoning_details": [said | more]}


STREAMS = {
    "a signature of a call": (
        [
            {"tool_calls": [piece(0, "click", id="a", extra_content=SIGNED["extra_content"])]},
            {"tool_calls": [piece(0, arguments='{"x"')]},
            {"tool_calls": [piece(0, arguments=": 1}")]},
        ],
        {"content": None, "tool_calls": [SIGNED]},
    ),
    "two calls of one number": (
        [
            {"tool_calls": [piece(0, "click", id="a", arguments='{"x": 1}')]},
            {"tool_calls": [piece(0, "click", id="b")]},
            {"tool_calls": [piece(0, arguments='{"x": 1}')]},
        ],
        {"content": None, "tool_calls": [CALL, {**CALL, "id": "b"}]},
    ),
    "calls without numbers": (
        [
            {"tool_calls": [piece(None, "click", id="a"), piece(arguments='{"x": 1}')]},
            {"tool_calls": [piece(None, "click", id="b", arguments='{"x": 1}')]},
        ],
        {"content": None, "tool_calls": [CALL, {**CALL, "id": "b"}]},
    ),
    "a new id for each piece": (
        [
            {"tool_calls": [piece(0, "click", id="z")]},
            {"tool_calls": [piece(0, id="a", arguments='{"x": 1}')]},
        ],
        {"content": None, "tool_calls": [CALL]},
    ),
    "OpenRouter's details": (
        [
            {"content": "", **details("Let ")}, details("me."), details(signature="SIG"),
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "E", "index": 0}]},
            {"content": "A"},
        ],
        {
            "content": "A",
            "reasoning_details": [
                details("Let me.", signature="SIG")["reasoning_details"][0],
                {"type": "reasoning.encrypted", "data": "E", "index": 0},
            ],
        },
    ),
    "LiteLLM's blocks": (
        [
            {"thinking_blocks": [{"type": "thinking", "thinking": "H", "signature": None}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "m.", "signature": None}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "SIG"}]},
            {"thinking_blocks": [THOUGHT]},
            {"thinking_blocks": [{"type": "redacted_thinking", "data": "E"}]},
            {"thinking_blocks": [{"type": "redacted_thinking", "data": "F"}]},
            {"content": "A", "reasoning_content": "H"}, {"reasoning_content": "m."},
        ],
        {
            "content": "A", "reasoning_content": "Hm.",
            "thinking_blocks": [
                THOUGHT, THOUGHT, {"type": "redacted_thinking", "data": "E"},
                {"type": "redacted_thinking", "data": "F"},
            ],
        },
    ),
    "Mistral's parts": (
        [
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "H"}]}]},
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m."}]}]},
            {"content": "Y"}, {"content": "es."},
        ],
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Yes."},
            ]
        },
    ),
    "an old function call": (
        [
            {"function_call": {"name": "click", "arguments": ""}},
            {"function_call": {"arguments": '{"x"'}}, {"function_call": {"arguments": ": 1}"}},
        ],
        {"content": None, "function_call": CALL["function"]},
    ),
    "annotations": (
        [
            {"content": "A", "annotations": [{"type": "u", "u": {"url": "a"}}], "seen": ["a"]},
            {"annotations": [{"type": "u", "u": {"url": "b"}}], "seen": ["b"], "flag": True},
        ],
        {
            "content": "A", "seen": ["a", "b"], "flag": True,
            "annotations": [{"type": "u", "u": {"url": "a"}}, {"type": "u", "u": {"url": "b"}}],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", STREAMS)
def test_the_pieces_of_what_a_provider_adds_are_put_together(kind):
    deltas, message = STREAMS[kind]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks[0]["choices"][0]["delta"]["role"] = "assistant"
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "citations": ["c"]}
    said = parse_completion(CHAT, stream_of([*chunks, end]))
    assert said.message == {"role": "assistant", **message}
    assert said.reasoning == ("Hm." if "Mistral" in kind or "LiteLLM" in kind else None)
    assert said.text == ("Yes." if "Mistral" in kind else message["content"] or "")
    assert find_api(CHAT).collect([*chunks, end])["citations"] == ["c"]


def test_thoughts_and_citations_of_anthropics_streams_keep_their_signatures():
    answer = {
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "SIG"},
            {"type": "redacted_thinking", "data": "E"},
            {"type": "text", "text": "A", "citations": [{"url": "u"}]},
        ],
        "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip
    api = find_api("/v1/messages")
    assert api.collect(api.events(answer))["content"] == answer["content"]
    deltas = [event["delta"] for event in api.events(answer) if "delta" in event]
    assert {"type": "signature_delta", "signature": "SIG"} in deltas
    cited = {"type": "content_block_delta", "index": 2, "delta": {"citation": {"url": "v"}}}
    events = api.events(answer)
    events.insert(-3, cited)
    cites = api.collect(events)["content"][2]["citations"]
    assert cites == [{"url": "u"}, {"url": "v"}]


def test_a_request_and_an_answer_of_gemini_are_read_whole():
    png = "iVBORw0KGgo="
    body = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Go."}, {"inlineData": {"mimeType": "image/png"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "click", "args": {"id": 1}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "click", "response": {"a": 1}}}],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "click"}, {"name": "enter"}]}],
    }
    body["contents"][0]["parts"][1]["inlineData"]["data"] = png
    api = find_api("/v1beta/models/g:generateContent")
    system, asked, called, result = api.messages(body)
    assert (system.role, system.text) == ("system", "Be brief.")
    assert asked.text == "Go.\n[picture image/png, 9 bytes]"
    assert (called.role, called.tool_calls) == ("assistant", (ToolCall("", "click", '{"id": 1}'),))
    assert (result.role, result.text) == ("tool", '{"a": 1}')
    assert list(api.tools(body)) == ["click", "enter"]
    events = [
        {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "I "}]}}]},
        {
            "candidates": [
                {
                    "content": {
                        "parts": [{"text": "click."}, {"functionCall": {"name": "go", "args": {}}}]
                    },
                    "finishReason": "MAX_TOKENS",
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3,
            },
            "modelVersion": "gemini-x",
        },
    ]  # fmt: skip
    said = parse_completion(GEMINI, stream_of(events))
    assert (said.text, said.reasoning, said.tokens) == ("I click.", "Hm.", (5, 5))
    assert said.tool_calls == (ToolCall("", "go", "{}"),)
    assert (said.model, said.finish_reason) == ("gemini-x", "max_tokens")
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert is_answer(GEMINI, blocked)
    assert parse_completion(GEMINI, blocked).refusal == "SAFETY"
    assert find_api("/v1beta/models/g:countTokens").path == ""


ODD = [None, 1, "x", [], [None], {}, {"type": "message"}, {"content": 3}, {"content": [3, {}]}]


@pytest.mark.parametrize("path", [*APIS, "/v1/other"])
def test_requests_and_answers_of_any_form_are_read_without_an_error(path):
    api = find_api(path)
    for odd in ODD:
        for name in ("messages", "input", "system", "tools", "contents", "systemInstruction"):
            api.messages({name: odd})
            api.messages({name: [odd]})
            api.tools({name: [odd]})
        for name in ("choices", "output", "content", "usage", "model", "delta", "candidates"):
            for answer in ({name: odd}, {name: [odd]}, {name: {"message": odd, "delta": odd}}):
                api.completion(answer)
                api.collect([answer, odd])
                api.events(answer)
                is_answer(path, answer)


def test_other_json_is_an_answer_as_it_is():
    assert parse_answer("/v1/embeddings", b'[{"a": 1}]') == [{"a": 1}]
    assert parse_completion("/v1/embeddings", [{"a": 1}]).text == '{"answer":[{"a":1}]}'
    assert str(parse_answer("/v1/embeddings", b'{"a": NaN}')) == "{'a': nan}"
    assert parse_answer("/v1/embeddings", b"<html>") is None
    assert parse_answer(CHAT, b"[]") is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/v1/chat/completions", CHAT),
        ("/v1/v1/messages", "/v1/messages"),
        ("/openai/v1/responses", "/v1/responses"),
        ("/deployments/x/chat/completions", CHAT),
        ("/v1/v1beta/models/g:generateContent", "/v1beta/models/g:generateContent"),
        ("/v1/v1/models/g:generateContent", "/v1/models/g:generateContent"),
        (
            "/v1/v1beta1/publishers/google/models/g:countTokens",
            "/v1beta1/publishers/google/models/g:countTokens",
        ),
        ("/rerank", "/rerank"),
    ],
)
def test_the_path_of_a_request_is_without_the_part_of_its_server(url, path):
    assert recorded_path(url) == path
