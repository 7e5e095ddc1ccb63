"""The agent of native tool calls: what it carries out, and what its conversation is."""

import json
from dataclasses import replace

import pytest
from support import scripted

from pytest_miniwob_agent import (
    Click,
    Completion,
    Element,
    Ending,
    Enter,
    ToolCall,
    TrialEnded,
)
from pytest_miniwob_agent.agents.registry import load_agent
from pytest_miniwob_agent.models.apis import CHAT, parse_completion
from pytest_miniwob_agent.plugins.tools.agent import CALLS_LIMIT, SCREENS_LIMIT, ToolsAgent
from pytest_miniwob_agent.testing import FakePage

MENU, FIELD, SAVE = (
    Element(1, "button", "Menu"),
    Element(2, "input_text", value=""),
    Element(3, "a", "Save"),
)


def calls(*made, text=""):
    texts = [(name, given if isinstance(given, str) else json.dumps(given)) for name, given in made]
    made = tuple(ToolCall(f"id-{number}", *call) for number, call in enumerate(texts))
    return Completion(text, tool_calls=made)


def click(element):
    return "click", {"element": element}


def page():
    return FakePage(
        "Save the file.",
        screens={"closed": [MENU], "open": [MENU, FIELD, SAVE]},
        moves={("closed", "click id=1"): "open", ("open", "click id=1"): "closed"},
        rewards={("open", "click id=3"): 1.0, ("open", 'enter "x" to id=2'): -1.0},
    )


def play(answers, env=None, trials=1, steps=30, **params):
    env = env or page()
    episode, llm = scripted.play(ToolsAgent(**params), env, answers, trials=trials, steps=steps)
    ends = [event for event in episode.events if isinstance(event, TrialEnded)]
    return env, [json.loads(json.dumps(request.body)) for request in llm.requests], ends


def contents(messages):
    return [message["content"] for message in messages]


def test_each_answer_leads_to_the_screen_that_the_next_one_is_made_for():
    env, requests, ends = play([calls(click(1)), calls(click(3), click(1))])
    assert env.actions == [[Click(1), Click(3)]]
    assert [end.ending for end in ends] == [Ending.CORRECT]
    first, second = (request["messages"] for request in requests)
    assert [message["role"] for message in first] == ["system", "user"]
    assert first[1]["content"].startswith("The goal: Save the file.\n\nThe screen now:\n<button")
    assert second[:2] == first
    function = {"name": "click", "arguments": '{"element": 1}'}
    call = {"id": "call00001", "type": "function", "function": function}
    assert second[2] == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert (second[3]["role"], second[3]["tool_call_id"]) == ("tool", "call00001")
    assert second[3]["content"].startswith("Done. The screen has changed.\n\nThe screen now:\n<")
    assert 'id="3"' in second[3]["content"]


def test_calls_of_one_answer_are_carried_out_in_order_and_answered_one_by_one():
    arguments = {"text": "y", "element": 2}
    both = calls(click(1), ("enter", arguments), text="First this.")
    env, requests, _ = play([both, calls(click(3))])
    assert env.actions == [[Click(1), Enter("y", 2), Click(3)]]
    answer, *results = requests[1]["messages"][2:]
    assert answer["content"] == "First this."
    assert [result["tool_call_id"] for result in results] == ["call00001", "call00002"]
    assert results[0]["content"] == "Done. The screen has changed."
    assert results[1]["content"].startswith("Done. The screen has not changed.\n\nThe screen now:")


def test_calls_after_one_that_fails_are_left_out_and_the_model_sees_why():
    env, requests, _ = play([calls(click(1), click(9), click(3)), calls(click(3))])
    assert env.actions == [[Click(1), Click(9), Click(3)]]
    done, failed, skipped = contents(requests[1]["messages"][3:])
    assert done == "Done. The screen has changed."
    assert failed == "Not done: there is no element with id=9 on the screen."
    assert skipped.startswith("Left out, because a call before it could not be carried out.\n\nThe")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (("submit", "{}"), "there is no such tool; the tools are click, enter, press, hold, rel"),
        (("click", "id=1"), "the arguments are not valid JSON"),
        (("click", '{"element": "1"}'), 'element must be {"type": "integer"'),
    ],
)
def test_a_bad_call_is_answered_with_its_error_and_is_not_an_action(call, error):
    env, requests, _ = play([calls(call), calls(click(1), click(3))])
    assert env.actions == [[Click(1), Click(3)]]
    assert requests[1]["messages"][3]["content"].startswith(f"Not done: {error}")


def test_an_answer_without_calls_gets_one_reminder():
    answers = [Completion("Hm."), calls(click(1)), Completion(""), calls(click(3))]
    env, requests, ends = play(answers)
    assert ends[0].ending is Ending.CORRECT
    assert contents(requests[1]["messages"][2:])[0] == "Hm."
    assert requests[1]["messages"][3]["content"].startswith("You called no tool")
    assert contents(requests[3]["messages"])[-2] == "(no answer)"
    env, requests, ends = play([Completion("Done."), Completion("", refusal="No.")])
    assert ends[0].ending is Ending.INCOMPLETE
    assert env.actions == [[]]


