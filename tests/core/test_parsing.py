"""Parsing of actions from lines as models write them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_miniwob_agent.core.parsing import ANY_VERB, ParseError, parse_action

PAPER = {
    "click id=6": [
        "click id=6", "Click ID=6.", "1. click id=6", "2) click on id 6", "- `click id=6`",
        "* **click id=6**", "Step 3: click id = 6;", "click #6", "click 6",
        'click the "Submit" button (id=6)', 'click id="6"',
    ],
    'enter "text" to id=10': [
        'enter "text" to id=10', "enter \u201ctext\u201d to id=10", "enter 'text' in id=10",
    ],
    'enter "say "hi"" to id=10': ['Type "say "hi"" into id=10'],
    'enter "it\u2019s \u201cgood\u201d" to id=3': ['enter "it\u2019s \u201cgood\u201d" to id=3'],
    'enter "a to id=3" to id=10': ['enter "a to id=3" to id=10'],
    'enter "" to id=10': ['enter "" to id=10'],
    'enter "end." to id=10': ['enter "end." to id=10'],
    "press ARROWDOWN x 3": [
        "press ARROWDOWN x 3", "press arrow down x3", "Press Down Arrow 3 times",
    ],
    "press ARROWUP x 2": ["press ARROWUP \xd7 2"],
    "press ENTER": ["press ENTER", "press the Return key"],
    "hold CTRL": ["hold CTRL", "Hold down the Control key"],
    "release CTRL": ["release ctrl"],
}  # fmt: skip
"""Lines in the form of actions, and how models write them."""


def test_one_of_the_five_actions_is_read_leniently():
    for action, lines in PAPER.items():
        for line in lines:
            assert str(parse_action(line).action) == action


FURTHER = {
    "click at 40,120": ["click at 40,120"],
    "click at 40.5,120": ["2. Click at the point (40.5, 120)."],
    "click id=6 at 10,20": ["click id=6 at 10,20"],
    "click id=6 at 10,20.5": ["Click on id=6 at (10, 20.5)."],
    "double click id=6": ["double click id=6"],
    "double click id=6 at 3,4": ["1. Double-click id=6 at 3,4"],
    "hover id=6": ["hover id=6"],
    "hover id=6 at 3,4": ["hover over id=6 at 3px, 4px"],
    "drag id=1 to id=2": ["drag id=1 to id=2", "`drag id=1 onto id=2`"],
    "drag id=1 at 1,2 to id=2 at 3,4": ["drag id=1 at 1,2 to id=2 at 3,4"],
    "drag id=1 by 30,-5": ["drag id=1 by 30,-5"],
    "drag id=1 at 1,2 by -30.5,0": ["drag id=1 at 1,2 by -30.5,0"],
    'select "some text" in id=6': ['select "some text" in id=6'],
    'select "say "hi"" in id=6': ['select the text \u201csay "hi"\u201d in id=6'],
    "select id=6": ["select id=6", "Select all the text of id=6"],
    "scroll id=6 by 100": ["scroll id=6 by 100", "scroll id=6 down 100px"],
    "scroll id=6 by -100": ["scroll id=6 by -100", "scroll up id=6 by 100 pixels"],
    'choose "France" in id=6': ['choose "France" in id=6'],
    'choose "a in id=3" in id=6': ['choose the option "a in id=3" from id=6'],
    "copy": ["copy", "Copy the selected text."],
    "paste": ["paste", "paste it"],
    "hover at 40,120": ["hover at 40,120"],
    "drag from 10,20 to 90,20": ["drag from 10,20 to 90,20"],
    "drag from 10,20 to 90,20 to 50,60": ["Drag from (10, 20) to (90, 20) to (50,60)"],
    "wait 3 s": ["wait 3 s"],
    "wait 0.25 s": ["Wait for 0.25 seconds."],
    "wait 0.5 s": ["wait 500 ms"],
    "follow id=4 for 5 s": ["follow id=4 for 5 s"],
    "follow id=4 for 2.5 s": ["follow the circle id=4 for 2.5 seconds"],
    "right click id=4": ["right click id=4", "1. Right-click on id=4."],
    "middle click id=4 at 3,4": ["middle click id=4 at 3,4"],
    "click id=4 x 3": ["click id=4 x 3", "Triple-click id=4"],
    "ctrl+click id=4": ["ctrl+click id=4", "Control + click id=4"],
    "ctrl+shift+right click id=4 x 2": ["CTRL+Shift+right click id=4 x 2"],
    "ctrl+click id=4 x 2": ["ctrl+double click id=4"],
    "click id=4 for 1.5 s": ["click id=4 for 1.5 s", "press and hold id=4 for 1500 ms"],
    "click id=4 for 1 s": ["long press id=4", "long-press id=4 for 1 s"],
    "ctrl+scroll id=4 by -100": ["ctrl+scroll id=4 by -100", "Ctrl+scroll up id=4 by 100"],
    "press F2": ["press F2", "Press the F2 key."],
    "press ctrl+b": ["press ctrl+b", 'press "ctrl+b"'],
    "press Control+Shift+ArrowLeft x 3": ["press Control+Shift+ArrowLeft x 3"],
    "press a": ["press a", "press the a key"],
    "press ctrl++": ["press ctrl++"],
    "go back": ["go back", "3. Go back."],
    "go forward": ["go forward"],
    "reload": ["reload", "Reload the page."],
    "close tab": ["close tab", "close the tab"],
}  # fmt: skip


def test_a_further_action_is_read_with_all_actions_alone():
    assert str(parse_action("press ENTER", all_actions=True).action) == "press ENTER"
    for action, lines in FURTHER.items():
        for line in [*lines, action]:
            assert str(parse_action(line, all_actions=True).action) == action
            if not action.startswith("click"):
                with pytest.raises(ParseError):
                    parse_action(line)


@pytest.mark.parametrize(
    "line",
    [
        "double", "drag id=1", "drag id=1 to 3,4", "drag the box to id=2", "drag id=1 by 5",
        "select the box", "scroll id=4", "scroll", "choose id=4", "copy id=4", "paste in id=4",
        "wait", "wait for the page", "wait -1 s", "drag from 1,2", "drag from 1,2 to 3",
        "follow id=4", "wait 3 minutes", "enter text to id=4", "press Submit", "hold X", "",
    ],
)  # fmt: skip
def test_a_line_that_lacks_more_than_its_element_is_unreadable(line):
    with pytest.raises(ParseError):
        parse_action(line, all_actions=True)


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("click", "click id=4"),
        ("click the Submit button", "click id=4"),
        ('enter "rome" to the search field', 'enter "rome" to id=4'),
        ('enter "rome" to the "To" field', 'enter "rome" to id=4'),
        ('enter \'it "is"\' into "To"', 'enter "it "is"" to id=4'),
        ('enter "say "hi" to him"', 'enter "say "hi" to him" to id=4'),
        ("click the map at 3,4", "click id=4 at 3,4"),
        ("hover the menu", "hover id=4"),
        ("double click the word", "double click id=4"),
        ('select "word"', 'select "word" in id=4'),
        ('choose "France"', 'choose "France" in id=4'),
        ('choose "France" from the list "Country"', 'choose "France" in id=4'),
        ("scroll the list by 50", "scroll id=4 by 50"),
        ("follow the circle for 5 s", "follow id=4 for 5 s"),
    ],
)
def test_an_action_without_its_element_can_be_given_one(line, action):
    command = parse_action(line, all_actions=True)
    assert command.action is None
    assert str(command.on(4)) == action


def test_a_further_action_begins_a_line_of_a_plan():
    for line, *_ in FURTHER.values():
        assert ANY_VERB.match(line.removeprefix("1. ").removeprefix("2. ").strip("`"))


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
    "right click", "ctrl+click", "long press", "shift+scroll", "press F1", "press ctrl+a",
    "click", "double click", "hover", "drag", "select", "scroll", "choose", "press", "wait",
    "follow", "drag from",
)  # fmt: skip
PARTS = (
    "id=1", "to id=2", "by 3,4", "at nan,1", "at 1e9,1", '"x"', "-5", "at 3,4", "1,2", "to 3,4",
    "for 5 s", "for 0.0004 s", "0.0004 s", "7", "x 2",
)  # fmt: skip


@settings(deadline=None)
@given(st.sampled_from(VERBS), st.lists(st.sampled_from(PARTS)), st.text(max_size=20))
def test_any_line_is_an_action_that_can_be_written_and_read_again_or_unreadable(verb, parts, text):
    line = " ".join([verb, *parts, text])
    try:
        command = parse_action(line, all_actions=True)
    except ParseError:
        return
    action = command.action or command.on(1)
    assert parse_action(str(action), all_actions=True).action == action
