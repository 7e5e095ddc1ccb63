"""Pages whose elements are nested far deeper than calls of functions can be."""

import pytest
from support.own_pages import click, texts
from support.sweeps import swept

from pytest_miniwob_agent import Copy, Enter, Hover, Paste, Select, Wait
from pytest_miniwob_agent.browsergym import Player
from pytest_miniwob_agent.plugins.rci.agent import find
from pytest_miniwob_agent.plugins.webwise.page import read_objects

pytestmark = pytest.mark.integration

# Chromium's parser nests 512 elements, its layout some 2,700 blocks.
PAGE = """<style>.open {{ display: contents }}</style>{root}<button>Last</button><script>
  let at = document.getElementById("root"), chosen = 0;
  for (let level = 0; level < {levels}; level++) {{
    const inner = document.createElementNS(at.namespaceURI ?? at.host.namespaceURI, "{tag}");
    inner.setAttribute("class", "{look}");
    if (level % 100 === 0) inner.append(`level ${{level}}`);
    at.append(inner);
    at = {shadow} ? inner.attachShadow({{ mode: "open" }}) : inner;
  }}
  at.append(...document.getElementById("inner").content.children);
  at.querySelector(".deepest").addEventListener("click", () => {{ chosen = 1; }});
  var task = {{ goal: "Click deepest.", reward: () => chosen }};
</script>"""
HTML = """<div id=root></div><template id=inner><input placeholder=type>
  <button class=deepest>deepest</button></template>"""
SVG = """<svg><g id=root></g></svg><template id=inner><svg>
  <text class=deepest y=20>deepest</text></svg></template>"""


@pytest.fixture
def show(pages):
    def play(root, levels, screen="compact", tag="div", look="", shadow="false"):
        page = PAGE.format(root=root, levels=levels, tag=tag, look=look, shadow=shadow)
        return pages.show(page, screen=screen)

    return play


@pytest.mark.parametrize("screen", ["compact", *swept("full", "tree")])
def test_two_thousand_elements_in_each_other_are_read_and_used(show, screen):
    env, seen = show(HTML, 2000, screen)
    assert {"deepest", "Last"} <= set(texts(seen))
    assert "level 1900" in "".join(texts(seen))
    [field] = [one.id for one in seen.elements if one.placeholder]
    # Input is the same with each screen; what changes while time passes is not read with this one.
    actions = [Enter("Ann", field), Select(field), Copy(), Paste(), Hover(field)]
    for action in actions if screen == "compact" else [Enter("Ann", field), Wait(0.1)]:
        assert env.step(action).error is None
    assert env.look(marks=[field]).marked == (field,)
    assert click(env, seen, "deepest").solved


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("root", "levels", "more"),
    [
        (HTML, 3000, {"look": "open", "screen": "tree"}),
        (HTML, 10_000, {"look": "open"}),
        (HTML, 500, {"shadow": "true"}),
        (SVG, 2000, {"tag": "g"}),
    ],
    ids=["tree", "deeper", "shadow", "svg"],
)
def test_other_trees_may_be_as_deep(show, root, levels, more):
    env, seen = show(root, levels, **more)
    assert {"deepest", "Last"} <= set(texts(seen))
    assert click(env, seen, "deepest").solved


@pytest.mark.sweep
def test_all_of_a_deep_page_is_in_what_parsers_make_of_its_html(show):
    env, _ = show(HTML, 2000)
    html = env.html()
    assert [text for _, text in find(html, "//button")] == ["deepest", "Last"]
    assert len(find(html, "//div")) == 2001
    assert {"deepest", "Last"} <= {one.text for one in read_objects(html)}
    shown = Player(env, screenshot=False).reset()["axtree_txt"]
    assert "button 'deepest'" in shown
    assert "button 'Last'" in shown
