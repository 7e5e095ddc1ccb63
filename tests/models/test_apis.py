"""The forms of Chat Completions, Responses, Messages and Gemini: answers, streams, paths."""

import json

import pytest

from pytest_miniwob_agent.core.chat import ToolCall
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import (
    CHAT,
    answer_of,
    api_of,
    completion_of,
    is_answer,
    path_of,
)
from pytest_miniwob_agent.models.apis.api import read_events

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
    api = api_of(path)
    answer = api.served(api.answer(said), "1")
    stream = api.stream(answer)
    collected = api.collect(read_events(stream.replace("\n", "\r\n")))
    ends = {"usage"} if path == "/v1/messages" else {"id", "created"}  # zero counts; not in chunks
    for name in answer.keys() - (ends if path != "/v1/responses" else set()):
        assert collected[name] == answer[name], name
    for read in (completion_of(path, answer), completion_of(path, stream)):
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
    found = completion_of(path, {name: {**usage, said: 1}}).usage
    assert (found.prompt, found.cached, found.written) == (9, cached, written)


@pytest.mark.parametrize("path", APIS)
def test_a_stream_that_is_cut_off_at_any_line_before_its_end_is_not_an_answer(path):
    api = api_of(path)
    said = Completion("Hello.", 1, 2, "m", tool_calls=(ToolCall("c", "click", '{"id": 1}'),))
    events = api.events(api.served(api.answer(said), "1"))
    ends = {CHAT: 2, "/v1/responses": 1, "/v1/messages": 2, GEMINI: 1}[path]
    for length in range(len(events) - ends + 1):
        cut = stream_of(events[:length])
        assert answer_of(path, cut.encode(), "text/event-stream; charset=utf-8") is None, length
    assert is_answer(path, stream_of(events))
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    assert not is_answer(path, stream_of([*events[:1], error]))
    assert not is_answer(path, error)


def test_an_answer_is_read_whole():
    """Reasoning, refusals, several choices, blocks of thoughts, cached tokens."""
    chat = {
        "model": "m",
        "system_fingerprint": "fp",
        "choices": [
            {"message": {"content": None, "reasoning_content": "Hm.", "refusal": "No."}},
            {"message": {"content": "Second."}, "finish_reason": "stop"},
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    said = completion_of(CHAT, chat)
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
    said = completion_of("/v1/messages", messages)
    assert (said.text, said.reasoning, said.prompt_tokens) == ("Yes.", "Hm.", 5)
    assert said.tool_calls == (ToolCall("t", "click", '{"id": 1}'),)
    assert completion_of("/v1/messages", api_of("/v1/messages").stream(messages)) == said
    responses = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]},
            {"type": "function_call", "call_id": "c", "name": "click", "arguments": "{"},
        ],
    }
    said = completion_of("/v1/responses", responses)
    assert (said.reasoning, said.refusal, said.finish_reason) == ("Hm.", "No.", "max_output_tokens")
    assert said.tool_calls == (ToolCall("c", "click", "{"),)
    assert completion_of("/v1/responses", api_of("/v1/responses").stream(responses)) == said


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
    api = api_of("/v1beta/models/g:generateContent")
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
    said = completion_of(GEMINI, stream_of(events))
    assert (said.text, said.reasoning, said.tokens) == ("I click.", "Hm.", (5, 5))
    assert said.tool_calls == (ToolCall("", "go", "{}"),)
    assert (said.model, said.finish_reason) == ("gemini-x", "max_tokens")
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert is_answer(GEMINI, blocked)
    assert completion_of(GEMINI, blocked).refusal == "SAFETY"
    assert api_of("/v1beta/models/g:countTokens").path == ""


ODD = [None, 1, "x", [], [None], {}, {"type": "message"}, {"content": 3}, {"content": [3, {}]}]


@pytest.mark.parametrize("path", [*APIS, "/v1/other"])
def test_requests_and_answers_of_any_form_are_read_without_an_error(path):
    api = api_of(path)
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
    assert answer_of("/v1/embeddings", b'[{"a": 1}]') == [{"a": 1}]
    assert completion_of("/v1/embeddings", [{"a": 1}]).text == '{"answer":[{"a":1}]}'
    assert answer_of("/v1/embeddings", b'{"a": NaN}') is None
    assert answer_of("/v1/embeddings", b"<html>") is None
    assert answer_of(CHAT, b"[]") is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/v1/chat/completions", CHAT),
        ("/v1/v1/messages", "/v1/messages"),
        ("/openai/v1/responses", "/v1/responses"),
        ("/deployments/x/chat/completions", CHAT),
        ("/v1/v1beta/models/g:generateContent", "/v1beta/models/g:generateContent"),
        ("/rerank", "/rerank"),
    ],
)
def test_the_path_of_a_request_is_without_the_part_of_its_server(url, path):
    assert path_of(url) == path
