"""Cassettes that are written without a recording."""

from pytest_miniwob_agent import Origin
from pytest_miniwob_agent.cassettes.format import write_cassette
from pytest_miniwob_agent.cassettes.tape import Call, Request

ORIGIN = Origin("plan", 1, 0, {"plan.txt": "0" * 12, "actions.txt": "1" * 12}, "a" * 12, "b" * 12)


TOOL = {
    "type": "function",
    "function": {
        "name": "click",
        "description": "Click an element.",
        "parameters": {"type": "object", "properties": {"element": {"type": "integer"}}},
    },
}
ENTER = {"type": "function", "function": {"name": "enter", "description": "Enter a text."}}
CALL = {"id": "c1", "type": "function", "function": {"name": "click", "arguments": '{"element":1}'}}
MESSAGES = [
    {"role": "system", "content": "Be quick."},
    {"role": "user", "content": [{"type": "text", "text": "Click Save."}, {"picture": "a"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "one\ntwo\nthree"},
]
BODY = {"model": "m", "messages": MESSAGES, "tools": [TOOL, ENTER], "temperature": 0}
"""The body of a request with messages of all roles and two tools."""


def make_call(prompt="one", text="click id=1", origin=ORIGIN, usage=None, model="m"):
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], "temperature": 0}
    message = {"role": "assistant", "content": text}
    answer = {"model": "m", "choices": [{"index": 0, "message": message}]}
    return Call(
        Request("/v1/chat/completions", body), answer | ({"usage": usage} if usage else {}), origin
    )


def plant(folder, name, text=None, model="m"):
    """Write a file of the cassette folder, by default a cassette whose prompt is its name."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if text is None:
        write_cassette(path, [make_call(name, model=model)])
    else:
        path.write_text(text, encoding="utf-8")
    return path
