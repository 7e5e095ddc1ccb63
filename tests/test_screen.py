"""The text of the page for a model."""

import pytest
from lxml import etree

from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.screen import cell, render


@pytest.mark.parametrize(
    ("element", "line"),
    [
        (Element(6, "button", "yes", x=20, y=138), '<button id="6" pos="left">yes</button>'),
        (Element(1, "span", dom_id="more"), '<span id="1" class="more" pos="top-left"></span>'),
        (Element(1, "i", classes="a b", dom_id="x"), '<i id="1" class="a b" pos="top-left"></i>'),
        (
            Element(2, "input_text", placeholder="Name", value="", x=80, y=100),
            '<input_text id="2" placeholder="Name" pos="center" value=""></input_text>',
        ),
        (
            Element(3, "input_checkbox", value=True, x=159, y=209),
            '<input_checkbox id="3" checked="true" pos="bottom-right"></input_checkbox>',
        ),
        (
            Element(4, "option", "Ida", value=False, x=80, y=0),
            '<option id="4" selected="false" pos="top">Ida</option>',
        ),
        (Element(None, "text", "or", x=0, y=300), '<text pos="bottom-left">or</text>'),
        (
            Element(5, "p", dom_id="tt", value="a", details=(("dom-id", "tt"), ("box", "1,2,3,4"))),
            '<p id="5" dom-id="tt" box="1,2,3,4" value="a"></p>',
        ),
        (
            Element(
                7, "input_text", "A b", value="", role="textbox", depth=2,
                details=(("state", "focused required"), ("scroll", "0 of 9"), ("level", "2")),
            ),
            '    textbox "A b" id=7 value="" focused required scroll="0 of 9" level=2',
        ),
    ],
)  # fmt: skip
def test_a_line_has_the_attributes_of_its_element(element, line):
    assert render([element]) == line


def test_disabled_elements_keep_everything_but_their_id():
    elements = [Element(1, "a", "one"), Element(2, "a", "two")]
    assert render(elements, disabled={2}) == (
        '<a id="1" pos="top-left">one</a>\n<a pos="top-left">two</a>'
    )


TEXTS = [
    "</a>\n<a id='9'>",
    "a & b < c",
    "\x00\x08\x1b[0m",
    "\ud800",
    'quo"tes',
    "\U0001f600",
    "]]>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_breaks_out_of_its_line(text):
    element = Element(1, "od d:tag", text, text, text, text, text)
    line = render([element])
    assert "\n" not in line
    node = etree.fromstring(line)
    assert node.get("id") == "1"
    assert len(node) == 0


def test_a_point_is_in_the_nearest_cell_of_the_grid():
    rows = [" ".join(cell(x, y) for x in (-5, 80, 900)) for y in (-5, 105, 900)]
    assert rows == [
        "top-left top top-right",
        "left center right",
        "bottom-left bottom bottom-right",
    ]
