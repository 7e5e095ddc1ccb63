"""What an action on a line of the tree hits, in a real Chromium."""

import pytest
from support.in_browser import run_script

from pytest_miniwob_agent import Click, DoubleClick, Drag, Hover

from .bodies import Bodies

pytestmark = pytest.mark.integration

TASK = '<script>window.task = {goal: "g", reward: () => window.hit ? 1 : 0}</script>'


@pytest.fixture
def open_tree(pages):
    def make(body, version=2):
        env = pages.make(TASK + body)
        env.screen_version = version
        return env, env.reset(screen="tree")

    return make


def find_id(seen, text):
    [found] = [one.id for one in seen.elements if one.text == text]
    return found


LISTENING = "<script>goal.addEventListener(goal.dataset.on ?? 'click', () => { hit = 1 })</script>"

SPAN = "<span id=goal>notes</span>"

LINES = "".join(f"{number}<br>" for number in range(40))

ROOM = "<div style='height: 1000px'></div>"

STANDING = {
    "under the mouse": "<style>ul {display: none} div:hover ul {display: block}</style>"
    "<div style='width: 90px'><span id=goal data-on=pointerenter>notes</span>"
    "<ul><li>one</ul></div>",
    "div": f"<div>{SPAN}</div>",
    "item": f"<ul><li>{SPAN}</li></ul>",
    "cell": f"<table width=300><tr><td>{SPAN}</td></tr></table>",
    "heading": f"<h2>{SPAN}</h2>",
    "summary": f"<details><summary>{SPAN}</summary>more</details>",
    "button": f"<div role=button style='padding: 0 200px 0 0'>{SPAN}</div>",
    "boxes in boxes": f"<main><section><p><b>{SPAN}</b></p></section></main>",
    "text and more": f"<p>{SPAN} and much more text than that, so that it has several lines: "
    + "word " * 200,
    "centred": f"<div style='text-align: right'>{SPAN}</div>",
    "node of a tree": f"<ul role=tree><li role=treeitem aria-expanded=true>{SPAN}<ul role=group>"
    "<li role=treeitem>one<li role=treeitem>two<li role=treeitem>three</ul></ul>",
    "scrolled": f"<div style='height: 100px; overflow: auto'><div style='height: 2000px'>"
    f"<p style='height: 900px'></p><h3 style='height: 700px'>{SPAN}</h3></div></div>",
    "behind another text": f"<div><span>one</span> | {SPAN}</div>",
    "in a sentence": f"<p>Read the <b>{SPAN}</b> before you go on.</p>",
    "legend": "<fieldset><legend id=goal>notes</legend>text<input></fieldset>",
    "clickable legend": f"<fieldset><legend>{SPAN}</legend>text<input></fieldset>",
    "clickable caption": "<figure><img width=300 height=90>"
    f"<figcaption>{SPAN}</figcaption></figure>",
    "caption": "<table width=500><caption id=goal style='text-align: left'>notes"
    "<tr><td>1<td>2</table>",
    "shadow": "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = "
    f"'<p>{SPAN}</p>'; var goal = host.shadowRoot.querySelector('span')</script>",
}
"""Texts that a line of the tree stands for, in boxes whose middle is elsewhere."""


HITTING = {
    **{name: (body + LISTENING, "notes") for name, body in STANDING.items()},
    "first line that shows": (
        f"""<div style="height: 100px; overflow: auto" id=box><pre id=lines>{LINES}</pre></div>
        <p>End</p><script>
          box.scrollTop = 300;
          lines.onclick = ({{ clientY }}) => {{ hit = clientY < 40; }};
        </script>""",
        "0 1 2",
    ),
    **{
        f"below a fixed {name}": (
            f"""{ROOM}<button onclick="hit = 1">Go</button>
            <p style="position: fixed; inset: {place}; margin: 0; background: #ccc">Bar</p>
            {ROOM}""",
            "Go",
        )
        for name, place in {"footer": "230px 0 0", "header": "0 0 230px"}.items()
    },
    "partly off the page, where no scrolling leads": (
        """<button onclick="hit = 1" style="position: fixed; left: -190px; width: 200px">Menu
        </button>""",
        "Menu",
    ),
}
"""Bodies that set `hit`, and how the text begins whose line is clicked for it."""


