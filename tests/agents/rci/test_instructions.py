"""RCI's instructions: read from replies, and their XPaths on a page's HTML at a bounded cost."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_miniwob_agent.plugins.rci.agent import (
    BadXPath,
    Inadmissible,
    Instruction,
    find,
    parse_instruction,
)


@pytest.mark.parametrize(
    ("reply", "verb", "argument"),
    [
        ("clickxpath //a", "clickxpath", "//a"),
        ("`clickxpath //a`", "clickxpath", "//a"),
        ("```\nclickxpath //a\n```", "clickxpath", "//a"),
        ('"clickxpath //a[@id="x"]"', "clickxpath", '//a[@id="x"]'),
        ('clickxpath "//a"', "clickxpath", "//a"),
        ("**clickxpath //***", "clickxpath", "//*"),
        ("clickxpath //a[1].", "clickxpath", "//a[1]"),
        ("Instruction: clickxpath //a", "clickxpath", "//a"),
        ("- Step 3: clickxpath //a", "clickxpath", "//a"),
        ("The menu is closed.\nclickxpath //a\nclickxpath //b", "clickxpath", "//a"),
        ("type Vel id at.", "type", "Vel id at."),
        ("`type it's`", "type", "it's"),
        ('type "a" and "b"', "type", '"a" and "b"'),
        ("type press enter", "type", "press enter"),
        ("press enter", "press", "enter"),
        ("Press ARROWDOWN.", "press", "arrowdown"),
        ("`DONE`", "done", ""),
        ("Nothing left to do.", "done", ""),
    ],
)
def test_an_instruction_is_read_without_the_marks_around_it(reply, verb, argument):
    assert parse_instruction(reply) == Instruction(verb, argument)


@pytest.mark.parametrize(
    "reply",
    ["", "click //a", "clickxpath", "clickxpath ", "scroll down", "I would click it.", "type"],
)
def test_a_reply_of_none_of_the_forms_is_inadmissible(reply):
    with pytest.raises(Inadmissible, match="none of the five forms"):
        parse_instruction(reply)


@pytest.mark.parametrize(
    ("reply", "strict"),
    [
        ("clickxpath //a", True),
        ("type answer: 5", True),
        ("press enter", True),
        ("done", True),
        ("Press enter", False),
        ("press enter.", False),
        ("1. clickxpath //a", False),
        ("`clickxpath //a`", False),
        ("clickxpath //a\nclickxpath //b", False),
        ("The menu is closed.\nclickxpath //a", False),
    ],
)
def test_strictly_only_the_forms_of_listing_1_are_read(reply, strict):
    if strict:
        verb, _, argument = reply.partition(" ")
        assert parse_instruction(reply, strict=True) == Instruction(verb, argument)
    else:
        parse_instruction(reply)
        with pytest.raises(Inadmissible, match="none of the five forms"):
            parse_instruction(reply, strict=True)


@pytest.mark.parametrize("key", ["tab", "enter twice"])
def test_a_key_that_is_not_on_the_list_is_inadmissible(key):
    with pytest.raises(Inadmissible, match="no key of that name"):
        parse_instruction(f"press {key}")


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
        ("/html/body/div/select/option[1]", [6]),
        ('//button[text()="ok"]', [8]),
        ("""//label[contains(., "it's") and contains(., '"so"')]""", [3]),
        ("//option[.='Y']/..", [5]),
        ("//button[.='ok']/following-sibling::button", [9]),
        ("//button | //label | //button", [3, 8, 9]),
        ("//button[.='ok']/text()", [8]),
        ("//select/option/@value", [6, 7]),
        ("//div/text()[contains(., 'or')]", [2]),
        ("//text[.='pie']", [11]),
        ("/html", []),
        ("//button[3*1 = 3]", [8, 9]),
    ],
)
def test_an_xpath_selects_elements_by_their_ids(xpath, refs):
    assert [ref for ref, _ in find(PAGE, xpath)] == refs


def test_a_found_element_has_its_text():
    assert find(PAGE, "//label | //button[2]") == [(3, 'it\'s "so"'), (9, "No & go")]


@pytest.mark.parametrize(
    ("xpath", "message"),
    [
        ("//button[", "not a valid XPath: Invalid"),
        ("", "not a valid XPath"),
        ("//button[$x]", "not a valid XPath: Undefined variable"),
        ("count(//button)", "selects no element"),
        ("//*[document('/etc/passwd')]", "not a valid XPath: Unregistered function"),
        ("//a[.='\x00']", "a character that no page can hold"),
        ("//*" * 200, "it has 600 characters, and 500 is the limit"),
    ],
)
def test_an_xpath_that_selects_no_elements_is_refused_with_a_reason(xpath, message):
    with pytest.raises(BadXPath, match=message):
        find(PAGE, xpath)


@pytest.mark.parametrize(
    "xpath",
    [
        "//*[//*[//*[//*]]]",
        "//*[../*[../*[../*]]]",
        "//*[a and following::*[.//b[preceding::*]]]",
        "//*/following::*" + "/preceding::*" * 4,
        "//*" + "[//a]" * 5,
    ],
)
def test_an_xpath_that_could_take_long_on_a_large_page_is_refused(xpath):
    large = "<p></p>" * 500
    with pytest.raises(BadXPath, match="looks beyond its elements too often"):
        find(large, xpath)
    assert find(large, "//*['//a[.//b[../following::c]]' = .]") == []


@pytest.mark.parametrize(
    "xpath",
    [
        "//div[.//label[input[@checked]]]//button[text()='ok' or text()='OK']",
        "//*[../*[.='ok']][//select]/..//button",
        "//button[//select and preceding-sibling::label or //table]",
    ],
)
def test_an_ordinary_xpath_with_conditions_is_evaluated(xpath):
    assert find(PAGE, xpath)


@settings(max_examples=50, deadline=None)
@given(st.text() | st.text("/*[]()@.|=:'\"<>+-, abcdiv0123", max_size=40), st.text())
def test_any_text_is_evaluated_or_refused_as_an_xpath(xpath, page):
    with contextlib.suppress(BadXPath):
        assert find(page, xpath) == []
