"""Transitions, animations and view transitions on own pages: they end, by the page's clock."""

import time

import pytest
from support.own_pages import TASK, on_screens

from pytest_miniwob_agent import Click, Drag, Press, Type, Wait

pytestmark = pytest.mark.integration

PAGE = """<style>{style}</style><button id="go">Go</button>{body}<p id="log"></p>{task}<script>
    const log = (text) => {{ document.getElementById("log").textContent += text + " "; }};
    const $ = (id) => document.getElementById(id);
    {script}
  </script>"""

EVENTS = """for (const kind of ["run", "start", "end", "cancel"]) {
    document.addEventListener("transition" + kind, () => log(kind)); }
  for (const kind of ["start", "iteration", "end"]) {
    document.addEventListener("animation" + kind, () => log(kind)); }"""

# A page's style, body and script, and what it logs once the button has been clicked.
MOTIONS = {
    "transition": (
        "#box { transition: opacity .3s .1s; opacity: 0 } #box.on { opacity: 1 }",
        '<div id="box">Menu</div>',
        f"{EVENTS} go.onclick = () => box.classList.add('on');",
        "run start end",
    ),
    "animation that repeats": (
        "@keyframes in { from { opacity: 0 } } .on { animation: in .2s 3 }",
        '<div id="box">Menu</div>',
        f"{EVENTS} go.onclick = () => box.classList.add('on');",
        "start iteration iteration end",
    ),
    "one after the other": (
        "@keyframes in { from { opacity: 0 } } .on { animation: in .2s both } div { opacity: 0 }",
        '<div id="box">Menu</div><div id="next">Next</div>',
        """document.addEventListener("animationend", ({ target }) => {
             log(target.id);
             if (target === box) next.className = "on";
           });
           go.onclick = () => { box.className = "on"; setTimeout(() => log("between"), 250); };""",
        "box between next",
    ),
    "script": (
        "",
        '<div id="box">Menu</div>',
        """go.onclick = async () => {
             const moved = box.animate([{ opacity: 0 }, { opacity: 1 }], 300);
             moved.onfinish = () => log("finish");
             await moved.ready;
             log("ready");
             await moved.finished;
             log("finished");
           };""",
        "ready finished finish",
    ),
    "delay at the end": (
        "",
        '<div id="box">Menu</div>',
        """go.onclick = () => {
             const moved = box.animate({ opacity: [0, 1] }, { duration: 200, endDelay: 100 });
             moved.onfinish = () => log("finish");
             setTimeout(() => log("between"), 250);
           };""",
        "between finish",
    ),
    "start that is set afterwards": (
        "",
        '<div id="box">Menu</div>',
        """go.onclick = () => {
             const { timeline } = document;
             log(timeline.currentTime === performance.now());
             const moved = box.animate({ translate: ["300px", "0"] }, 400);
             moved.startTime = timeline.currentTime - 100;
             setTimeout(() => log(moved.currentTime + " " + box.getBoundingClientRect().x), 200);
             moved.onfinish = () => log(timeline.currentTime - moved.startTime);
           };""",
        "true 300 83 400",
    ),
    "backwards and in shadow": (
        "",
        '<div id="box"></div>',
        """const root = box.attachShadow({ mode: "closed" });
           root.innerHTML = "<span>Menu</span>";
           go.onclick = () => {
             const moved = root.firstChild.animate({ opacity: [0, 1] }, 200);
             moved.playbackRate = -2;
             moved.play();
             moved.onfinish = () => log("finish " + moved.currentTime);
           };""",
        "finish 0",
    ),
    "frame": (
        "",
        '<iframe id="box" src="inner.html"></iframe>',
        """go.onclick = () => {
             const inner = box.contentDocument.querySelector("p");
             inner.ontransitionend = () => log("end");
             inner.style.opacity = 0.5;
           };""",
        "end",
    ),
    "view transition": (
        "",
        '<div id="box">Menu</div>',
        """go.onclick = () => {
             const shown = document.startViewTransition(async () => {
               await new Promise((resolve) => setTimeout(resolve, 100));
               box.textContent = "Others";
             });
             shown.ready.then(() => log("ready"));
             shown.finished.then(() => log("finished"));
           };""",
        "ready finished",
    ),
    "without end": (
        "@keyframes in { to { translate: 99px } } .on { animation: in 1s infinite }",
        '<div id="box">Menu</div>',
        f"""{EVENTS} go.onclick = () => {{
             box.className = "on";
             setTimeout(() => log(box.getBoundingClientRect().x), 700);
           }};""",
        "start 8",
    ),
    "page that moves by itself": (
        "#box { transition: opacity .3s } #box.on { opacity: 0 }",
        '<div id="box">Menu</div>',
        f"{EVENTS} setInterval(() => 0, 200); go.onclick = () => box.classList.add('on');",
        "run start end",
    ),
}


