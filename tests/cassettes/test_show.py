"""`miniwob-agent cassettes show`: the calls of a cassette as a conversation to read."""

from answers import completion
from cassette_files import BODY, MESSAGES, ORIGIN

from pytest_miniwob_agent.cassettes.folder.show import shown_calls
from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.cassettes.format.file import write_cassette
from pytest_miniwob_agent.models.apis import CHAT


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
