"""Pictures for agents: marks, zoom and rulers, and a page that does not notice."""

from contextlib import closing

import pytest
from support.drawn_pictures import opened
from support.in_browser import run_script
from support.own_pages import TASK
from support.scripted import play

from pytest_miniwob_agent import Click, DragFrom, UsageError
from pytest_miniwob_agent.browser import process
from pytest_miniwob_agent.browser.miniwob_page import MAX_SIDE
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.pictures import GROUND, MARK
from pytest_miniwob_agent.testing import FakePage, VisibleFakePage

PAGE = """
<button id=one style="width: 60px">One</button> between <b id=two>two</b>
<div id=edge style="width: 40px; height: 9px"></div>
<div style="position: relative; height: 20px"><p id=under style="margin: 0">ab</p>
  <div id=over style="position: absolute; inset: 0; background: blue"></div></div>
<div style="height: 30px; overflow: auto"><p>near</p>
  <p id=low style="margin-top: 90px">low</p></div>
<svg width=60 height=30><line id=flat x1=5 x2=50 y1=25 y2=25 stroke=black /></svg>
"""


@pytest.mark.integration
def test_elements_that_show_are_marked_and_no_others(pages):
    env, seen = pages.show(PAGE + TASK, screen="full")
    ids = {element.dom_id or element.text: element.id for element in seen.elements}
    assert {"one", "between", "two", "edge", "under", "over", "low", "flat"} <= ids.keys()
    shot = env.look(marks=[*ids.values(), 999])
    names = {name for name, id_ in ids.items() if id_ in shot.marked}
    assert {"one", "two", "over", "flat"} <= names
    assert not names & {"between", "edge", "under", "low"}


@pytest.mark.sweep
@pytest.mark.integration
def test_all_is_the_same_where_the_font_comes_with_the_page(page, monkeypatch):
    """As on a Grid and where there is no fontconfig."""
    monkeypatch.setattr(process, "HAS_FONTS", "(() => false)")
    with closing(process.Browser()) as browser:
        for task in ("email-inbox", "unicode-test"):
            own, other = page(task), page(task, browser=browser)
            assert own.reset(screen="full") == other.reset(screen="full")
            assert own.look(whole=True).png == other.look(whole=True).png
            assert "Roboto" in other.fonts()


@pytest.mark.integration
def test_a_picture_is_enlarged_and_ruled_and_the_page_stays_as_it_is(page, browser):
    env = page("use-slider", 1)
    seen = env.reset(screen="full")
    ids = [element.id for element in seen.elements if element.id is not None]
    before = run_script(browser, "return document.documentElement.outerHTML")
    plain, large = env.look(), env.look(marks=ids, zoom=3, rulers=True)
    assert (plain.size, plain.zoom, plain.marked) == ((160, 210), 1, ())
    assert (large.size, large.zoom, set(large.marked)) == ((160, 210), 3, set(ids))
    assert opened(large.png).getpixel((0, 0)) == GROUND
    assert MARK in {colour for _, colour in opened(large.png).getcolors(10_000)}
    assert run_script(browser, "return document.documentElement.outerHTML") == before
    whole = env.look(zoom=3, whole=True)
    assert (whole.size, whole.zoom) == ((640, 480), 2)
    assert max(opened(whole.png).size) <= MAX_SIDE
    assert env.look().png == plain.png


class Looks:
    name = "looks"

    def __init__(self, when="trial"):
        self.when = when

    def solve(self, env, llm, note):
        if self.when == "before":
            env.look()
        env.reset()
        self.shot = env.look(marks=[1], zoom=2)
        env.step(Click(1))
        if self.when == "after":
            with pytest.raises(RuntimeError, match=r"look\(\) needs a page"):
                env.look()


def run(agent, kind=VisibleFakePage):
    env = kind("Go", {"start": [Element(1, "button", "Go")]}, rewards={("start", "click id=1"): 1})
    return play(agent, env, [])[0]


def test_an_agent_looks_through_the_episode():
    agent = Looks()
    assert run(agent).solved
    assert agent.shot.marked == (1,)
    assert opened(agent.shot.png).size == (320, 420)
    assert agent.shot.data_url.startswith("data:image/png;base64,iVBOR")


def test_there_is_nothing_to_look_at_before_and_after_a_trial_or_without_pictures():
    with pytest.raises(RuntimeError, match=r"look\(\) needs a page"):
        run(Looks("before"))
    assert run(Looks("after")).solved
    with pytest.raises(UsageError, match="FakePage gives no pictures"):
        run(Looks(), FakePage)


@pytest.mark.integration
def test_a_picture_has_all_points_of_a_drag_along_several(open_page):
    env, _ = open_page("draw-line", 1)
    path = ((20, 80), (60.4, 90), (20, 80))
    assert env.look(DragFrom(path)).points == ((20, 80), (60, 90), (20, 80))
    assert env.look(DragFrom(((20, 80), (900, 90)))).points == ()
