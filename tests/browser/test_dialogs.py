"""Dialogs of pages: an agent answers them, as a program does; others get the default answer."""

import json

import pytest
from support.own_pages import TASK, click, texts
from support.scripted import actions, play
from support.sweeps import swept

from pytest_miniwob_agent import (
    Accept,
    BrowserLost,
    Click,
    Dialog,
    Dismiss,
    Drag,
    Element,
    Press,
)
from pytest_miniwob_agent.agents.reflective import ReflectiveAgent
from pytest_miniwob_agent.core.chat import ToolCall
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.plugins.tools.agent import ToolsAgent
from pytest_miniwob_agent.testing import FakePage

pytestmark = pytest.mark.integration

BODY = """
    <button onclick="say(confirm('Delete all?'))">Delete</button>
    <button onclick="say(prompt('Your name?', 'Bob'))">Name</button>
    <button onclick="alert('One'); alert('Two'); say('told')">Tell</button>
    <button onclick="setTimeout(() => say(confirm('Still there?')), 3000)">Later</button>
    <button onclick="for (;;) alert('Again')">Endless</button>
    <button onclick="confirm('Leave?') && location.assign('second')">Leave</button>
    <p id="said">nothing</p>
    <script>
      const say = (what) => { said.textContent = String(what); };
      const task = { goal: "Answer.", reward: () => Number(said.textContent === "true") };
    </script>"""


def fake():
    buttons = [Element(n, "button", text) for n, text in enumerate(("Delete", "Name"), start=1)]

    def said(text):
        return [*buttons, Element(3, "p", text)]

    return FakePage(
        "Answer.",
        {"start": said("nothing"), "false": said("false"), "Bob": said("Bob"), "Ann": said("Ann"),
         "null": said("null"), "confirm": Dialog("confirm", "Delete all?"),
         "prompt": Dialog("prompt", "Your name?", "Bob")},
        {**{(screen, "click id=1"): "confirm" for screen in ("start", "Bob", "Ann", "null")},
         **{(screen, "click id=2"): "prompt" for screen in ("start", "Bob", "Ann", "null")},
         ("confirm", "dismiss"): "false", ("prompt", "accept"): "Bob",
         ("prompt", 'accept with "Ann"'): "Ann", ("prompt", "dismiss"): "null"},
        {("confirm", "accept"): 1.0},
    )  # fmt: skip


@pytest.fixture(params=["page", "fake"])
def env(request, pages):
    return fake() if request.param == "fake" else pages.make(BODY)


def test_an_open_dialog_is_all_that_is_seen_until_it_is_answered(env):
    seen = click(env, env.reset(), "Delete").observation
    assert seen.dialog == Dialog("confirm", "Delete all?")
    assert texts(seen) == ["Delete all?"]
    assert seen.goal == "Answer."
    assert env.html() == ""
    for action, error in [
        (Press("ENTER"), "the page's confirm is open: accept or dismiss it first"),
        (Accept("yes"), "the page's confirm takes no text"),
    ]:
        refused = env.step(action)
        assert (refused.error, refused.observation) == (error, seen)
    after = env.step(Dismiss())
    assert after.error is None
    assert texts(after.observation)[-1] == "false"
    assert after.observation.dialog is None
    for action in (Accept(), Dismiss()):
        refused = env.step(action)
        assert refused.error == "the page has no dialog open"
        assert refused.observation == after.observation
    click(env, env.reset(), "Delete")
    assert env.step(Accept()).solved


def test_a_prompt_gets_a_text(env):
    seen = env.reset()
    for answer, said in ((Accept(), "Bob"), (Accept("Ann"), "Ann"), (Dismiss(), "null")):
        asked = click(env, seen, "Name").observation
        assert asked.dialog == Dialog("prompt", "Your name?", "Bob")
        assert asked.elements[0].value == "Bob"
        seen = env.step(answer).observation
        assert texts(seen)[-1] == said


def test_a_trial_may_begin_while_a_dialog_is_open(env):
    first = env.reset()
    assert click(env, first, "Delete").observation.dialog
    assert env.reset() == first


