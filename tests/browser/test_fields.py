"""Fields that take no free text, such as dates and colours, are set by `enter`."""

import pytest
from support.own_pages import TASK

from pytest_miniwob_agent import Click, Enter, Press, PressKeys, Type
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
    """Enter texts into fields of a page; of each the error, its value, and what the page heard."""

    def make(*entries, version=2):
        fields = (
            f"<label>F{number} <input {field} oninput=say(event) onchange=say(event)></label>"
            for number, (field, _) in enumerate(entries, start=1)
        )
        env = pages.make("".join([TASK, *fields, SAY]))
        env.screen_version = version
        env.reset(screen="tree")
        told, heard = "heard:", []
        for number, (_, text) in enumerate(entries, start=1):
            done = env.step(Enter(text, number))
            [value] = [one.value for one in done.observation.elements if one.id == number]
            [all_told] = [one.text for one in done.observation.elements if "heard" in one.text]
            heard.append((done.error, value, all_told.removeprefix(told).strip()))
            told = all_told
        return heard

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


def test_a_field_is_set_to_the_value_that_a_text_means(enter):
    assert enter(*(entry[:2] for entry in TAKEN)) == [
        (None, value, f"input {value} change {value}") for *_, value in TAKEN
    ]


REFUSED = [
    ("type=date", "15.06.2024", "a text such as 2024-02-29"),
    ("type=time", "25:00", "a text such as 13:45"),
    ("type=datetime-local", "2024-02-29", "a text such as 2024-02-29T13:45"),
    ("type=month", "2024-13", "a text such as 2024-02"),
    ("type=week", "2024-W53", "a text such as 2024-W09"),
    ("type=color value=#010203", "green", "a text such as #00cc88"),
    ("type=range step=5 value=10", "12", "a number from 0 to 100 in steps of 5"),
]


def test_what_a_field_does_not_take_is_an_error_that_names_its_form(enter):
    found = enter(*(entry[:2] for entry in REFUSED))
    assert [(error, heard) for error, _, heard in found] == [
        (f'the field with id={number} takes {form}, not "{text}"', "")
        for number, (_, text, form) in enumerate(REFUSED, start=1)
    ]


def test_a_field_that_can_not_be_changed_is_not(enter):
    fixed = (f"type=date value=2020-12-31 {state}" for state in ("readonly", "disabled"))
    assert enter(*((field, "2024-02-29") for field in fixed)) == [
        (f"the field with id={number} can't be changed now", "2020-12-31", "") for number in (1, 2)
    ]


def test_no_calendar_of_the_browser_opens_in_which_keys_pick_the_day_of_the_machine(pages):
    env, _ = pages.show(
        TASK
        + """<style>
          input { position: relative }
          .all::-webkit-calendar-picker-indicator { position: absolute; inset: 0; width: auto }
        </style>
        <form onsubmit="out.textContent += day.value; return false">
          <input id=day type=date onclick=this.showPicker()><button>A</button></form>
        <form onsubmit="out.textContent += over.value; return false">
          <input id=over type=date class=all><button>B</button></form>
        <p id=out>Sent: </p>""",
        screen="tree",
    )
    said = "Sent: "
    opening = (Click(1), PressKeys("ALT+ARROWDOWN"), PressKeys("F4"), Type(" "), Click(3))
    for day, action in enumerate(opening, start=1):
        field = 3 if action == Click(3) else 1
        for one in (Click(field), action, Enter(f"2024-02-0{day}", field)):
            env.step(one)
        said += f"2024-02-0{day}"
        assert env.step(Press("ENTER")).observation.elements[-1].text == said


def test_a_field_is_set_by_what_shows_for_it(enter):
    hidden = "type=color style='opacity: 0; width: 1px; height: 1px'"
    assert enter((hidden, "#00cc88"))[0][:2] == (None, "#00cc88")


def test_the_first_version_of_screens_types_the_letters(enter):
    assert enter(("type=date", "2024-02-29"), version=1)[0][1] == "40229-02-02"


def test_the_tree_says_how_a_field_shows_its_value(pages):
    _, seen = pages.show(f"{TASK}<input type=week><input type=month>", screen="tree")
    assert render(seen.elements).splitlines() == [
        'textbox id=1 value="" type=week format="Week WW, YYYY"',
        'textbox id=2 value="" type=month format="MONTH YYYY"',
    ]