STILL = '<div id="box">Box</div><p id="hidden" hidden></p><canvas id="canvas"></canvas>'


@pytest.fixture
def make(pages):
    def make(script, body=STILL, style="", **files):
        page = PAGE.format(style=style, body=body, task=TASK, script=script)
        return pages.make(page, **files)

    return make


def click(env, seen, pause=0):
    time.sleep(pause)
    [button] = [element for element in seen.elements if element.text == "Go"]
    return env.step(Click(button.id)).observation


def logged(observation):
    return " ".join(element.text for element in observation.elements if element.dom_id == "log")


@pytest.mark.parametrize(
    ("name", "screen"), on_screens(MOTIONS, ("compact", "full"), few=tuple(MOTIONS)[2::2])
)
def test_motion_comes_to_its_end_with_its_events(name, screen, make):
    style, body, script, expected = MOTIONS[name]
    inner = "<!DOCTYPE html><style>p { transition: 1s }</style><p>Framed"
    env = make(script, body, style, inner_html=inner)
    first = click(env, env.reset(screen=screen))
    assert logged(first) == expected
    again = click(env, env.reset(screen=screen), pause=0.1)
    assert again == first
    assert not env.remarks()


@pytest.mark.parametrize("played", ["", "moved.cancel(); moved.play();"])
def test_motion_that_takes_no_time_ends_after_the_keys_of_its_action(played, make):
    script = f"""
      go.onkeydown = ({{ key }}) => {{
        log(key);
        if (key !== "a") return;
        const moved = go.animate({{ opacity: 0 }}, 0);
        {played}
        moved.onfinish = () => log("end");
      }};"""
    env = make(script)
    click(env, env.reset())
    keys = "abcdefghijklmnopqrstuvwxyz" * 2
    assert logged(env.step(Type(keys)).observation) == " ".join([*keys, "end", "end"])


def test_time_that_an_agent_waits_moves_what_is_longer(make):
    env = make(
        "go.onclick = () => { box.style.translate = '100px'; };",
        style="#box { width: 40px; translate: 0; transition: translate 5s linear }",
    )
    seen = click(env, env.reset(screen="full"))

    def place(observation):
        [element] = [one for one in observation.elements if one.text == "Box"]
        return element.x

    assert place(seen) == 28
    assert place(env.step(Wait(1)).observation) == 48
    assert place(env.step(Wait(1.5)).observation) == 78


def state(observation):
    return [value for one in observation.elements if one.tag == "page" for _, value in one.details]


# Scripts that go on and on, and change nothing that is seen.
LOOPS = {
    "nothing": "",
    "frames": "(function turn() { requestAnimationFrame(turn); })();",
    "interval": "setInterval(() => { document.body.dataset.now = Date.now(); }, 50);",
    "timers": "(function turn() { setTimeout(turn, 30); })();",
    "slow timers": "(function turn() { setTimeout(turn, 400); })();",
    "promises": """(async () => {
        for (;;) await new Promise((resolve) => requestAnimationFrame(resolve));
      })();""",
    "the same again": """(function turn() {
        $("box").style.transform = "translate(5px)";
        requestAnimationFrame(turn);
      })();""",
    "what is hidden": """(function turn() {
        $("hidden").textContent += "x";
        requestAnimationFrame(turn);
      })();""",
    "a canvas": """(function turn() {
        $("canvas").getContext("2d").fillRect(5, 5, 9, 9);
        requestAnimationFrame(turn);
      })();""",
}
SAVE = """go.onclick = () => setTimeout(() => {
    fetch("/page.html").then(() => setTimeout(() => log("saved"), 700));
  }, 300);"""


