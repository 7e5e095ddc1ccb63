"""Actions as data."""

from pytest_miniwob_agent.core.actions import (
    Click,
    ClickAt,
    Copy,
    Drag,
    Enter,
    Follow,
    Wait,
    element_ids,
)
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.observations import Element


def test_an_action_as_data_lacks_its_absent_parts():
    data = [to_data(action) for action in (Click(1), Click(1, (2, 3)), Drag(1, 2), Copy())]
    assert data == [
        {"kind": "click", "element": 1},
        {"kind": "click", "element": 1, "at": [2, 3]},
        {"kind": "drag", "element": 1, "to": 2},
        {"kind": "copy"},
    ]


def test_the_elements_of_an_action_are_those_that_it_names():
    actions = (Click(1), Drag(1, 2), Enter("x", 3), Copy(), Follow(4, 1.5), ClickAt((5, 6)))
    assert [element_ids(action) for action in actions] == [(1,), (1, 2), (3,), (), (4,), ()]


def test_times_are_written_to_the_millisecond():
    assert [str(Wait(seconds)) for seconds in (3.0, 0.25, 0.1234)] == [
        "wait 3 s",
        "wait 0.25 s",
        "wait 0.123 s",
    ]


def test_an_element_as_data_lacks_details_that_it_does_not_have():
    assert "details" not in to_data(Element(1, "a"))
    assert to_data(Element(1, "a", details=(("box", "0,0"),)))["details"] == [["box", "0,0"]]
