"""Actions as tools: schemas, the reading of calls, and calls that no model should make."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miniwob_agent import (
    KEYS,
    Action,
    BadCall,
    Case,
    Click,
    Copy,
    Element,
    Limits,
    Press,
    StepLimit,
    Transition,
    Wait,
    action_of_call,
    run_episode,
    tools_of,
)
from pytest_miniwob_agent.testing import FakeEnvironment, ScriptedLLM

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
    assert len(names) == len(get_args(Action))


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
    click["function"]["parameters"]["required"].clear()
    assert tools_of([Click]) != [click]


def test_only_types_of_actions_have_tools():
    with pytest.raises(TypeError, match="not <class 'int'>"):
        tools_of([Click, int])


def test_what_is_left_out_may_be_null_or_blank():
    assert action_of_call("click", '{"element": 4, "at": null}') == Click(4)
    assert action_of_call("copy", "") == Copy()


def test_a_whole_number_may_be_written_as_a_float():
    action = action_of_call("click", '{"element": 4.0}')
    assert str(action) == "click id=4"


BAD_CALLS = {
    "an unknown tool": ("submit", "{}", "there is no tool 'submit'; the tools are click, enter,"),
    "no JSON": ("click", "id=4", "the arguments are not valid JSON"),
    "half a JSON": ("click", '{"element": 4', "the arguments are not valid JSON"),
    "a list": ("click", "[4]", "the arguments must be a JSON object, not a list of 1"),
    "no object": ("click", "null", "the arguments must be a JSON object, not null"),
    "nothing": ("click", "", "click lacks its argument element: an integer from 1 to 999,999,999"),
    "a null": ("click", '{"element": null}', "element must be an integer from 1 to"),
    "a text": ("click", '{"element": "4"}', "element must be an integer .*, not '4'"),
    "a half": ("click", '{"element": 4.5}', "element must be an integer .*, not 4.5"),
    "a truth": ("click", '{"element": true}', "element must be an integer .*, not true"),
    "NaN": ("wait", '{"seconds": NaN}', "must be a number from 0.001 to 60, not a number out of"),
    "Infinity": ("wait", '{"seconds": -Infinity}', "not a number out of range"),
    "a huge number": ("click", '{"element": ' + "9" * 400 + "}", "not a number out of range"),
    "too many digits": ("click", '{"element": ' + "9" * 5000 + "}", "are not valid JSON"),
    "another field": ("copy", '{"element": 4}', "copy has no argument 'element'; it takes none"),
    "an id": ("click", '{"id": 4}', "click has no argument 'id'; its arguments are element, at"),
    "another key": ("hold", '{"key": "META"}', "key must be one of CTRL, SHIFT, ALT, not 'META'"),
    "half a place": ("click", '{"element": 4, "at": [1]}', "at must be a list of 2 numbers, .* 1$"),
    "one point": ("drag_from", '{"points": [[1, 2]]}', "points must be a list of 2 to 100 points"),
    "a nested place": ("click_at", '{"point": [[1], {}]}', "point must be .*, not a list of 1"),
    "half a character": ("type", r'{"text": "\ud800"}', "text has half of a surrogate pair"),
    "a long text": ("type", {"text": "x" * 10**6}, "not a text of 1,000,000 characters that"),
    "long arguments": ("type", '{"text": "' + "x" * 10**6 + '"}', "not a text of 1,000,000 char"),
    "deep arguments": ("click", '{"element":' * 4000, "the arguments are not valid JSON"),
    "deep objects": ("click", {"element": {"a": {"b": []}}}, "element must be .*, not an object"),
    "other objects": ("click", {"element": object()}, "not something that is not JSON"),
    "other keys": ("click", {1: 2}, "click has no argument 1;"),
    "no arguments": ("click", None, "the arguments must be a JSON object, not null"),
    "no name": (None, "{}", "there is no tool null"),
    "a list as name": (["click"], "{}", "there is no tool a list of 1"),
}


@pytest.mark.parametrize(("name", "arguments", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_is_named_shortly(name, arguments, message):
    with pytest.raises(BadCall, match=message) as caught:
        action_of_call(name, arguments)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isascii()


def values_of(schema):
    """Values that a schema allows."""
    match schema:
        case {"enum": names}:
            return st.sampled_from(names)
        case {"type": "string", "maxLength": most}:
            return st.text(max_size=min(most, 20))
        case {"type": "array", "items": items, "minItems": least, "maxItems": most}:
            return st.lists(values_of(items), min_size=least, max_size=min(most, 4))
        case {"type": "integer", "minimum": least, "maximum": most}:
            return st.integers(least, most)
        case {"type": "number", "minimum": least, "maximum": most}:
            return st.floats(least, most)
    raise AssertionError(schema)


def arguments_of(tool):
    parameters = tool["function"]["parameters"]
    values = {name: values_of(schema) for name, schema in parameters["properties"].items()}
    required = {name: values.pop(name) for name in parameters["required"]}
    return st.fixed_dictionaries(required, optional=values)


good_calls = st.sampled_from(tools_of(Action)).flatmap(
    lambda tool: st.tuples(st.just(tool["function"]["name"]), arguments_of(tool))
)


@given(good_calls)
def test_what_a_schema_allows_is_read(call):
    name, arguments = call
    assert action_of_call(name, json.dumps(arguments)) == action_of_call(name, arguments)


any_text = st.text(st.characters(exclude_categories=()))
rubbish = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), any_text, st.binary()),
    lambda part: st.lists(part) | st.dictionaries(any_text, part),
)
names = st.sampled_from([name for name, _, _ in CALLS])
fields = st.sampled_from([field for _, arguments, _ in CALLS for field in arguments])
spoilt = st.builds(
    lambda call, field, value: (call[0], {**call[1], field: value}), good_calls, fields, rubbish
)


@given(
    st.one_of(
        st.tuples(names | any_text, rubbish | any_text | st.dictionaries(fields, rubbish)), spoilt
    )
)
def test_a_call_is_an_action_or_a_bad_call_and_nothing_else(call):
    name, arguments = call
    try:
        read = str(action_of_call(name, arguments))
    except BadCall as error:
        read = str(error)[:300]
    assert read.encode()


class Playing:
    """An agent that is one function of its environment."""

    name = "playing"

    def __init__(self, play):
        self.play = play

    def solve(self, env, llm, note):
        self.play(env)


def fake_page():
    buttons = [Element(1, "button", "ONE"), Element(2, "button", "TWO")]
    return FakeEnvironment("Click TWO.", {"start": buttons}, rewards={("start", "click id=2"): 1.0})


def in_an_episode(play):
    """Call a function with what an agent gets; returns the episode."""
    case = Case("any", "other", 0)
    return run_episode(
        case, Playing(play), fake_page(), ScriptedLLM([]), Limits(steps=2), model="scripted"
    )


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