def test_no_time_passes_while_a_dialog_is_open(pages):
    env, seen = pages.show(BODY)
    assert click(env, seen, "Later").observation.dialog.message == "Still there?"
    assert env.step(Accept()).solved
    env, seen = pages.show(BODY)
    after = click(env, seen, "Tell")
    assert after.observation.dialog == Dialog("alert", "One")
    after = env.step(Accept())
    assert after.observation.dialog == Dialog("alert", "Two")
    assert texts(env.step(Dismiss()).observation)[-1] == "told"


@pytest.mark.parametrize(
    "event",
    [
        "mousemove",
        "drop",
        *swept("dragstart", "dragover"),
    ],
)
def test_a_drag_ends_where_it_opens_a_dialog(pages, event):
    env, seen = pages.show(
        f"""<p draggable="{event != "mousemove"}">This</p>
        <p ondragover="event.preventDefault()">There</p>
        <button onclick="this.textContent += '!'">Use</button><script>
        const once = {{ once: true }};
        const ask = () => alert("Stop");
        addEventListener("mousedown", () => addEventListener("{event}", ask, once), once);
        </script>{TASK}"""
    )
    this, there, use = (element.id for element in seen.elements)
    assert env.step(Drag(this, there)).observation.dialog.message == "Stop"
    env.step(Accept())
    env.step(Press("TAB"))
    assert texts(env.step(Click(use)).observation) == ["This", "There", "Use!"]


def test_dialogs_of_further_pages_and_of_frames(pages):
    inner = "<button onclick=\"parent.said.textContent = confirm('In?')\">In</button>"
    pages.write(
        second_html="<!DOCTYPE html><iframe src='inner.html'></iframe><p id='said'>?</p>"
        "<script>alert('Welcome'); const task = { reward: () => 0 };</script>",
        inner_html=inner,
    )
    env, seen = pages.show(BODY)
    assert click(env, seen, "Leave").observation.dialog.message == "Leave?"
    assert env.step(Accept()).observation.dialog == Dialog("alert", "Welcome")
    seen = env.step(Accept()).observation
    assert click(env, seen, "In").observation.dialog.message == "In?"
    assert "true" in texts(env.step(Accept()).observation)


def test_dialogs_without_end_cost_their_item_alone(pages):
    env, seen = pages.show(BODY)
    assert click(env, seen, "Endless").observation.dialog
    for _ in range(3):
        assert env.step(Dismiss()).observation.dialog.message == "Again"
    with pytest.raises(BrowserLost, match="opens dialogs without end"):
        env.reset()
    assert texts(env.reset())[0] == "Delete"


def test_a_dialog_before_the_trial_has_begun_gets_the_default_answer(pages):
    env, seen = pages.show(
        """<p id="said"></p><script>
        said.textContent = `${alert("Hello")} ${confirm("Sure?")} ${prompt("Name?")}`;
        const task = { goal: "g", reward: () => 0, setup: () => alert("Set up") };</script>"""
    )
    assert texts(seen) == ["undefined false null"]
    assert 'nobody was there to answer: confirm("Sure?")' in env.remarks()


def calls(name, **arguments):
    return Completion("", tool_calls=(ToolCall("c", name, json.dumps(arguments)),))


def test_the_tools_are_answers_only_while_a_dialog_is_open(env):
    replies = [calls("click", element=1), calls("click", element=2), calls("accept")]
    episode, llm = play(ToolsAgent(), env, replies, raising=True)
    assert episode.solved
    offered = [
        [tool["function"]["name"] for tool in request.body["tools"]] for request in llm.requests
    ]
    more = ["go_back", "go_forward", "reload"] if env.default_screen == "tree" else []
    assert offered[0] == ["click", "enter", "press", "hold", "release", *more]
    assert offered[1:] == [["accept", "dismiss"]] * 2
    shown = '<confirm pos="center">Delete all?</confirm>', 'confirm "Delete all?"'
    assert shown[env.default_screen == "tree"] in llm.prompts[1][1]


def test_an_agent_that_cannot_answer_dialogs_never_sees_one(env):
    episode, llm = play(ReflectiveAgent(), env, lambda *call: "click id=1", steps=1, trials=1)
    assert actions(episode) == ["click id=1", "dismiss"]
    assert not any("Delete all?" in prompt for _, prompt in llm.prompts)