@pytest.mark.parametrize(
    ("name", "screen"), on_screens(LOOPS, ("full", "tree"), few=tuple(LOOPS)[4::3])
)
def test_a_loop_that_changes_nothing_is_no_motion(name, screen, make):
    env = make(SAVE + LOOPS[name])
    first = env.reset(screen=screen)
    assert "moving" not in state(first)
    clicked = click(env, first)
    assert "saved" in [element.text for element in clicked.elements]
    assert "moving" not in state(clicked)
    assert not env.remarks()


def test_a_loop_is_motion_on_the_first_version_of_screens(make):
    env = make(SAVE + LOOPS["frames"])
    env.screen_version = 1
    first = env.reset(screen="full")
    clicked = click(env, first)
    assert state(first) == state(clicked) == ["moving"]
    assert not logged(clicked)


# Scripts that change what is seen, by all means of doing so.
MOVING = {
    "place": """let x = 0;
      (function turn() {
        $("box").style.translate = `${x++}px`;
        requestAnimationFrame(turn);
      })();""",
    "colour": """let hue = 0;
      setInterval(() => { $("box").style.background = `hsl(${hue += 9} 50% 50%)`; }, 40);""",
    "text": """(function turn() {
        $("box").textContent = Date.now();
        setTimeout(turn, 200);
      })();""",
    "slow steps": """(function turn() {
        $("box").textContent = Date.now();
        setTimeout(turn, 600);
      })();""",
    "canvas": """let x = 0;
      (function turn() {
        $("canvas").getContext("2d").fillRect(x++ % 300, 5, 1, 1);
        requestAnimationFrame(turn);
      })();""",
    "scrolling": """setInterval(() => {
        $("list").scrollTop = ($("list").scrollTop + 1) % 900;
      }, 20);""",
    "frame": """const { contentDocument } = document.querySelector("iframe");
      setInterval(() => { contentDocument.body.append("x"); }, 200);""",
    "shadow": """const root = $("box").attachShadow({ mode: "open" });
      setInterval(() => { root.textContent = Date.now(); }, 20);""",
}
LIST = """<div id="list" style="height: 40px; overflow: scroll">
    <div style="height: 999px">List</div>
  </div>
  <iframe src="inner.html"></iframe>"""


@pytest.mark.parametrize(
    ("name", "screen"), on_screens(MOVING, ("tree", "full"), few=tuple(MOVING)[::3])
)
def test_time_hardly_passes_after_an_action_where_what_is_seen_changes(name, screen, make):
    script = f"""let at;
      go.onclick = () => {{
        at = performance.now();
        setTimeout(() => log("late"), 50);
      }};
      document.addEventListener("keydown", () => log(performance.now() - at));
      addEventListener("load", () => {{ {MOVING[name]} }});"""
    env = make(script, STILL + LIST, inner_html="<!DOCTYPE html><p>Framed")
    first = env.reset(screen=screen)
    seen = click(env, first)
    assert state(first) == state(seen) == ["moving"]
    assert not logged(seen)
    assert logged(env.step(Press("SPACE")).observation) == "20"
    assert state(env.step(Wait(0.3)).observation)[0] == "moving"


@pytest.mark.sweep
def test_motion_that_an_action_begins_is_awaited_beside_a_loop_and_ends(make):
    script = """let left = 0, x = 0;
      (function turn() {
        if (left) box.style.translate = `${x++}px`;
        if (left && !--left) log("there");
        setTimeout(turn, 100);
      })();
      go.onclick = () => { left = x ? 100 : 10; };"""
    env = make(script)
    seen = click(env, env.reset(screen="full"))
    assert logged(seen) == "there"
    assert not state(seen)
    moving = click(env, seen)
    assert state(moving) == ["moving"]
    assert state(env.step(Wait(1)).observation) == ["moving"]
    ended = env.step(Wait(3)).observation
    assert logged(ended) == "there there"
    assert not state(ended)


def test_a_drag_in_which_time_passes_does_not_end_motion(make):
    env = make("setInterval(() => { box.textContent = Date.now(); }, 240);")
    first = env.reset(screen="full")
    assert state(first) == ["moving"]
    ids = [element.id for element in first.elements if element.id]
    for _ in range(2):
        assert state(env.step(Drag(ids[0], ids[1])).observation)[0] == "moving"
