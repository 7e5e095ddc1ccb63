"""Transitions, animations and view transitions on own pages: they end, by the page's clock."""

import time

import pytest
from support.own_pages import TASK

from pytest_miniwob_agent import Click, Wait

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
        f"{EVENTS} setInterval(() => 0, 50); go.onclick = () => box.classList.add('on');",
        "run start end",
    ),
}


def click(env, seen, pause=0):
    time.sleep(pause)
    [button] = [element for element in seen.elements if element.text == "Go"]
    return env.step(Click(button.id)).observation


def logged(observation):
    return " ".join(element.text for element in observation.elements if element.dom_id == "log")


@pytest.mark.parametrize("screen", ["compact", "full"])
@pytest.mark.parametrize("name", MOTIONS)
def test_motion_comes_to_its_end_with_its_events(name, screen, pages):
    style, body, script, expected = MOTIONS[name]
    inner = "<!DOCTYPE html><style>p { transition: 1s }</style><p>Framed"
    page = PAGE.format(style=style, body=body, task=TASK, script=script)
    env = pages.make(page, inner_html=inner)
    first = click(env, env.reset(screen=screen))
    assert logged(first) == expected
    again = click(env, env.reset(screen=screen), pause=0.1)
    assert again == first
    assert not env.remarks()


def test_time_that_an_agent_waits_moves_what_is_longer(pages):
    env = pages.make(
        PAGE.format(
            style="#box { translate: 0; transition: translate 10s linear }",
            body='<div id="box" style="width: 40px">Menu</div>',
            task=TASK,
            script="go.onclick = () => { box.style.translate = '100px'; };",
        )
    )
    seen = click(env, env.reset(screen="full"))

    def place(observation):
        [element] = [one for one in observation.elements if one.text == "Menu"]
        return element.x

    assert place(seen) == 28
    assert place(env.step(Wait(3)).observation) == 58
    assert place(env.step(Wait(7.1)).observation) == 128