def test_a_trial_ends_where_nothing_can_be_carried_out_any_more():
    good, bad = calls(click(1)), calls(("click", "[]"), click(1))
    env, _, ends = play([bad, bad, good, bad, bad, bad])
    assert ends[0].ending is Ending.EXCEPTION
    assert ends[0].detail.startswith("the arguments must be a JSON object")
    assert env.actions == [[Click(1)]]


def test_a_second_trial_begins_with_what_the_first_one_did():
    enter = ("enter", {"text": "x", "element": 2})
    nothing = Completion("")
    answers = [calls(click(1), enter), nothing, nothing, calls(click(1), click(3))]
    _env, requests, ends = play(answers, trials=3)
    assert [end.ending for end in ends] == [Ending.FAILED, Ending.INCOMPLETE, Ending.CORRECT]
    second = requests[1]["messages"]
    assert len(second) == 2
    assert "the page judged your work to be wrong" in second[1]["content"]
    assert '- click {"element": 1}\n- enter {"text": "x", "element": 2}' in second[1]["content"]
    assert "stopped calling tools" in requests[3]["messages"][1]["content"]
    assert "- nothing" in requests[3]["messages"][1]["content"]


def test_a_trial_whose_actions_are_used_up_is_followed_by_another():
    answers = [calls(*[click(1)] * 9), calls(click(1)), calls(click(3))]
    _env, requests, ends = play(answers, trials=2, steps=4)
    assert [end.ending for end in ends] == [Ending.STEP_LIMIT, Ending.CORRECT]
    assert "you had used up all actions" in requests[1]["messages"][1]["content"]


def test_an_answer_is_sent_back_in_a_form_that_servers_take():
    """No invalid arguments, names, characters or ids, and no answer without end."""
    answers = [
        Completion(
            "\ud800" + "x" * 9_000,
            tool_calls=(
                ToolCall("same", "click", '{"element": 1}'),
                ToolCall("same", "a b\n\ud800", "{" * 9_000),
                ToolCall("", "copy", ""),
                ToolCall("", "press", '{"key": "\ud800"}'),
                ToolCall("", "press", '{"key": "\\ud800"}'),
            ),
        ),
        calls(("type", json.dumps({"text": "x" * 20_000}))),
        calls(click(3)),
    ]
    _, requests, ends = play(answers)
    assert ends[0].ending is Ending.CORRECT
    messages = requests[2]["messages"]
    json.dumps(messages, ensure_ascii=False).encode()
    answer, second = (message for message in messages if message["role"] == "assistant")
    assert answer["content"].startswith("\ufffdx")
    assert len(answer["content"]) == 4_000
    assert [call["id"] for call in answer["tool_calls"]] == [f"call0000{n}" for n in range(1, 6)]
    names = [call["function"]["name"] for call in answer["tool_calls"]]
    assert names == ["click", "unknown", "copy", "press", "press"]
    for call in (*answer["tool_calls"], *second["tool_calls"]):
        given = json.loads(call["function"]["arguments"])
        assert isinstance(given, dict)
        json.dumps(given, ensure_ascii=False).encode()
        assert len(call["function"]["arguments"]) < 100


def test_what_a_provider_adds_goes_back_with_the_answer():
    extra = {"google": {"thought_signature": "SIG"}}
    function = {"name": "click", "arguments": '{"element": 1}', "signed": "SIG"}
    signed = "call_1__thought__" + "SIG" * 30
    message = {
        "role": "assistant", "content": "First.", "reasoning_content": "", "refusal": None,
        "tool_calls": [
            {"id": "x", "type": "function", "function": function, "extra_content": extra},
            {"id": signed, "type": "function", "function": {**function, "arguments": "{"}},
        ],
    }  # fmt: skip
    answer = parse_completion(CHAT, {"choices": [{"message": message, "finish_reason": "stop"}]})
    thought = {"role": "assistant", "content": "Hm.", "thinking_blocks": [{"signature": "SIG"}]}
    silent = parse_completion(CHAT, {"choices": [{"message": thought, "finish_reason": "stop"}]})
    _, requests, _ = play([answer, silent, calls(click(3))])
    back = requests[-1]["messages"]
    assert back[2] == {
        "role": "assistant", "content": "First.", "reasoning_content": "",
        "tool_calls": [
            {"id": "call00001", "type": "function", "function": function, "extra_content": extra},
            {"id": signed, "type": "function", "function": {**function, "arguments": "{}"}},
        ],
    }  # fmt: skip
    assert [message.get("tool_call_id") for message in back[3:5]] == ["call00001", signed]
    assert back[5] == thought


def test_of_endless_calls_only_the_first_are_kept():
    answers = [calls(*[click(1)] * 1_001), calls(click(1), click(3))]
    env, requests, _ = play(answers, steps=CALLS_LIMIT + 9)
    assert len(env.actions[0]) == CALLS_LIMIT + 2
    answer, *results = requests[1]["messages"][2:]
    assert len(answer["tool_calls"]) == len(results) == CALLS_LIMIT
    assert "Only the first 50 calls" in results[-1]["content"]


