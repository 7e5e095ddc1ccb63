"""Actions as data."""

from pytest_miniwob_agent.core.actions import Click, Copy, Drag, Enter, elements_of
from pytest_miniwob_agent.core.data import to_data


def test_an_action_as_data_lacks_its_absent_parts():
    data = [to_data(action) for action in (Click(1), Click(1, (2, 3)), Drag(1, 2), Copy())]
    assert data == [
        {"kind": "click", "element": 1},
        {"kind": "click", "element": 1, "at": [2, 3]},
        {"kind": "drag", "element": 1, "to": 2},
        {"kind": "copy"},
    ]


def test_the_elements_of_an_action_are_those_that_it_names():
    actions = (Click(1), Drag(1, 2), Enter("x", 3), Copy())
    assert [elements_of(action) for action in actions] == [(1,), (1, 2), (3,), ()]
