"""The mechanisms by which components of modern libraries work, each on a small page."""

import pytest
from support.own_pages import Pages
from support.projects import ROOT

from pytest_miniwob_agent.screen import render

from .widget_steps import Actions

pytestmark = pytest.mark.integration


@pytest.fixture
def open_page(browser):
    pages = Pages(ROOT / "tests" / "widgets" / "min", browser)
    return lambda name: Actions(pages.open(f"min-{name}"))


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("abs", [("click", "button Pick")]),
        ("dnd-html5", [("drag", "listitem A > listitem B")]),
        ("drag-raf", [("drag", "text Box > 300,0")]),
        ("drag-timer", [("drag", "text Box > 300,0")]),
    ],
)
def test_the_page_can_be_completed(open_page, name, steps):
    page = open_page(name)
    for verb, target in steps:
        getattr(page, verb)(target)
    assert page.last.solved


@pytest.mark.parametrize(
    ("name", "shown"),
    [("antd", "Menu of choices"), ("starttime", "Panel"), ("waapi", "after")],
)
def test_what_a_click_leads_to_is_there(open_page, name, shown):
    page = open_page(name)
    before = {one.text: one.x for one in page.seen.elements}
    page.click("button Go")
    lines = render(page.seen.elements, {one.id for one in page.seen.elements}).splitlines()
    assert f'text "{shown}"' in lines
    assert all(one.x == before.get(one.text, one.x) for one in page.seen.elements)  # it has moved


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("opacity", ['checkbox "One" checked', 'radio "Two"', 'checkbox "Three" checked']),
        (
            "contents",
            [
                'text "Plain contents"', 'button "Buy now"', 'button "Slotted text"',
                'text "Default label"',
            ],
        ),
    ],
)  # fmt: skip
def test_what_a_person_sees_is_there(open_page, name, shown):
    elements = open_page(name).seen.elements
    assert render(elements, {one.id for one in elements}).splitlines() == shown
