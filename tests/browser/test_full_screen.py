"""Everything that shows, and the actions at points and by the page's clock, in a real Chromium."""

import re

import pytest
from support.own_pages import TASK

from pytest_miniwob_agent import Click, ClickAt, DragFrom, Enter, Follow, HoverAt, Wait

from .bodies import Bodies

pytestmark = pytest.mark.integration

PAGE = """
<button id=ok disabled title="Save it">&#8203;</button>
<li aria-selected=true><a id=tab>Tab</a></li>
<select id=list><option>One<option>Two</select>
<input id=free value=x><input id=fixed readonly value=y>
<input id=day type=date><input id=much type=range min=2 max=8 step=2>
<div id=red style="width: 20px; height: 20px; background: red"></div>
<div id=odd style="width: 20px; height: 20px; background: #123456"></div>
<div style="position: relative; width: 40px; height: 20px">
  <p id=under style="margin: 0">ab</p>
  <div id=over style="position: absolute; inset: 0; background: blue"></div></div>
<div id=box style="height: 30px; overflow: auto"><p id=near>near</p>some<b>far</b>text
  <p id=low style="margin-top: 90px">low</p></div>
<svg width=60 height=30><polygon id=three points="0,0 30,0 30,20"/><line id=flat x1=5 x2=50 y1=25
  y2=25 stroke=black /></svg>
<div id=cards style="height: 20px; width: 9px; background: green">
  <span style="display: none">7</span></div>
<script>free.focus()</script>
"""


def test_states_shapes_and_places_are_shown(pages):
    _, seen = pages.show(PAGE + TASK, screen="full")
    shown = {one.dom_id or one.text: {**dict(one.details), "id": one.id} for one in seen.elements}
    assert shown["ok"]["state"] == "disabled"
    assert shown["tab"]["state"] == "selected"
    assert shown["free"]["state"] == "focused"
    assert shown["fixed"]["state"] == "readonly"
    assert shown["list"]["options"] == "One | Two"
    assert shown["day"]["format"] == "MM/DD/YYYY"
    assert [shown["much"][name] for name in ("minimum", "maximum", "step")] == ["2", "8", "2"]

    assert shown["red"]["background"] == "red"
    assert shown["odd"]["background"] == "#123456"
    assert shown["cards"]["background"] == "green"  # a box whose content is hidden
    assert shown["three"]["corners"] == "3"
    left, top, width, height = map(int, shown["three"]["box"].split(","))
    assert (width, height) == (30, 20)
    assert shown["three"]["points"] == f"{left},{top} {left + 30},{top} {left + 30},{top + 20}"
    assert shown["flat"]["points"] == f"{left + 5},{top + 25} {left + 50},{top + 25}"

    assert shown["under"]["state"] == "covered"
    assert "state" not in shown["over"]
    assert shown["low"]["state"] == "outside"
    assert re.fullmatch(r"0 of \d+", shown["box"]["scroll"])
    assert shown["some"]["id"] is not None


DRAWN = [
    ("<svg><a><text y=20>GO</text></a></svg>", [("a", "GO")]),
    (
        "<svg><a><g><text y=20>GO <tspan>ON</tspan></text><path d='M0 0 L9 9'/></g></a></svg>",
        [("a", "GO ON")],
    ),
    ("<button><svg><text y=20>GO</text></svg></button>", [("button", "GO")]),
    (
        "<svg><g><switch><text y=20>GO</text><text>no</text></switch></g></svg>",
        [("text", "GO")],
    ),
    ("<svg><defs><text id=go y=20>GO</text></defs><use href='#go'/></svg>", [("use", "GO")]),
    (
        "<svg><symbol id=icon><title>no</title><text y=20>GO</text></symbol><a><use id=copy "
        "href='#icon'/></a><use href='#copy' y=20 /><use href='#none'/></svg>",
        [("a", "GO"), ("use", "GO")],
    ),
]


def test_text_in_a_drawing_is_shown(pages, browser):
    bodies = Bodies(pages, browser, "full")
    for drawn, shown in DRAWN:
        seen = bodies.show(drawn)
        assert [(one.tag, one.text) for one in seen.elements] == shown
        assert bodies.env.html().count("GO") == len(shown)


def test_the_goal_has_its_icons_on_the_full_screen_alone(page):
    env = page("click-menu-2", 1001)
    words = env.reset().goal
    assert words.endswith("find and click on the item with the icon.")
    in_full = env.reset(screen="full").goal
    assert '<span class="ui-icon ui-icon-' in in_full
    assert re.sub(" <[^>]*>", "", in_full) == words


def test_a_drawing_is_shown_as_a_mosaic(page):
    picture, *_ = page("number-checkboxes", 1000).reset(screen="full").elements
    rows = dict(picture.details)["drawing"].split("/")
    assert rows[3].strip(".") == "####.####.oooo.####"


def play(env, *actions):
    env.reset(screen="full")
    for action in actions:
        transition = env.step(action)
        assert transition.error is None, action
    return transition


def test_exactly_the_time_of_a_wait_passes(page):
    for seconds, reward in ((1, 1.0), (1.3, 0.6)):  # the goal asks for one second
        transition = play(page("button-delay", 1000), Click(1), Wait(seconds), Click(2))
        assert transition.reward == reward


def test_the_pointer_follows_what_moves(page):
    assert play(page("chase-circle", 1000), Follow(1, 10)).solved


def test_changes_while_time_passes_are_listed(page):
    observation = play(page("simon-says", 1000), Wait(4)).observation
    lit = [
        dict(element.details)["of"]
        for element in observation.elements
        if element.tag == "change" and dict(element.details)["class"] == "push"
    ]
    assert lit == ["id=2", "id=2", "id=1"]


def test_points_of_the_page_can_be_used(page):
    env = page("drag-cube", 1000)
    assert play(env, DragFrom(((80, 110), (80, 140))), Wait(2), ClickAt((80, 190))).solved
    signal = play(page("hot-cold", 1000), HoverAt((40, 80))).observation.elements[-1]
    assert signal.text == "COLD"


def test_a_field_with_parts_is_typed_into_from_its_beginning(page):
    assert play(page("enter-date", 1000), Enter("01/28/2011", 1), Click(2)).solved
