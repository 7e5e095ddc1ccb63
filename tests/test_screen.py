"""The compact screen text."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from pytest_miniwob_agent.agents.rci.xpath import BadXPath, find
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.screen import cell, render


@pytest.mark.parametrize(
    ("element", "line"),
    [
        (Element(6, "button", "yes", x=20, y=138), '<button id="6" pos="left">yes</button>'),
        (Element(1, "span", dom_id="more"), '<span id="1" class="more" pos="top-left"></span>'),
        (
            Element(1, "span", classes="icon big", dom_id="more"),
            '<span id="1" class="icon big" pos="top-left"></span>',
        ),
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
    ],
)
def test_what_a_line_holds(element, line):
    assert render([element]).replace("/>", f"></{element.tag}>") == line


def test_disabled_elements_keep_everything_but_their_id():
    elements = [Element(1, "a", "one"), Element(2, "a", "two")]
    assert render(elements, disabled={2}) == (
        '<a id="1" pos="top-left">one</a>\n<a pos="top-left">two</a>'
    )


@pytest.mark.parametrize(
    "text",
    [
        "</button>\n<button id='9'>",
        "a & b < c",
        "\x00\x08\x1b[0m",
        "\ud800",
        'quo"tes',
        "\U0001f600",
        "]]>",
    ],
)
def test_no_text_breaks_out_of_its_line(text):
    element = Element(1, "od d:tag", text, text, text, text, text)
    line = render([element])
    assert "\n" not in line
    node = etree.fromstring(line)
    assert node.get("id") == "1"
    assert len(node) == 0


def test_grid():
    rows = [" ".join(cell(x, y) for x in (10, 80, 150)) for y in (10, 105, 200)]
    assert rows == [
        "top-left top top-right",
        "left center right",
        "bottom-left bottom bottom-right",
    ]
    assert cell(-5, -5) == "top-left"
    assert cell(900, 900) == "bottom-right"


PAGE = """<body data-ref="1">
<div data-ref="2" id="box" class="a b">
<label data-ref="3"><input data-ref="4" type="checkbox" value="on" checked="">it's "so"</label>
<select data-ref="5">
<option data-ref="6" value="x" selected="">X</option>
<option data-ref="7" value="y">Y</option>
</select>
<button data-ref="8">ok</button> or <button data-ref="9">No &amp; go</button>
</div>
<svg data-ref="10" xmlns="http://www.w3.org/2000/svg">
<text data-ref="11">pie</text>
</svg>
</body>"""


@pytest.mark.parametrize(
    ("xpath", "refs"),
    [
        ("//button", [8, 9]),
        ("//button[2]", [9]),
        ("(//button)[last()]", [9]),
        ("/html/body/div/select/option[1]", [6]),
        ('//*[@id="box"]', [2]),
        ("//*[@data-ref='7']", [7]),
        ('//button[text()="ok"]', [8]),
        ("//button[contains(text(), 'go')]", [9]),
        ("//button[.='No & go']", [9]),
        ("""//label[contains(., "it's") and contains(., '"so"')]""", [3]),
        ("//div[contains(@class, 'b')]//option[@selected]", [6]),
        ("//label/input[@checked]", [4]),
        ("//option[.='Y']/parent::select", [5]),
        ("//option[.='Y']/..", [5]),
        ("//button[.='ok']/following-sibling::button", [9]),
        ("//div[label/input and not(a)]", [2]),
        ("//button | //label | //button", [3, 8, 9]),
        ("//button[.='ok']/text()", [8]),
        ("//select/option/@value", [6, 7]),
        ("//div/text()[contains(., 'or')]", [2]),
        ("//text[.='pie']", [11]),
        ("//table", []),
        ("//comment()", []),
        ("/html", []),
        ("//button[3*1 = 3]", [8, 9]),
    ],
)
def test_an_xpath_selects_as_on_a_real_page(xpath, refs):
    assert [one.ref for one in find(PAGE, xpath)] == refs


def test_what_is_found_has_its_text():
    assert find(PAGE, "//label | //button[2]") == [(3, 'it\'s "so"'), (9, "No & go")]


@pytest.mark.parametrize(("xpath", "refs"), [("//node()", [1]), ("//comment()", [])])
def test_a_comment_is_no_element(xpath, refs):
    page = '<body><!-- old --><p data-ref="1">new</p></body>'
    assert [one.ref for one in find(page, xpath)] == refs


@pytest.mark.parametrize(
    ("xpath", "message"),
    [
        ("//button[", "not a valid XPath: Invalid"),
        ("", "not a valid XPath"),
        ("button 'ok'", "not a valid XPath"),
        ("//button[$x]", "not a valid XPath: Undefined variable"),
        ("//svg:text", "not a valid XPath: Undefined namespace prefix"),
        ("//button[ends-with(., 'x')]", "not a valid XPath: Unregistered function"),
        ("//*[document('/etc/passwd')]", "not a valid XPath: Unregistered function"),
        ("count(//button)", "selects no element"),
        ("//button = 'ok'", "selects no element"),
        ("'//button'", "selects no element"),
        ("//a[.='\x00']", "a character that no page can hold"),
        ("//a[.='\ud800']", "a character that no page can hold"),
        ("//*" * 200, "it has 600 characters, and 500 is the limit"),
    ],
)
def test_what_is_wrong_with_an_xpath_is_said(xpath, message):
    with pytest.raises(BadXPath, match=message):
        find(PAGE, xpath)


@pytest.mark.parametrize(
    ("xpath", "message"),
    [
        ("//*[//*[//*]]", "stands in another such"),
        ("//*[count(//*[count(//*) > 1]) > 1]", "stands in another such"),
        ("//*[2*//*[2*//*]]", "stands in another such"),
        ("//*[../*[../*]]", "stands in another such"),
        ("//*[a and following::*[.//b[preceding::*]]]", "stands in another such"),
        ("//*[id('box')//*[id('box')]]", "stands in another such"),
        ("//*[/html/body[/html/body]]", "stands in another such"),
        ("//*/following::*" + "/preceding::*" * 4, "looks beyond its element more than 4 times"),
        ("//*[.!=//*/following::*]", "and from there beyond again"),
        ("//*[count(//*/following::*/preceding::*)>0]", "and from there beyond again"),
        ("//*[../*/following::*]", "and from there beyond again"),
        ("//*[a or (//b)/ancestor::*]", "and from there beyond again"),
        ("//*" + "[//a]" * 5, "looks beyond its element more than 4 times"),
        ("//*[*[*[*[*[*[*]]]]]]", "conditions stand more than 5 deep"),
    ],
)
def test_an_xpath_that_could_take_long_is_not_followed(xpath, message):
    with pytest.raises(BadXPath, match=message):
        find(PAGE, xpath)


@pytest.mark.parametrize(
    "xpath",
    [
        "//div[.//label[input[@checked]]]//button[text()='ok' or text()='OK']",
        "//*[../*[.='ok']][//select]/..//button",
        "//div[label][select][button]/ancestor::body//button",
        "//button[//select and preceding-sibling::label or //table]",
        "//option[../../label]/../..//button",
    ],
)
def test_an_ordinary_one_is(xpath):
    assert find(PAGE, xpath)


@given(st.text() | st.text("/*[]()@.|=:'\"<>+-, abcdiv0123", max_size=40), st.text())
def test_any_text_is_followed_or_refused(xpath, page):
    with contextlib.suppress(BadXPath):
        assert find(page, xpath) == []
