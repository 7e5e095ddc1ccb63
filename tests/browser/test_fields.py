"""Fields that take no free text, such as dates and colours, are set by `enter`."""

import pytest
from support.own_pages import TASK

from pytest_miniwob_agent import Enter
from pytest_miniwob_agent.screen import render

pytestmark = pytest.mark.integration

SAY = """
<p id=out>heard:</p>
<script>
  const say = (event) => { out.textContent += ` ${event.type} ${event.target.value}`; };
</script>
"""


@pytest.fixture
def enter(pages):
    def make(field, text, version=2):
        body = f"<label>F <input {field} oninput=say(event) onchange=say(event)></label>"
        env = pages.make(TASK + body + SAY)
        env.screen_version = version
        [found] = [one.id for one in env.reset(screen="tree").elements if one.text == "F"]
        done = env.step(Enter(text, found))
        [value] = [one.value for one in done.observation.elements if one.id == found]
        [heard] = [one.text for one in done.observation.elements if "heard" in one.text]
        return done.error, value, heard

    return make


TAKEN = [
    ("type=date", "2024-02-29", "2024-02-29"),
    ("type=date value=2020-12-31", "2/9/2024", "2024-02-09"),
    ("type=date", "02092024", "2024-02-09"),
    ("type=date min=2024-01-01 max=2024-12-31", "2024-02-29", "2024-02-29"),
    ("type=time", "14:30", "14:30"),
    ("type=time step=1", "14:30:15", "14:30:15"),
    ("type=time", "02:30 pm", "14:30"),
    ("type=datetime-local", "2024-02-29T13:45", "2024-02-29T13:45"),
    ("type=datetime-local", "2024-02-29 13:45", "2024-02-29T13:45"),
    ("type=datetime-local", "02/29/2024, 01:45 PM", "2024-02-29T13:45"),
    ("type=month", "2024-02", "2024-02"),
    ("type=month", "February 2024", "2024-02"),
    ("type=week", "2024-W09", "2024-W09"),
    ("type=week", "092024", "2024-W09"),
    ("type=week", "Week 09, 2024", "2024-W09"),
    ("type=color", "#00CC88", "#00cc88"),
    ("type=range", "20", "20"),
    ("type=range min=-1 max=1 step=0.25", "-0.75", "-0.75"),
]


@pytest.mark.parametrize(("field", "text", "value"), TAKEN)
def test_a_field_is_set_to_the_value_that_a_text_means(enter, field, text, value):
    assert enter(field, text) == (None, value, f"heard: input {value} change {value}")


REFUSED = [
    ("type=date", "15.06.2024", "a text such as 2024-02-29"),
    ("type=time", "25:00", "a text such as 13:45"),
    ("type=datetime-local", "2024-02-29", "a text such as 2024-02-29T13:45"),
    ("type=month", "2024-13", "a text such as 2024-02"),
    ("type=week", "2024-W53", "a text such as 2024-W09"),
    ("type=color value=#010203", "green", "a text such as #00cc88"),
    ("type=range step=5 value=10", "12", "a number from 0 to 100 in steps of 5"),
]


@pytest.mark.parametrize(("field", "text", "form"), REFUSED)
def test_what_a_field_does_not_take_is_an_error_that_names_its_form(enter, field, text, form):
    error, _, heard = enter(field, text)
    assert error == f'the field with id=1 takes {form}, not "{text}"'
    assert heard == "heard:"


@pytest.mark.parametrize("state", ["readonly", "disabled"])
def test_a_field_that_can_not_be_changed_is_not(enter, state):
    error, value, _ = enter(f"type=date value=2020-12-31 {state}", "2024-02-29")
    assert (error, value) == ("the field with id=1 can't be changed now", "2020-12-31")


def test_a_field_is_set_by_what_shows_for_it(enter):
    hidden = "type=color style='opacity: 0; width: 1px; height: 1px'"
    assert enter(hidden, "#00cc88")[:2] == (None, "#00cc88")


def test_the_first_version_of_screens_types_the_letters(enter):
    assert enter("type=date", "2024-02-29", version=1)[1] == "40229-02-02"


def test_the_tree_says_how_a_field_shows_its_value(pages):
    _, seen = pages.show(f"{TASK}<input type=week><input type=month>", screen="tree")
    assert render(seen.elements).splitlines() == [
        'textbox id=1 value="" type=week format="Week WW, YYYY"',
        'textbox id=2 value="" type=month format="MONTH YYYY"',
    ]