def test_older_screens_of_a_long_conversation_are_left_out():
    elements = [MENU, Element(None, "p", "x" * 5_000)]
    env = FakePage("Go on.", {"one": elements, "two": [*elements, FIELD]})
    env.moves = {("one", "click id=1"): "two", ("two", "click id=1"): "one"}
    answers = [calls(click(1), text=f"thought {number}") for number in range(8)]
    _, requests, _ = play(answers, env, steps=7)
    last = requests[-1]["messages"]
    assert last[1]["content"].startswith("The goal: Go on.\n\n(The screen of that moment is left")
    assert sum("The screen now:" in text for text in contents(last) if text) == 3
    assert last[-2]["content"] == "thought 6"
    assert "The screen now:" in last[-1]["content"]


def test_a_screen_without_end_is_cut():
    env = FakePage("Go on.", {"one": [Element(1, "p", "x" * 90_000)]})
    _, requests, _ = play([Completion(""), Completion("")], env)
    assert len(requests[1]["messages"][1]["content"]) < SCREENS_LIMIT + 500


@pytest.mark.parametrize(
    ("params", "name", "tools"),
    [
        ({}, "tools", 5),
        ({"screen": "compact"}, "tools-compact-screen", 5),
        ({"screen": "full"}, "tools-full-screen", 5),
        ({"actions": "all"}, "tools-all-actions", 14),
        ({"screen": "full", "actions": "all"}, "tools-full-screen-all-actions", 19),
        ({"screen": "tree"}, "tools-tree-screen", 5),
        ({"screen": "tree", "actions": "all"}, "tools-tree-screen-all-actions", 16),
    ],
)
def test_name_and_tools_are_those_of_the_parameters(params, name, tools):
    assert load_agent("tools", params=params).name == name
    _, requests, _ = play([Completion(""), Completion("")], **params)
    offered = [tool["function"]["name"] for tool in requests[0]["tools"]]
    assert len(offered) == tools
    assert offered[:5] == ["click", "enter", "press", "hold", "release"]
    assert ("wait" in offered) == (tools > 14)
    assert ("click_at" in offered) == (tools == 19)


class OwnFakePage(FakePage):
    """A page of one's own, in one of several tabs, or alone."""

    tabs = 0

    def reset(self, *, screen="compact"):
        return replace(super().reset(screen=screen), further=True, tabs=self.tabs)


@pytest.mark.parametrize(
    ("params", "tabs", "further"),
    [
        ({}, 0, ["go_back", "go_forward", "reload"]),
        ({}, 2, ["go_back", "go_forward", "reload", "close_tab"]),
        (
            {"actions": "all"}, 0,
            ["click_with", "press_keys", "scroll_with", "go_back", "go_forward", "reload"],
        ),
    ],
)  # fmt: skip
def test_further_tools_are_offered_on_pages_that_take_them(params, tabs, further):
    env = OwnFakePage("Go on.", {"one": [Element(1, "p", "x")]})
    env.tabs = tabs
    _, requests, _ = play([Completion(""), Completion("")], env, **params)
    offered = [tool["function"]["name"] for tool in requests[0]["tools"]]
    assert offered[-len(further) :] == further
    assert len(offered) == len(further) + (14 if params else 5)


class AppFakePage(FakePage):
    """A page of an app."""

    def reset(self, *, screen="compact"):
        return replace(super().reset(screen=screen), further=True, answers=True)


@pytest.mark.parametrize(
    ("params", "points"), [({}, 0), ({"actions": "paper", "screen": "full"}, 3)]
)
def test_on_apps_all_tools_are_offered_without_a_parameter(params, points):
    env = AppFakePage("Go on.", {"one": [Element(1, "p", "x")]})
    _, requests, _ = play([Completion(""), Completion("")], env, **params)
    offered = [tool["function"]["name"] for tool in requests[0]["tools"]]
    assert {"choose", "scroll", "wait", "answer", "press_keys", "go_back"} <= {*offered}
    assert len(offered) == 16 + points + 1 + 6


def test_the_full_screen_is_asked_for_and_explained():
    env = FakePage("Go on.", {"one": [Element(1, "p", "x", details=(("box", "0,0,9,9"),))]})
    _, requests, _ = play([Completion(""), Completion("")], env, screen="full")
    system, user = contents(requests[0]["messages"])
    assert '"box" is its place' in system
    assert 'box="0,0,9,9"' in user


def test_the_tree_is_asked_for_and_explained():
    box = Element(1, "input_checkbox", "On", details=(("state", "checked"),), role="checkbox")
    env = FakePage("Go on.", {"one": [Element(2, "ul", role="list"), replace(box, depth=1)]})
    _, requests, _ = play([Completion(""), Completion("")], env, screen="tree")
    system, user = contents(requests[0]["messages"])
    assert "A screen is a tree" in system
    assert user.endswith('list id=2\n  checkbox "On" id=1 checked')
