"""Parsing of actions from lines as models write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miniwob_agent.core.actions import (
    Choose,
    Click,
    ClickAt,
    Copy,
    DoubleClick,
    Drag,
    DragFrom,
    Enter,
    Follow,
    Hold,
    Hover,
    HoverAt,
    Paste,
    Press,
    Release,
    Scroll,
    Select,
    Wait,
)
from pytest_miniwob_agent.core.parsing import ANY_VERB, Unreadable, parse_action


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("click id=6", Click(6)),
        ("Click ID=6.", Click(6)),
        ("1. click id=6", Click(6)),
        ("2) click on id 6", Click(6)),
        ("- `click id=6`", Click(6)),
        ("* **click id=6**", Click(6)),
        ("Step 3: click id = 6;", Click(6)),
        ("click #6", Click(6)),
        ("click 6", Click(6)),
        ('click the "Submit" button (id=6)', Click(6)),
        ('click id="6"', Click(6)),
        ('enter "text" to id=10', Enter("text", 10)),
        ("enter \u201ctext\u201d to id=10", Enter("text", 10)),
        ('Type "say "hi"" into id=10', Enter('say "hi"', 10)),
        ('enter "a to id=3" to id=10', Enter("a to id=3", 10)),
        ("enter 'text' in id=10", Enter("text", 10)),
        ('enter "" to id=10', Enter("", 10)),
        ('enter "end." to id=10', Enter("end.", 10)),
        ("press ARROWDOWN x 3", Press("ARROWDOWN", 3)),
        ("press arrow down x3", Press("ARROWDOWN", 3)),
        ("Press Down Arrow 3 times", Press("ARROWDOWN", 3)),
        ("press ARROWUP \u00d7 2", Press("ARROWUP", 2)),
        ("press ENTER", Press("ENTER")),
        ("press the Return key", Press("ENTER")),
        ("hold CTRL", Hold("CTRL")),
        ("Hold down the Control key", Hold("CTRL")),
        ("release ctrl", Release("CTRL")),
    ],
)
def test_one_of_the_five_actions_is_read_leniently(line, action):
    assert parse_action(line).action == action


FURTHER = [
    ("click at 40,120", ClickAt((40, 120))),
    ("2. Click at the point (40.5, 120).", ClickAt((40.5, 120))),
    ("click id=6 at 10,20", Click(6, (10, 20))),
    ("Click on id=6 at (10, 20.5).", Click(6, (10, 20.5))),
    ("double click id=6", DoubleClick(6)),
    ("1. Double-click id=6 at 3,4", DoubleClick(6, (3, 4))),
    ("hover id=6", Hover(6)),
    ("hover over id=6 at 3px, 4px", Hover(6, (3, 4))),
    ("drag id=1 to id=2", Drag(1, 2)),
    ("drag id=1 at 1,2 to id=2 at 3,4", Drag(1, 2, (1, 2), (3, 4))),
    ("`drag id=1 onto id=2`", Drag(1, 2)),
    ("drag id=1 by 30,-5", Drag(1, end=(30, -5))),
    ("drag id=1 at 1,2 by -30.5,0", Drag(1, at=(1, 2), end=(-30.5, 0))),
    ('select "some text" in id=6', Select(6, "some text")),
    ('select the text \u201csay "hi"\u201d in id=6', Select(6, 'say "hi"')),
    ("select id=6", Select(6)),
    ("Select all the text of id=6", Select(6)),
    ("scroll id=6 by 100", Scroll(6, 100)),
    ("scroll id=6 by -100", Scroll(6, -100)),
    ("scroll up id=6 by 100 pixels", Scroll(6, -100)),
    ("scroll id=6 down 100px", Scroll(6, 100)),
    ('choose "France" in id=6', Choose("France", 6)),
    ('choose the option "a in id=3" from id=6', Choose("a in id=3", 6)),
    ("copy", Copy()),
    ("Copy the selected text.", Copy()),
    ("paste", Paste()),
    ("paste it", Paste()),
    ("hover at 40,120", HoverAt((40, 120))),
    ("drag from 10,20 to 90,20", DragFrom(((10, 20), (90, 20)))),
    ("Drag from (10, 20) to (90, 20) to (50,60)", DragFrom(((10, 20), (90, 20), (50, 60)))),
    ("wait 3 s", Wait(3)),
    ("Wait for 0.25 seconds.", Wait(0.25)),
    ("wait 500 ms", Wait(0.5)),
    ("follow id=4 for 5 s", Follow(4, 5)),
    ("follow the circle id=4 for 2.5 seconds", Follow(4, 2.5)),
    ("click id=6", Click(6)),
    ('enter "text" to id=10', Enter("text", 10)),
    ("press ENTER", Press("ENTER")),
]


@pytest.mark.parametrize(("line", "action"), FURTHER)
def test_a_further_action_is_read_with_all_actions(line, action):
    assert parse_action(line, all_actions=True).action == action
    assert parse_action(str(action), all_actions=True).action == action


@pytest.mark.parametrize("line", [line for line, action in FURTHER[4:-3]])
def test_a_further_action_is_unreadable_without_all_actions(line):
    with pytest.raises(Unreadable):
        parse_action(line)


@pytest.mark.parametrize(
    "line",
    [
        "double", "drag id=1", "drag id=1 to 3,4", "drag the box to id=2", "drag id=1 by 5",
        "select the box", "scroll id=4", "scroll", "choose id=4", "copy id=4", "paste in id=4",
        "wait", "wait for the page", "wait -1 s", "drag from 1,2", "drag from 1,2 to 3",
        "follow id=4", "wait 3 minutes",
    ],
)  # fmt: skip
def test_a_further_action_that_lacks_more_than_its_element_is_unreadable(line):
    with pytest.raises(Unreadable):
        parse_action(line, all_actions=True)


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("click the map at 3,4", Click(4, (3, 4))),
        ("hover the menu", Hover(4)),
        ("double click the word", DoubleClick(4)),
        ('select "word"', Select(4, "word")),
        ('choose "France"', Choose("France", 4)),
        ("scroll the list by 50", Scroll(4, 50)),
        ("follow the circle for 5 s", Follow(4, 5)),
    ],
)
def test_a_further_action_without_its_element_can_be_given_one(line, action):
    command = parse_action(line, all_actions=True)
    assert command.action is None
    assert command.on(4) == action


def test_prose_about_waiting_is_not_taken_for_an_action():
    for line in ("Wait for the page to settle.", "Follow the circle with the mouse."):
        assert not ANY_VERB.match(line)
    for line in ("wait 3 s", "wait for .5 s", "follow id=4 for 5 s"):
        assert ANY_VERB.match(line)


@pytest.mark.parametrize("digits", ["9" * 400, "9" * 5000])
def test_a_number_of_thousands_of_digits_is_read(digits):
    """Python itself refuses to convert them."""
    for line in ("click id={}", "press TAB x {}", "click id={} at 1,1"):
        assert parse_action(line.format(digits), all_actions=True).action
    for line in ("click id=1 at {},{}", "drag id=1 by {},-{}", "scroll id=1 by {}"):
        action = parse_action(line.replace("{}", digits), all_actions=True).action
        assert str(10**9) in str(action)


VERBS = (
    "click", "double click", "hover", "drag", "select", "scroll", "choose", "press", "wait",
    "follow", "drag from",
)  # fmt: skip
PARTS = (
    "id=1", "to id=2", "by 3,4", "at nan,1", "at 1e9,1", '"x"', "-5", "at 3,4", "1,2", "to 3,4",
    "for 5 s", "0.0004 s", "7",
)  # fmt: skip


@given(st.sampled_from(VERBS), st.lists(st.sampled_from(PARTS)), st.text(max_size=20))
def test_any_line_is_an_action_that_can_be_written_and_read_again_or_unreadable(verb, parts, text):
    line = " ".join([verb, *parts, text])
    try:
        command = parse_action(line, all_actions=True)
    except Unreadable:
        return
    action = command.action or command.on(1)
    assert parse_action(str(action), all_actions=True).action == action


@pytest.mark.parametrize(
    "line", ["enter text to id=4", "press Submit", "press", "hold X", "scroll", ""]
)
def test_a_line_that_lacks_more_than_its_element_is_unreadable(line):
    with pytest.raises(Unreadable):
        parse_action(line)


def test_an_action_without_its_element_can_be_given_one():
    command = parse_action('enter "rome" to the search field')
    assert command.action is None
    assert command.on(4) == Enter("rome", 4)
    for line in ("click", "click the Submit button"):
        assert parse_action(line).action is None
        assert parse_action(line).on(4) == Click(4)
