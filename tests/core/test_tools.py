"""Actions as tools: schemas, the reading of calls, and calls that no model should make."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scripted import Solving, play

from pytest_miniwob_agent import (
    KEYS,
    Action,
    Click,
    Copy,
    Element,
    InvalidToolCall,
    Press,
    StepLimit,
    Transition,
    Wait,
    action_of_call,
    tools_of,
)
from pytest_miniwob_agent.testing import FakePage

CALLS = [
    ("click", {"element": 4}, "click id=4"),
    ("click", {"element": 4, "at": [10, 25.5]}, "click id=4 at 10,25.5"),
    ("enter", {"text": "a\nb", "element": 7}, 'enter "a\nb" to id=7'),
    ("press", {"key": "ENTER"}, "press ENTER"),
    ("press", {"key": "ARROWDOWN", "times": 3}, "press ARROWDOWN x 3"),
    ("hold", {"key": "CTRL"}, "hold CTRL"),
    ("release", {"key": "CTRL"}, "release CTRL"),
    ("type", {"text": ""}, 'type ""'),
    ("double_click", {"element": 4}, "double click id=4"),
    ("hover", {"element": 4, "at": [1, 2]}, "hover id=4 at 1,2"),
    ("drag", {"element": 4, "to": 5}, "drag id=4 to id=5"),
    ("drag", {"element": 4, "end": [30, -5]}, "drag id=4 by 30,-5"),
    ("select", {"element": 8, "text": "word"}, 'select "word" in id=8'),
    ("scroll", {"element": 8, "pixels": -100}, "scroll id=8 by -100"),
    ("choose", {"option": "France", "element": 6}, 'choose "France" in id=6'),
    ("copy", {}, "copy"),
    ("paste", {}, "paste"),
    ("click_at", {"point": [40, 120]}, "click at 40,120"),
    ("hover_at", {"point": [40, 120]}, "hover at 40,120"),
    ("drag_from", {"points": [[1, 2], [3, 4]]}, "drag from 1,2 to 3,4"),
    ("wait", {"seconds": 2.5}, "wait 2.5 s"),
    ("follow", {"element": 4, "seconds": 5}, "follow id=4 for 5 s"),
]


@pytest.mark.parametrize(("name", "arguments", "written"), CALLS)
def test_a_call_is_the_action_of_its_name(name, arguments, written):
    action = action_of_call(name, json.dumps(arguments))
    assert str(action) == written
    assert action_of_call(name, arguments) == action
    assert type(action).__name__.lower() == name.replace("_", "")


def test_every_action_has_a_tool():
    names = [tool["function"]["name"] for tool in tools_of(Action)]
    assert sorted(names) == sorted({name for name, _, _ in CALLS})


def test_a_tool_has_the_form_of_the_chat_completions_api():
    (tool,) = tools_of([Press])
    function = tool["function"]
    assert (tool["type"], function["name"]) == ("function", "press")
    assert function["description"].startswith("Press and release a key. Keys go to the field or ")
    assert "\n" not in function["description"]
    parameters = function["parameters"]
    assert parameters["properties"] == {
        "key": {"type": "string", "enum": list(KEYS)},
        "times": {
            "type": "integer", "minimum": 1, "maximum": 100,
            "description": "how many times; once if left out",
        },
    }  # fmt: skip
    assert (parameters["required"], parameters["additionalProperties"]) == (["key"], False)


def test_definitions_are_in_order_once_and_can_be_changed():
    wait, click = tools_of([Wait, Click, Wait])
    assert tools_of(Wait | Click) == [wait, click]
    click["function"]["parameters"]["properties"]["at"]["items"]["minimum"] = 0
    assert tools_of([Click]) != [click]
    with pytest.raises(TypeError, match="not <class 'int'>"):
        tools_of([Click, int])


def test_what_is_left_out_may_be_null_or_blank_and_a_whole_number_a_float():
    assert action_of_call("click", '{"element": 4.0, "at": null}') == Click(4)
    assert action_of_call("copy", "") == Copy()


BAD_CALLS = {
    "an unknown tool": ("submit", "{}", 'there is no tool "submit"; the tools are click, enter,'),
    "no name": (None, "{}", "there is no tool null"),
    "no JSON": ("click", "id=4", "the arguments are not valid JSON"),
    "a list": ("click", "[4]", "the arguments must be a JSON object, not [4]"),
    "nothing": ("click", "", 'click lacks its argument element: {"type": "integer", "minimum": 1,'),
    "a null": ("click", '{"element": null}', 'element must be {"type": "integer"'),
    "a text": ("click", '{"element": "4"}', '"maximum": 999999999}, not "4"'),
    "a half": ("click", '{"element": 4.5}', "not 4.5"),
    "a truth": ("click", '{"element": true}', "not true"),
    "NaN": ("wait", '{"seconds": NaN}', "not NaN"),
    "a huge number": ("click", '{"element": ' + "9" * 400 + "}", f"not {'9' * 60}..."),
    "too many digits": ("click", '{"element": ' + "9" * 5000 + "}", "are not valid JSON"),
    "another field": ("copy", '{"element": 4}', 'copy has no argument "element"; its arguments'),
    "an id": ("click", '{"id": 4}', 'click has no argument "id"; its arguments are: element, at'),
    "another key": ("hold", '{"key": "META"}', '["CTRL", "SHIFT", "ALT"]}, not "META"'),
    "half a place": ("click", '{"element": 4, "at": [1]}', "not [1]"),
    "one point": ("drag_from", '{"points": [[1, 2]]}', "not [[1, 2]]"),
    "half a character": ("type", r'{"text": "\ud800"}', "text has half of a surrogate pair"),
    "a long text": ("type", {"text": "x" * 10**6}, f'"maxLength": 2000}}, not "{"x" * 59}...'),
    "deep arguments": ("click", '{"element":' * 4000, "the arguments are not valid JSON"),
    "no value of JSON": ("click", {"element": object()}, "not something that is not JSON"),
}


@pytest.mark.parametrize(("name", "arguments", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_is_named_shortly(name, arguments, message):
    with pytest.raises(InvalidToolCall) as caught:
        action_of_call(name, arguments)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isascii()


any_text = st.text(st.characters(exclude_categories=()))
rubbish = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), any_text, st.binary()),
    lambda part: st.lists(part) | st.dictionaries(any_text, part),
    max_leaves=5,
)
fields = st.sampled_from([field for _, arguments, _ in CALLS for field in arguments])
spoilt = st.builds(
    lambda call, field, value: (call[0], {**call[1], field: value}),
    st.sampled_from(CALLS),
    fields,
    rubbish,
)


@settings(max_examples=60, deadline=None)
@given(spoilt | st.tuples(any_text, rubbish | any_text))
def test_a_call_is_an_action_or_a_bad_call_and_nothing_else(call):
    name, arguments = call
    try:
        read = str(action_of_call(name, arguments))
    except InvalidToolCall as error:
        read = str(error)[:300]
    assert read.encode()


def fake_page():
    buttons = [Element(1, "button", "ONE"), Element(2, "button", "TWO")]
    return FakePage("Click TWO.", {"start": buttons}, rewards={("start", "click id=2"): 1.0})


def in_an_episode(solve):
    return play(Solving(solve), fake_page(), [], steps=2)[0]


@pytest.fixture(params=[in_an_episode, lambda play: play(fake_page())], ids=["episode", "fake"])
def with_environment(request):
    return request.param


def test_a_call_does_what_its_action_does_and_a_bad_one_is_an_error_on_the_same_screen(
    with_environment,
):
    def play(env):
        seen = env.reset()
        transition = env.call("click", '{"element": 1}')
        assert (transition.observation, transition.error) == (seen, None)
        for _ in range(5):
            bad = env.call("click", "id=1")
            assert bad == Transition(seen, error="the arguments are not valid JSON")
        judged = env.call("click", {"element": 2})
        assert judged.solved
        for arguments in ({"element": 1}, "id=1"):
            after = env.call("click", arguments)
            assert (after.done, after.reward) == (judged.done, judged.reward)
            assert after.error.startswith("the page has judged")
        env.reset()
        missing = env.call("click", {"element": 9})
        assert missing.error == "there is no element with id=9 on the screen"

    with_environment(play)


def test_a_call_before_the_first_page_is_an_error_of_the_agent(with_environment):
    with pytest.raises(RuntimeError, match=r"reset\(\)"):
        with_environment(lambda env: env.call("click", {"element": 1}))


def test_only_actions_use_up_the_actions_of_a_trial():
    def play(env):
        env.reset()
        for _ in range(5):
            env.call("submit", {})
        env.call("click", {"element": 1})
        env.call("click", {"element": 9})
        with pytest.raises(StepLimit):
            env.call("click", {"element": 2})

    assert in_an_episode(play).steps == 2
