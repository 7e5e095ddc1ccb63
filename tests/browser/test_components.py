"""What components of today's web show, and how they are dragged: on pages of one's own."""

import re

import pytest
from support.own_pages import click, on_screens
from support.sweeps import swept

from pytest_miniwob_agent import Choose, Click, Drag
from pytest_miniwob_agent.screen import render

from .bodies import Bodies

pytestmark = pytest.mark.integration

ELEMENT = """<script>customElements.define("x-part", class extends HTMLElement {
    connectedCallback() { this.attachShadow({ mode: "open" }).innerHTML = this.title; }
  });</script>"""

# A page's body, and the elements that show once "Go", if there is one, has been clicked.
SHOWN = {
    "contents": (
        '<button><span style="display: contents">Buy now</span></button>',
        ["button Buy now"],
    ),
    "contents within contents": (
        '<p style="display: contents"><b style="display: contents">Bold</b> words</p><i>end</i>',
        ["text Bold", "text words", "i end"],
    ),
    "contents that are hidden": (
        '<p hidden><b style="display: contents">No</b></p>'
        '<b style="display: contents; visibility: hidden">No</b><i>end</i>',
        ["i end"],
    ),
    "link without a box": ('<a href="#x" style="display: contents">There</a>', ["a There"]),
    "slots": (
        f'{ELEMENT}<x-part title="<button><slot></slot></button>">Label</x-part>'
        '<x-part title="<label><slot>Default</slot></label>"></x-part>',
        ["button Label", "label Default"],
    ),
    "popover": (
        '<div style="overflow: hidden; height: 30px"><button popovertarget="p">Go</button>'
        '<div id="p" popover>Menu</div></div>',
        ["button Go", "div Menu"],
    ),
    "modal dialog": (
        '<div style="overflow: hidden; height: 30px"><button onclick="d.showModal()">Go</button>'
        '<dialog id="d"><p>Sure?</p></dialog></div>',
        ["button Go", "p Sure?"],
    ),
    "fixed": (
        '<div style="overflow: hidden; height: 30px"><p style="position: fixed; top: 99px">Bar</p>'
        '</div><div style="overflow: hidden; height: 30px; transform: scale(1)">'
        '<p style="position: fixed; top: 99px">Cut</p></div>',
        ["p Bar"],
    ),
    "absolute": (
        '<div style="overflow: hidden; height: 30px"><button style="position: absolute; top: 99px"'
        """ onclick="this.textContent = 'Gone'">Go</button></div>"""
        '<div style="overflow: hidden; height: 30px; position: relative">'
        '<p style="position: absolute; top: 99px">Cut</p></div>',
        ["button Gone"],
    ),
    "transparent controls": (
        '<label><input type="checkbox" checked style="opacity: 0; position: absolute">One</label>'
        '<p style="opacity: 0"><input type="checkbox"></p>'
        '<label><input type="radio" style="position: fixed; width: 1px; height: 1px">Two</label>',
        ["input_checkbox True", "text One", "label Two False"],
    ),
    "shapes with a title": (
        "<svg><g><title>Sales</title><rect width=9 height=9><title>May</title><desc>9</desc></rect>"
        "<circle cx=40 cy=9 r=9></circle></g></svg>",
        ["rect", "circle"],
    ),
    "texts in what is closed": (
        "<details><summary>More</summary>No</details><p style='content-visibility: hidden'>No</p>"
        "<details open><summary>Less</summary>Words</details>",
        ["summary More", "summary Less", "text Words"],
    ),
    "came and went": (
        """<button onclick="t.hidden = false; setTimeout(() => t.hidden = true, 1500)">Go</button>
           <p id="c">a</p><script>setInterval(() => { c.textContent += "a"; }, 1000);</script>
           <p id="t" hidden>File <b>saved</b></p>""",
        ["button Go", "p aaa", "change File saved"],
    ),
}  # fmt: skip


def lines(observation):
    return [
        " ".join(str(part) for part in (one.tag, one.text, one.value) if part not in ("", None))
        for one in observation.elements
    ]


@pytest.mark.parametrize("screen", ["compact", "full"])
def test_what_a_person_sees_is_on_the_screen(screen, pages, browser):
    bodies = Bodies(pages, browser, screen)
    for name, (body, expected) in SHOWN.items():
        seen = bodies.show(body)
        if "Go" in render(seen.elements):
            after = click(bodies.env, seen, "Go")
            assert after.error is None
            seen = after.observation
        shown = [re.sub("^p a+$", "p aaa", line) for line in lines(seen) if line != "dialog"]
        left_out = "change" if screen == "compact" else "no such"
        assert shown == [line for line in expected if not line.startswith(left_out)], name


