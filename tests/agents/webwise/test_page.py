"""The objects that WebWISE reads from a page's HTML."""

from html import escape

import pytest

from pytest_miniwob_agent.plugins.webwise.page import (
    MAX_OBJECTS,
    MAX_TEXT,
    find_objects,
    read_objects,
    render_objects,
)


def lines(page):
    return render_objects(read_objects(page), {2: "clicked"}).split("\n")


@pytest.mark.parametrize(
    ("page", "line"),
    [
        (
            '<button data-ref="1" id="subbtn" class="a  b">Log\n in</button>',
            'button "Log in" id="subbtn" class="a b"',
        ),
        (
            '<input data-ref="1" type="PASSWORD" placeholder="Secret" value="x">',
            'input_password placeholder="Secret" value="x"',
        ),
        ('<input data-ref="1" type="checkbox" value="on">', "input_checkbox checked=no"),
        ('<input data-ref="1" type="radio" value="on" checked>', "input_radio checked=yes"),
        ('<textarea data-ref="1">one\ntwo</textarea>', r'textarea value="one\ntwo"'),
        ('<a data-ref="1"><img data-ref="2" alt="Home"></a>', 'a\nimg "Home" [clicked]'),
        ('<button data-ref="1" title="Close"></button>', 'button "Close"'),
        ('<p data-ref="1">Hello <b>big <i>bad</i></b> world</p>', 'p "Hello big bad world"'),
        ('<p>See <a data-ref="2">this</a>.</p>', 'p "See this."\na "this" [clicked]'),
        ('<div><h2>Mail</h2><span class="x"></span></div>', 'div "Mail"\nspan class="x"'),
        ('<div data-ref="1" id="box"><p>in</p></div>', 'p "in"'),
        ("<div></div><span></span><p> </p>", "(none)"),
        ('<em class="folder">src</em><em class="file">a</em>', 'em "src" class="folder"'),
        ('<svg><circle id="(1,2)"></circle><rect></rect></svg>', 'circle id="(1,2)"\nrect'),
        ("", "(none)"),
        (" \n", "(none)"),
    ],
)  # fmt: skip
def test_an_object_is_shown_in_one_line(page, line):
    assert "\n".join(lines(page)) == line


def test_the_options_of_a_list_are_objects():
    page = (
        '<select data-ref="1"><option data-ref="2" value="a" selected="">A</option>'
        '<option data-ref="3" value="b">B</option></select>'
    )
    assert lines(page) == ["select", 'option "A" selected=yes [clicked]', 'option "B" selected=no']


@pytest.mark.parametrize(
    ("attributes", "list_ref", "among_others"),
    [("", 1, False), ('size="1"', 1, False), ('size="4"', None, False), ("multiple", None, True)],
)
def test_an_option_knows_its_kind_of_list(attributes, list_ref, among_others):
    page = f'<select data-ref="1" {attributes}><option data-ref="2">A</option></select>'
    option = read_objects(page)[1]
    assert (option.list_ref, option.among_others) == (list_ref, among_others)


@pytest.mark.parametrize(
    "text",
    ['</p>\n<button data-ref="9">', 'quo"te [clicked]', "a\u2028b\x85c", "\x00\x1b[0m", "\ud800"],
)
def test_no_text_breaks_out_of_its_line(text):
    page = f'<p data-ref="1" id="{escape(text)}">{escape(text)}</p>'
    (line,) = render_objects(read_objects(page), {}).splitlines()
    assert line.startswith('p "')
    line.encode()


def test_long_pages_and_texts_are_shortened():
    page = f"<p>{'a' * 2 * MAX_TEXT}</p>" + "<p>x</p>" * MAX_OBJECTS
    shown = lines(page)
    assert shown[0] == f'p "{"a" * MAX_TEXT}…"'
    assert shown[-1] == "... and 1 more"
    assert len(shown) == MAX_OBJECTS + 1


PAGE = """
    <button data-ref="1" id="go" class="big red">Go</button>
    <button data-ref="2">go</button>
    <button data-ref="3">Go on</button>
    <span data-ref="4" class="star"></span>
    <span data-ref="5" class="star"></span>
    <input data-ref="6" type="text" id="name" placeholder="Your name" value="Ida">
"""


@pytest.mark.parametrize(
    ("kind", "name", "refs"),
    [
        ("button", "Go", [1]),
        ("button", "go", [1, 2]),
        ("button", "on", [3]),
        ("button", "", [1, 2, 3]),
        ("red", "Go", [1]),
        ("star", "", [4, 5]),
        ("span", "star", []),
        ("input_text", "name", [6]),
        ("input", "your name", [6]),
        ("button", "Stop", []),
    ],
)
def test_objects_are_found_by_kind_and_name(kind, name, refs):
    assert [found.ref for found in find_objects(read_objects(PAGE), kind, name)] == refs
