"""XPaths of a model on a page's HTML, and their bounded cost."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miniwob_agent.agents.rci.xpath import BadXPath, find

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
def test_an_xpath_selects_elements_by_their_ids(xpath, refs):
    assert [found.ref for found in find(PAGE, xpath)] == refs


def test_a_found_element_has_its_text():
    assert find(PAGE, "//label | //button[2]") == [(3, 'it\'s "so"'), (9, "No & go")]


@pytest.mark.parametrize(("xpath", "refs"), [("//node()", [1]), ("//comment()", [])])
def test_a_comment_is_not_an_element(xpath, refs):
    page = '<body><!-- old --><p data-ref="1">new</p></body>'
    assert [found.ref for found in find(page, xpath)] == refs


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
def test_an_xpath_that_selects_no_elements_is_refused_with_a_reason(xpath, message):
    with pytest.raises(BadXPath, match=message):
        find(PAGE, xpath)


@pytest.mark.parametrize(
    "xpath",
    [
        "//*[//*[//*[//*]]]",
        "//*[count(//*[count(//*[.//*]) > 1]) > 1]",
        "//*[../*[../*[../*]]]",
        "//*[a and following::*[.//b[preceding::*]]]",
        "//*[id('box')//*[id('box')]]",
        "//*[descendant::*[parent::*/descendant::*]]",
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
        "//div[label][select][button]/ancestor::body//button",
        "//button[//select and preceding-sibling::label or //table]",
        "//option[../../label]/../..//button",
    ],
)
def test_an_ordinary_xpath_with_conditions_is_evaluated(xpath):
    assert find(PAGE, xpath)


@given(st.text() | st.text("/*[]()@.|=:'\"<>+-, abcdiv0123", max_size=40), st.text())
def test_any_text_is_evaluated_or_refused_as_an_xpath(xpath, page):
    with contextlib.suppress(BadXPath):
        assert find(page, xpath) == []