def test_the_part_of_a_line_that_shows_is_hit_and_not_the_box_around_it(pages, browser):
    shown = Bodies(pages, browser)
    for name, (body, text) in HITTING.items():
        line, *_ = (one for one in shown.show(body).elements if one.text.startswith(text))
        run_script(browser, "hit = 0")
        assert shown.env.step(Click(line.id)).error is None, name
        assert run_script(browser, "return hit"), name


def test_a_menu_that_the_mouse_opens_is_there(open_tree):
    env, seen = open_tree("""
      <style>ul {display: none} div {width: 120px}
        @media (hover: hover) and (pointer: fine) { div:hover ul {display: block} }</style>
      <div>Account<ul><li><button onclick="hit = 1">Sign out</button></ul></div>""")
    seen = env.step(Hover(find_id(seen, "Account"))).observation
    assert env.step(Click(find_id(seen, "Sign out"))).solved


def test_a_double_click_goes_there_too(open_tree):
    env, seen = open_tree(
        f"<ul><li>{SPAN}</ul><script>goal.ondblclick = () => {{ hit = 1 }}</script>"
    )
    assert env.step(DoubleClick(find_id(seen, "notes"))).solved


def test_the_first_version_of_screens_hits_the_middle_of_the_box(open_tree):
    env, seen = open_tree(STANDING["div"] + LISTENING, version=1)
    assert not env.step(Click(find_id(seen, "notes"))).done


BOARD = """
<style>
  li, .node, [role=row] { width: 200px; height: 40px; position: relative; background: #eee }
  .handle, .port { position: absolute; right: 0; top: 0; width: 30px; height: 20px }
  .port { line-height: 20px; padding: 0; border: 0 }
  td { width: 60px; height: 30px }
</style>
<ul aria-label=List style="padding: 0 0 30px">
  <li>One<b class=handle role=img title=H1></b></li>
  <li>Two<b class=handle role=img title=H2></b></li>
  <li>Three<b class=handle role=img title=H3></b></li>
</ul>
<div><div class=node aria-roledescription=node>A<button class=port>PA</button></div>
  <div class=node aria-roledescription=node>B<button class=port>PB</button></div>
</div>
<table><tr><td>a1<td>b1<tr><td>a2<td>b2<tr><td>a3<td>b3</table>
<ol title=Lines><li>First</li><li><b>Second</b></li></ol>
<p id=out>-</p>
<script>
  onpointerup = ({ target, clientY }) => {
    const box = target.getBoundingClientRect();
    const away = clientY - Math.floor(box.top + box.height / 2);
    const where = away > 2 ? "below" : away < -2 ? "above" : "in";
    out.textContent = `${where} the middle of ${target.title || target.textContent}`;
  };
  ondragstart = () => false;
</script>"""

DRAGS = {
    "item to item": ("One", "Three", "below the middle of Three"),
    "item to an item before": ("Three", "One", "above the middle of One"),
    "handle to item": ("H1", "Three", "below the middle of Three"),
    "handle to handle": ("H1", "H3", "in the middle of H3"),
    "item to handle": ("One", "H3", "in the middle of H3"),
    "item of which a text is all": ("First", "Second", "below the middle of Second"),
    "item to list": ("One", "Lines", "in the middle of Lines"),
    "port to port of a node": ("PA", "PB", "in the middle of PB"),
    "node to port": ("A", "PB", "in the middle of PB"),
    "port to node": ("PA", "B", "below the middle of BPB"),
    "cell to cell": ("a1", "b3", "in the middle of b3"),
    "item to a cell": ("One", "b2", "in the middle of b2"),
}
"""Where a drag from one to another ends."""


@pytest.mark.sweep
def test_a_drag_ends_on_what_it_names(open_tree):
    env, seen = open_tree(BOARD)
    for what, (start, to, end) in DRAGS.items():
        done = env.step(Drag(find_id(seen, start), find_id(seen, to)))
        [said] = [one.text for one in done.observation.elements if one.dom_id == "out"]
        assert said == end, what
