"""Input beyond the actions of the papers: buttons, long presses, keys, and wheels with keys."""

import pytest
from support.own_pages import TASK, texts

from pytest_miniwob_agent import (
    ClickWith,
    Enter,
    Hold,
    PressKeys,
    Release,
    Scroll,
    ScrollWith,
    parse_action,
)
from pytest_miniwob_agent.browsergym import Player

pytestmark = pytest.mark.integration

HEARING = """
<div id=box tabindex=0 style="width: 200px; height: 100px">Box</div><p id=out>.</p>
<script>
  const task = { goal: "g", reward: () => 0 };
  let began = 0;
  const held = (event) => ["ctrlKey", "shiftKey", "altKey", "metaKey"].filter((key) => event[key])
    .map((key) => key.slice(0, -3)).join("+");
  const hear = (event) => {
    const what = event.key ?? event.deltaY ?? `${event.button}/${event.detail}`;
    if (/Control|Shift|Alt|Meta/.test(what)) return;
    out.textContent += ` ${[held(event), event.type, what].filter(String).join(" ")},`;
    if (event.type === "wheel" || event.type === "contextmenu") event.preventDefault();
  };
  for (const type of ["click", "auxclick", "contextmenu", "dblclick", "keydown"]) {
    addEventListener(type, hear);
  }
  addEventListener("wheel", hear, { passive: false });
  box.onpointerdown = () => { began = performance.now(); };
  box.onpointerup = () => {
    const passed = performance.now() - began;
    if (passed > 300) out.textContent += ` after ${Math.round(passed / 100) / 10} s,`;
  };
</script>"""

HEARD = [
    ("right click id=1", "contextmenu 2/0, auxclick 2/1,"),
    ("middle click id=1", "auxclick 1/1,"),
    ("click id=1 x 3", "click 0/1, click 0/2, dblclick 0/2, click 0/3,"),
    ("ctrl+shift+click id=1 at 3,4", "ctrl+shift click 0/1,"),
    ("shift+right click id=1", "shift contextmenu 2/0, shift auxclick 2/1,"),
    ("click id=1 for 1 s", "after 1 s, click 0/1,"),
    ("alt+click id=1 for 500 ms", "after 0.5 s, alt click 0/1,"),
    ("ctrl+scroll id=1 by 100", "ctrl wheel 100,"),
    ("press F2", "keydown F2,"),
    ("press F12 x 2", "keydown F12, keydown F12,"),
    ("press b", "keydown b,"),
    ("press ctrl+b", "ctrl keydown b,"),
    ("press Control+Shift+K", "ctrl+shift keydown K,"),
    ("press cmd+k", "meta keydown k,"),
    ("press alt+left", "alt keydown ArrowLeft,"),
    ("press ?", "shift keydown ?,"),
]


def heard(transition):
    """All that the page has heard."""
    assert transition.error is None
    [said] = [one for one in texts(transition.observation) if one.startswith(".")]
    return said.removeprefix(". ")


def test_a_page_hears_further_input(pages):
    env, _ = pages.show(HEARING, screen="tree")
    for number, (line, _) in enumerate(HEARD, start=1):
        done = env.step(parse_action(line, all_actions=True).action)
        assert heard(done) == " ".join(said for _, said in HEARD[:number])


def test_keys_that_are_held_hold_for_further_input_too(pages):
    env, _ = pages.show(HEARING, screen="tree")
    for action in (Hold("CTRL"), ClickWith(1, "middle", keys=("CTRL", "SHIFT"))):
        done = env.step(action)
    assert heard(done) == "ctrl+shift auxclick 1/1,"
    assert heard(env.step(Scroll(1, 50))).endswith("ctrl wheel 50,")
    env.step(Release("CTRL"))
    assert heard(env.step(PressKeys("F5"))).endswith(" keydown F5,")


def test_keys_edit_a_field_as_a_keyboard_does(pages):
    env, _ = pages.show(f"{TASK}<input>", screen="tree")
    env.step(Enter("one two", 1))
    for keys, value in (
        ("a", "one twoa"), ("shift+b", "one twoaB"), ("ctrl+b", "one twoaB"), ("left", "one twoaB"),
        ("BACKSPACE", "one twoB"), ("ctrl+a", "one twoB"), ("DELETE", ""), ("ctrl+z", "one twoB"),
        ("+", "+"),
    ):  # fmt: skip
        done = env.step(PressKeys(keys))
        assert (done.error, done.observation.elements[-1].value) == (None, value), keys


IMPOSSIBLE = [
    (PressKeys("F13"), "there is no key F13"),
    (PressKeys("hyper+a"), "there is no key hyper+a"),
    (PressKeys("a", 0), "a key can be pressed 1 to 100 times, not 0"),
    (ClickWith(1, "back"), "there is no button back"),
    (ClickWith(1, times=101), "a button can be pressed 1 to 100 times, not 101"),
    (ClickWith(1, seconds=61), "a button can be down for up to 60 seconds, not 61"),
    (ClickWith(1, keys=("HYPER",)), "there is no key HYPER"),
    (ClickWith(9), "there is no element with id=9 on the screen"),
    (ScrollWith(1, 0, ("CTRL",)), "a wheel can't be turned by 0 pixels"),
]


def test_impossible_input_is_an_error(pages):
    env, _ = pages.show(HEARING, screen="tree")
    for action, error in IMPOSSIBLE:
        done = env.step(action)
        assert done.error == error
        assert "." in texts(done.observation)


def test_a_click_with_another_button_that_something_covers_says_so(pages):
    cover = "<div class=veil style='position: fixed; inset: 0'></div>"
    env, _ = pages.show(f"{TASK}<button>B</button>{cover}", screen="tree")
    assert 'covers the element with id=1: div "veil"' in env.step(ClickWith(1, "right")).error


TEXTS = [
    ("click('1', button='right')", "contextmenu 2/0, auxclick 2/1,"),
    ("click('1', button='middle', modifiers=['Shift'])", "shift auxclick 1/1,"),
    ("mouse_click(50, 50, button='right')", "contextmenu 2/0, auxclick 2/1,"),
    ("mouse_dblclick(50, 50, button='middle')", "auxclick 1/1, auxclick 1/2,"),
    ("keyboard_press('F2')", "keydown F2,"),
    ("keyboard_press('Control+b')", "ctrl keydown b,"),
    ("keyboard_press('Shift+F3')", "shift keydown F3,"),
]


def test_the_texts_of_browsergym_have_it(pages):
    player = Player(pages.make(HEARING), screenshot=False)
    player.reset()
    for number, (text, _) in enumerate(TEXTS, start=1):
        seen, transition = player.step(text)
        assert seen["last_action_error"] == ""
        assert heard(transition) == " ".join(said for _, said in TEXTS[:number])
