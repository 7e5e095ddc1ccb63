"""What a page does to its own window and document."""

import pytest
from support.own_pages import TASK, click, on_screens, texts

from pytest_miniwob_agent import ClickWith, CloseTab, Copy, Enter, Paste, Press, Select

pytestmark = pytest.mark.integration

PAGE = """<p>Here</p><button onclick="act()">Act</button><button onclick="chosen = 1">Done</button>
<script>
  let chosen = 0;
  const act = () => {{ {script} }};
  var task = {{ goal: "Click Done.", reward: () => chosen }};
  {more}
</script>"""

HARMLESS = {
    "close": ("window.close(); top.close()", ["the page's window was not closed"]),
    "open": ("open('/page.html')", ["a window was not opened: /page.html"]),
    "stop": ("window.stop()", []),
    "print": ("print()", []),
    "size": ("moveTo(9, 9); resizeTo(9, 9); blur(); focus()", []),
    "back": ("history.back(); history.go(-2)", []),
    "fullscreen": ("document.body.requestFullscreen().catch(() => {})", []),
    "pointer lock": (
        "document.body.requestPointerLock().catch(() => {})",
        ["the pointer was not locked"],
    ),
    "debugger": ("debugger", []),
}
"""Scripts that do nothing to the page, and what its author gets to know of them."""

EMPTYING = [
    "document.body.remove()",
    "document.body.hidden = true",
    "document.documentElement.remove()",
    "document.documentElement.replaceWith(document.createElement('html'))",
    "document.replaceChildren(document.createComment('empty'))",
    "document.open()",
    "document.body.replaceWith(document.createElement('frameset'))",
]

BUTTON = "<button onclick='chosen = 1'>Done</button>"

REPLACING = [
    f'document.open(); document.write("{BUTTON}"); document.close()',
    f'document.write("{BUTTON}")',
    f'document.documentElement.replaceWith(document.createElement("div"));'
    f'document.documentElement.innerHTML = "{BUTTON}"',
    f'document.body = document.createElement("body"); document.body.innerHTML = "{BUTTON}"',
]


@pytest.fixture
def show(pages):
    """Open and reset a page with a script for its first button, and another that runs at once."""

    def play(script, more="", screen="compact"):
        return pages.show(PAGE.format(script=script, more=more), screen=screen)

    return play


def test_what_a_page_does_to_its_window_does_not_end_the_item(show):
    ways = ", ".join(f'"{name}": () => {{ {script} }}' for name, (script, _) in HARMLESS.items())
    buttons = f"""
      for (const [name, way] of Object.entries({{ {ways} }})) {{
        const button = document.createElement("button");
        button.textContent = name;
        button.onclick = way;
        document.body.append(button);
      }}"""
    env, seen = show("", buttons)
    for name, (_, remarks) in HARMLESS.items():
        after = click(env, seen, name)
        assert (texts(after.observation), env.remarks()) == (texts(seen), remarks)
    assert click(env, seen, "Done").solved


def test_neither_does_what_it_does_at_once(show):
    env, seen = show("", ";".join(script for script, _ in HARMLESS.values()))
    assert click(env, seen, "Done").solved
    assert env.remarks() == [one for _, remarks in HARMLESS.values() for one in remarks]


def test_no_click_opens_another_window_beside_a_page_of_ones_own(pages):
    env, seen = pages.show(
        f"""{TASK}<a href=/one.html>One</a><p id=host></p><script>
          host.attachShadow({{ mode: "open" }}).innerHTML = "<a href=/two.html>Two</a>";
        </script><iframe srcdoc="<a href=/three.html>Three</a>"></iframe>""",
    )
    for number, name in enumerate(("one", "two", "three"), start=1):
        for more in ({"button": "middle"}, {"keys": ["CTRL"]}, {"keys": ["SHIFT"]}):
            step = env.step(ClickWith(number, **more))
            assert texts(step.observation) == texts(seen)
        [said] = env.remarks()
        assert said.startswith("a link was to open in another window")
        assert said.endswith(f"/{name}.html")
    assert env.step(CloseTab()).error == "there is no other tab"


def test_a_link_in_a_frame_leads_to_the_frame_beside_it_that_it_names(pages):
    pages.write(next_htm="<p>Next</p>")
    env, seen = pages.show(
        f"""{TASK}<iframe srcdoc="<a href=/next.htm target=other>Go</a>"></iframe>
        <iframe name=other></iframe>"""
    )
    assert texts(click(env, seen, "Go").observation) == ["Go", "Next"]


def test_a_page_hears_that_it_fills_the_screen_or_not(show):
    env, seen = show("""document.fullscreenElement ? document.exitFullscreen()
          : document.body.requestFullscreen();
        document.onfullscreenchange = () => {
          document.querySelector("p").textContent = document.fullscreenElement ? "full" : "small";
        }""")
    for said in ["full", "small"] * 2:
        seen = click(env, seen, "Act").observation
        assert said in texts(seen)


@pytest.mark.parametrize(("script", "screen"), on_screens(EMPTYING, few=EMPTYING[::3]))
def test_a_document_may_lose_its_elements(show, script, screen):
    env, seen = show(script, screen=screen)
    assert texts(click(env, seen, "Act").observation) == []
    assert "button" not in env.html()
    assert env.look(marks=[1]).marked == ()
    assert not env.step(Press("HOME")).done


@pytest.mark.parametrize("script", REPLACING)
def test_a_document_may_get_others(show, script):
    env, seen = show(script)
    seen = click(env, seen, "Act").observation
    assert texts(seen) == ["Done"]
    assert click(env, seen, "Done").solved


def test_a_document_that_is_written_anew_is_heard_as_before(show):
    new = (
        "<input><a href='/page.html' target='_blank'>Away</a><button onclick='throw 5'>Bad</button>"
    )
    env, seen = show(f'document.write("{new}")')
    seen = click(env, seen, "Act").observation
    [field] = [one.id for one in seen.elements if one.tag == "input_text"]
    for action in (Enter("Ann", field), Select(field), Copy(), Press("END"), Paste()):
        transition = env.step(action)
    [value] = [one.value for one in transition.observation.elements if one.id == field]
    assert value == "AnnAnn"
    click(env, seen, "Bad")
    assert env.remarks() == ["a script failed: 5"]
    assert "Here" in texts(click(env, seen, "Away").observation)


def test_a_frame_that_shows_a_drawing_is_read(show, pages):
    pages.write(
        drawing_svg='<svg xmlns="http://www.w3.org/2000/svg"><text y="20">drawn</text></svg>'
    )
    env, seen = show("document.body.innerHTML += '<iframe src=/drawing.svg></iframe>'")
    assert "drawn" in texts(click(env, seen, "Act").observation)