@pytest.mark.parametrize("screen", ["tree", *swept("compact", "full")])
def test_options_of_an_open_list_with_a_style_of_its_own_are_on_the_page(screen, pages):
    env, seen = pages.show(
        """<style>select, ::picker(select) { appearance: base-select }</style>
        <select><option>One<option>Two<option>Three</select><script>
          const list = document.querySelector("select");
          const task = { goal: "Three.", reward: () => Number(list.value === "Three") };
        </script>""",
        screen=screen,
    )
    [closed] = seen.elements
    seen = env.step(Click(closed.id)).observation
    options = [one for one in seen.elements if one.tag == "option"]
    assert [(one.text, one.value) for one in options] == [
        ("One", True),
        ("Two", False),
        ("Three", False),
    ]
    if screen == "tree":
        after = env.step(Choose("Two", closed.id)).observation
        assert [one.value for one in after.elements] == ["Two"]
        env.step(Click(closed.id))
    assert env.step(Click(options[2].id)).solved


DRAGGED = {
    "by frames": """let on = false, asked = 0;
        a.onmousedown = () => { on = true; };
        onmousemove = ({ clientX }) => {
          if (on && !asked) asked = requestAnimationFrame(() => { asked = 0; put(clientX); });
        };
        onmouseup = () => { on = false; cancelAnimationFrame(asked); done(); };""",
    "by a timer": """let on = false;
        a.onmousedown = () => { setTimeout(() => { on = true; }); };
        onmousemove = ({ clientX }) => { if (on) put(clientX); };
        onmouseup = () => { on = false; done(); };""",
    "by the browser": """let on = false;
        a.draggable = true;
        a.ondragstart = () => { setTimeout(() => { on = true; }); };
        b.ondragover = (event) => { if (on) event.preventDefault(); };
        b.ondrop = () => { put(300); done(); };""",
}


@pytest.mark.parametrize(("how", "screen"), on_screens(DRAGGED, ["compact", "full"]))
def test_time_passes_while_something_is_dragged(how, screen, pages):
    env, seen = pages.show(
        f"""<style>p {{ position: absolute; left: 20px; width: 80px }}</style>
        <p id="a">From</p><p id="b" style="left: 290px; top: 200px">To</p><script>
          let done_ = 0;
          const put = (x) => {{ a.style.left = x - 40 + "px"; }};
          const done = () => {{ done_ = a.offsetLeft > 200 ? 1 : 0; }};
          const task = {{ goal: "Drag.", reward: () => done_ }};
          {DRAGGED[how]}
        </script>""",
        screen=screen,
    )
    here, there = [one.id for one in seen.elements if one.text in ("From", "To")]
    assert env.step(Drag(here, there)).solved


LETTERED = """<p draggable=true style=background:tan>{0}</p><script>
  ondragstart = ({{ dataTransfer }}) => dataTransfer.setData("text", "{0}");
  ondragover = (event) => event.preventDefault();
  ondrop = ({{ dataTransfer }}) => top.drops.push(dataTransfer.getData("text") + " on {0}");
</script>"""


@pytest.mark.parametrize("screen", ["tree", *swept("compact", "full")])
def test_a_drag_leads_from_document_to_document(screen, pages):
    pages.write(b_htm=LETTERED.format("B"), c_htm=LETTERED.format("C"))
    env, seen = pages.show(
        f"""<script>
          var drops = [];
          const task = {{ goal: "Drag.", reward: () => Number(drops == "A on B,B on A,B on C") }};
        </script><p style=height:300px></p>{LETTERED.format("A")}
        <iframe src=b.htm height=60></iframe><iframe src=c.htm height=60></iframe>
        <p style=height:900px></p><p>D</p>""",
        screen=screen,
    )
    ids = {one.text: one.id for one in seen.elements}
    far = env.step(Drag(ids["D"], ids["B"])).error
    apart = "can't be brought into sight together with the other"
    assert far == f"the element with id={ids['D']} {apart}"
    for start, end in ("AB", "BA", "BC"):
        step = env.step(Drag(ids[start], ids[end]))
        assert step.error is None
    assert step.solved
