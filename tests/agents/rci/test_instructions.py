"""RCI's instructions, as they are read from replies."""

import pytest

from pytest_miniwob_agent.agents.rci.instructions import (
    Inadmissible,
    Instruction,
    parse_instruction,
)


@pytest.mark.parametrize(
    ("reply", "verb", "argument"),
    [
        ("clickxpath //a", "clickxpath", "//a"),
        ("ClickXPath  //a", "clickxpath", "//a"),
        ("`clickxpath //a`", "clickxpath", "//a"),
        ("clickxpath `//a`", "clickxpath", "//a"),
        ("```\nclickxpath //a\n```", "clickxpath", "//a"),
        ('"clickxpath //a[@id="x"]"', "clickxpath", '//a[@id="x"]'),
        ('clickxpath "//a"', "clickxpath", "//a"),
        ("**clickxpath //***", "clickxpath", "//*"),
        ("clickxpath //a[1].", "clickxpath", "//a[1]"),
        ("clickxpath //a/..", "clickxpath", "//a/.."),
        ("Instruction: clickxpath //a", "clickxpath", "//a"),
        ("The next instruction is: `clickxpath //a`", "clickxpath", "//a"),
        ("The next instruction should be `clickxpath //a`.", "clickxpath", "//a"),
        ("3. clickxpath //a", "clickxpath", "//a"),
        ("- Step 3: clickxpath //a", "clickxpath", "//a"),
        ("The menu is closed.\nclickxpath //a\nclickxpath //b", "clickxpath", "//a"),
        ("clickoption //option[2]", "clickoption", "//option[2]"),
        ("movemouse //*[text()='it']", "movemouse", "//*[text()='it']"),
        ("type Vel id at.", "type", "Vel id at."),
        ('type "Vel id at."', "type", "Vel id at."),
        ("type \u201cVel\u201d", "type", "Vel"),
        ("`type it's`", "type", "it's"),
        ('type "a" and "b"', "type", '"a" and "b"'),
        ("type press enter", "type", "press enter"),
        ("press enter", "press", "enter"),
        ("Press ARROWDOWN.", "press", "arrowdown"),
        ("done", "done", ""),
        ("Done.", "done", ""),
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


@pytest.mark.parametrize("key", ["tab", "ctrl", "enter twice", "a"])
def test_a_key_that_is_not_on_the_list_is_inadmissible(key):
    with pytest.raises(Inadmissible, match="no key of that name"):
        parse_instruction(f"press {key}")
