"""Causes of drift, above all of conversations, and the lines of two texts that differ."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.answers import completion

from pytest_miniwob_agent.cassettes.drift import diff, drift_of_call, heading
from pytest_miniwob_agent.cassettes.files import Pictures
from pytest_miniwob_agent.cassettes.tape import Call, Request
from pytest_miniwob_agent.core.errors import Cause
from pytest_miniwob_agent.core.events import OF_TEST, Origin
from pytest_miniwob_agent.models.apis import CHAT

from .cassette_files import BODY, ENTER, TOOL

ORIGIN = Origin("act", 1, 1, {}, "a" * 12, "b" * 12)


def changed(body, place, value):
    """A copy of a body with another value at a place; None takes it out."""
    body = json.loads(json.dumps(body))
    part = body
    for key in place[:-1]:
        part = part[key]
    if value is None:
        del part[place[-1]]
    elif isinstance(part, list) and place[-1] == len(part):
        part.append(value)
    else:
        part[place[-1]] = value
    return body


def drift(body, *, path=CHAT, origin=ORIGIN, calls=()):
    recorded = [
        asked if isinstance(asked, Call) else Call(Request(CHAT, asked), completion(), ORIGIN)
        for asked in calls or [BODY]
    ]
    pictures = Pictures(Path())
    return drift_of_call(Path("1.yaml"), Request(path, body), origin, recorded, 0, pictures)


def test_prompt_files_are_named_where_a_text_is_made_of_some():
    origin = replace(ORIGIN, prompts={"plan.txt": "abc"})
    call = Call(Request(CHAT, BODY), completion(), origin)
    slow = changed(BODY, ("messages", 0, "content"), "Be slow.")
    found = drift(slow, origin=origin, calls=[call])
    [cause] = found.causes
    assert cause.what.endswith("different text from the same prompt files, actions and page")


TEXT = "different text from the same actions and page"
FUNCTION = ("tools", 0, "function")


@pytest.mark.parametrize(
    ("place", "value", "kind", "what"),
    [
        (("messages", 0, "content"), "Be slow.", "agent", f"message 1 (system): {TEXT}"),
        (("messages", 3, "content"), "one\n2", "agent", f"message 4 (tool): {TEXT}"),
        (("messages", 0, "role"), "developer", "agent",
         "message 1 (developer): its role system, now developer"),
        (("messages", 2, "tool_calls", 0, "function", "name"), "tap", "agent",
         "message 3 (assistant): its tool calls"),
        (("messages", 2, "tool_calls", 0, "id"), "c2", "agent",
         "message 3 (assistant): the ids of its tool calls"),
        (("messages", 3, "tool_call_id"), "c2", "agent",
         "message 4 (tool): the id of its tool call"),
        (("messages", 4), {"role": "user", "content": "On."}, "agent", "message 5 (user): added"),
        (("messages", 3), None, "agent", "message 4 (tool): removed"),
        ((*FUNCTION, "description"), "Tap it.", "tools", "the tool click: description"),
        ((*FUNCTION, "parameters", "properties", "element", "type"), "string", "tools",
         "the tool click: parameters.properties.element.type"),
        ((*FUNCTION, "name"), "tap", "tools", "the tool click: removed, the tool tap: added"),
        (("tools",), [ENTER, TOOL], "tools", "the order of its tools"),
        (("tools", 0, "strict"), True, "agent", "tools[0].strict"),
        (("temperature",), 1, "model", "temperature 0, now 1"),
    ],
)  # fmt: skip
def test_the_cause_names_what_changed(place, value, kind, what):
    [cause] = drift(changed(BODY, place, value)).causes
    assert (cause.kind, cause.what) == (kind, what)


def test_the_lines_that_changed_are_shown_below_their_message():
    found = drift(changed(BODY, ("messages", 3, "content"), "one\n2\nthree"))
    assert str(found).endswith(
        "What changed (- recorded, + now):\nmessage 4 (tool):\n  one\n- two\n+ 2\n  three"
    )
    assert found.changes == ("- two", "+ 2")


def test_prompt_files_and_pages_are_named_with_their_message():
    body = changed(BODY, ("messages", 3, "content"), "one\n2\nthree")
    origin = Origin("act", 1, 1, {"system.txt": "0" * 12}, "a" * 12, "c" * 12)
    assert [(cause.kind, cause.what) for cause in drift(body, origin=origin).causes] == [
        ("prompt", "system.txt, see message 4 (tool)"),
        ("page", "message 4 (tool): 2"),
    ]
    acted = Origin("act", 1, 1, {}, "e" * 12, "c" * 12)
    assert [(cause.kind, cause.what) for cause in drift(body, origin=acted).causes] == [
        ("agent", "its actions before this call, see message 4 (tool)")
    ]
    of_test = Call(Request(CHAT, BODY), completion(), OF_TEST)
    [cause] = drift(body, origin=OF_TEST, calls=[of_test]).causes
    assert cause.what == "message 4 (tool): different text from the test"


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("Today: 2026-11-22", "Today: 2026-11-23", "the date 2026-11-22, now 2026-11-23"),
        ("See /tmp/a/b.", "See /tmp/c/d.", "the path /tmp/a/b, now /tmp/c/d"),
        ("At 127.0.0.1:80", "At 127.0.0.1:81", "the address 127.0.0.1:80, now 127.0.0.1:81"),
    ],
)
def test_a_text_that_differs_from_run_to_run_is_named(before, after, named):
    then, now = (changed(BODY, ("messages", 0, "content"), text) for text in (before, after))
    [cause] = drift(now, calls=[then]).causes
    assert cause.kind == "agent"
    assert cause.what.startswith(f"text that differs from run to run: {named}.")
    both = drift(changed(now, ("messages", 1, "content"), "More."), calls=[then]).causes
    assert [cause.what.split(":")[0] for cause in both] == [
        "message 2 (user)",
        "text that differs from run to run",
    ]
    other_page = replace(ORIGIN, page="c" * 12)
    [cause] = drift(now, origin=other_page, calls=[then]).causes
    assert cause.kind == "page"


def test_all_that_differs_from_run_to_run_is_named_at_once_in_parameters_too():
    texts = ("In /tmp/a on 2026-11-22, Zoe.", "In /tmp/b on 2026-11-23, Zoe.")
    then, now = (
        changed(changed(BODY, ("messages", 0, "content"), text), ("metadata",), {"id": digit * 64})
        for text, digit in zip(texts, "ab", strict=True)
    )
    found = drift(now, calls=[then], origin=replace(ORIGIN, purpose="completions"))
    [cause] = found.causes
    for named in ("path /tmp/a, now /tmp/b", "date 2026-11-22, now 2026-11-23", "hex aaa"):
        assert named in cause.what
    assert "masked(request, " in str(found)
    assert "DATE.after(' on ')" in str(found)
    assert "--miniwob" not in str(found)


def test_no_option_is_advised_for_what_a_client_sends_itself():
    of_client = replace(ORIGIN, purpose="completions")
    assert "It is replayed" not in str(drift(changed(BODY, ("top_p",), 1), origin=of_client))


def test_a_text_that_is_masked_by_now_is_none_that_differs_from_run_to_run():
    texts = ("Today: 2026-11-22", "Today: <date>")
    then, now = (changed(BODY, ("messages", 0, "content"), text) for text in texts)
    [cause] = drift(now, calls=[then]).causes
    assert cause.what.startswith("message 1 (system): different text")


def test_tools_and_messages_are_both_named():
    body = changed(BODY, ("messages", 0, "content"), "Be slow.")
    causes = drift(changed(body, ("tools", 1), None)).causes
    assert [cause.kind for cause in causes] == ["tools", "agent"]


def test_another_api_is_named_and_of_an_unknown_one_the_parts_of_its_json():
    body = {"model": "m", "input": "Click Save.", "max_output_tokens": 9}
    [cause] = drift(body, path="/v1/responses").causes
    assert (cause.kind, cause.what) == ("api", "the API /v1/chat/completions, now /v1/responses")
    path, before = "/v1beta/m:go", {"contents": [{"text": "Go."}], "config": {"t": 0}}
    after = changed(changed(before, ("contents", 0, "text"), "Stop."), ("config", "t"), 1)
    calls = [Call(Request(path, before), {"a": 1}, ORIGIN)]
    [cause] = drift(after, path=path, calls=calls).causes
    assert (cause.kind, cause.what) == ("agent", f"config.t, contents[0].text: {TEXT}")


def test_of_long_parameters_the_parts_that_changed_are_named():
    schema = {"type": "object", "properties": {str(n): {"type": "string"} for n in range(20)}}
    before = changed(BODY, ("response_format",), schema)
    after = changed(before, ("response_format", "properties", "7", "type"), "integer")
    [cause] = drift(after, calls=[before]).causes
    assert cause.what == "response_format.properties.7.type"


def test_an_option_is_advised_for_parameters_that_the_agent_does_not_give_itself():
    required = changed(BODY, ("tool_choice",), "required")
    advice = "It is replayed with: --miniwob-llm-params='{\"temperature\": 0}' "
    assert advice in str(drift(changed(required, ("temperature",), 1), calls=[required]))
    assert "It is replayed with" not in str(drift(required))
    model = str(drift(changed(BODY, ("model",), "n")))
    assert 'the model or its parameters: model "m", now "n"' in model
    assert model.endswith("It is replayed with: --miniwob-model=m")


def test_the_nearest_call_is_the_one_with_the_most_messages_in_common():
    first = changed(changed(BODY, ("messages", 3), None), ("messages", 2), None)
    third = changed(BODY, ("messages", 4), {"role": "user", "content": "Go on."})
    bodies = [first, BODY, third]
    for number, body in enumerate(bodies, start=1):
        now = changed(body, ("messages", 0, "content"), "Be slow.")
        assert f"The most similar is call {number} (" in str(drift(now, calls=bodies))
    without_tools = changed(BODY, ("tools",), None)
    now = changed(without_tools, ("messages", 3, "content"), "one\n2\nthree")
    assert "The most similar is call 2 (" in str(drift(now, calls=[BODY, without_tools]))


def test_a_heading_does_not_repeat_without_detail_what_it_says_in_detail():
    """Agents that also list their tools in a message have both causes at once."""
    tool = Cause("tools", "the tool click: its description")
    message = Cause("agent", "message 1 (system): different text")
    named = "the agent changed: the tool click: its description"
    assert heading([tool, message]) == named
    assert (
        heading([Cause("page", "<a>"), message, message])
        == "the page changed, and the agent changed"
    )
    assert heading([tool, Cause("page", "<a>")]) == f"{named}, and the page changed"


def test_a_long_line_is_folded_around_its_change():
    head = "word " * 200
    old, new = f"{head}left {head}", f"{head}right {head}"
    minus, plus = diff(old, new)
    assert "left" in minus
    assert "right" in plus
    assert len(minus) < 120
    assert minus.startswith("- … word")
    assert minus.endswith("…")


def test_lines_that_differ_are_marked():
    assert diff("a\nb\nc", "a\nc\nd") == ["  a", "- b", "  c", "+ d"]
    assert diff("a" * 500, "b" * 500) == ["- " + "a" * 500, "+ " + "b" * 500]


def test_unchanged_lines_are_folded():
    lines = [str(number) for number in range(20)]
    changed = [*lines[:10], "ten", *lines[11:]]
    assert diff("\n".join(lines), "\n".join(changed)) == [
        "  … 8 unchanged lines", "  8", "  9", "- 10", "+ ten", "  11", "  12",
        "  … 7 unchanged lines",
    ]  # fmt: skip
