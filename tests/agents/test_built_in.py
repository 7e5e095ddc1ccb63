"""What every environment and built-in agent must keep to, the fakes as much as the real ones."""

import functools
import re
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

import pytest_miniwob_agent
from pytest_miniwob_agent.agents.registry import BUILT_IN, load_agent
from pytest_miniwob_agent.browser.environment import MiniwobEnvironment
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.core.actions import (
    Choose,
    Click,
    DoubleClick,
    Drag,
    Enter,
    Hover,
    Press,
    Scroll,
    Select,
    Type,
)
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.testing import FakeEnvironment, ScriptedLLM, agent_contract
from pytest_miniwob_agent.testing.hostile import PIECES
from pytest_miniwob_agent.testing.watch import Page, play

CASE = Case("click-test-2", "1-screen-1-step", 1000)


def fake():
    return FakeEnvironment(
        "Click button ONE.",
        {"start": [Element(1, "button", "ONE"), Element(2, "button", "TWO")]},
        rewards={("start", "click id=2"): -1.0},
    )


@pytest.fixture(params=["fake", "browser"])
def env(request):
    if request.param == "fake":
        yield fake()
    else:
        browser = Browser()
        yield MiniwobEnvironment(browser, CASE)
        browser.close()


@pytest.fixture(params=["fake", "browser"])
def form(request):
    """A page with a filled textarea."""
    if request.param == "fake":
        area = Element(1, "textarea", value="a < b\n & c")
        yield FakeEnvironment("Copy the text.", {"start": [area]})
    else:
        browser = Browser()
        yield MiniwobEnvironment(browser, Case("copy-paste", "other", 1))
        browser.close()


class TestEnvironment:
    def test_a_reset_begins_anew(self, env):
        first = env.reset()
        assert first.goal
        assert [element.id for element in first.elements] == [1, 2]
        env.step(Click(1))
        assert env.reset() == first

    def test_an_action_without_effect_leaves_the_observation_as_it_is(self, env):
        first = env.reset()
        transition = env.step(Press("HOME"))
        assert (transition.observation, transition.done, transition.error) == (first, False, None)

    def test_typing_without_the_focus_changes_nothing(self, env):
        first = env.reset()
        transition = env.step(Type("x"))
        assert (transition.observation, transition.done, transition.error) == (first, False, None)

    @pytest.mark.parametrize(
        "action",
        [
            Click(9), Enter("x", 9), Click(9, (1, 1)), DoubleClick(9), Hover(9), Drag(9, 1),
            Drag(1, 9), Drag(9, end=(1, 1)), Select(9), Select(9, "x"), Scroll(9, 10),
            Choose("x", 9),
        ],
    )  # fmt: skip
    def test_an_impossible_action_is_data(self, env, action):
        first = env.reset()
        transition = env.step(action)
        assert transition.error == "there is no element with id=9 on the screen"
        assert transition.observation == first

    @pytest.mark.parametrize("action", [Hover(1), Hover(1, (2, 2)), Drag(1, end=(0, 200))])
    def test_a_possible_action_is_no_error(self, env, action):
        first = env.reset()
        transition = env.step(action)
        assert (transition.error, transition.done) == (None, False)
        assert len(transition.observation.elements) == len(first.elements)

    def test_the_environment_judges(self, env):
        goal = env.reset().goal
        transition = env.step(Click(2))
        assert transition.done
        assert not transition.solved
        assert transition.reward == -1
        assert transition.observation.goal == goal
        assert transition.observation.elements == ()
        assert env.html() == ""

    def test_the_html_names_every_element_by_the_id_that_actions_take(self, env):
        elements = env.reset().elements
        page = html.fromstring(env.html())
        buttons = page.xpath("//button[@data-ref]")
        assert [int(button.get("data-ref")) for button in buttons] == [one.id for one in elements]
        assert [button.text for button in buttons] == ["ONE", "TWO"]
        (two,) = page.xpath('//button[text()="TWO"]')
        assert env.step(Click(int(two.get("data-ref")))).done

    def test_the_html_of_a_textarea_is_its_value(self, form):
        (area,) = (one for one in form.reset().elements if one.tag == "textarea")
        (shown,) = html.fromstring(form.html()).xpath("//textarea")
        assert area.value
        assert (shown.text, shown.get("value")) == (area.value, None)


REPLIES = {"webwise": ['```python\nclick("button", "ONE")\n```']}
"""What makes an agent act, where it is none of `USUAL`."""

USUAL = ['click id=1\nclickxpath //*[@data-ref="1"]']

AGENTS = {name: functools.partial(load_agent, name) for name in BUILT_IN} | {
    f"reflective-{number}": functools.partial(load_agent, "reflective", params=params)
    for number, params in enumerate(
        [
            {"planning": "iterative", "memory": "traces", "constraint": "all"},
            {"planning": "plan-then-adapt", "memory": "plain", "constraint": "none"},
        ],
        start=2,
    )
}
"""What makes each built-in agent, and some of their variants."""


def replies_of(name):
    return REPLIES.get(name, USUAL)


# One class an agent, such as TestReflective, as an agent of a user's own has one.
globals().update(
    ("Test" + name.title().replace("-", ""), agent_contract(make, replies_of(name)))
    for name, make in AGENTS.items()
)


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_agent_is_called_what_its_cassettes_are(name):
    assert load_agent(name).name == name


def phrases():
    """What the built-in prompts show by example, and what hostile replies are made of."""
    texts = [
        path.read_text()
        for path in Path(pytest_miniwob_agent.__file__).parent.glob("agents/*/prompts/*.txt")
    ]
    shown = {piece for text in texts for piece in re.findall(r"`[^`\n]+`|\S+|\n", text)}
    return sorted(shown | {piece.strip("`") for piece in shown} | set(PIECES))


numbers = st.one_of(st.integers().map(str), st.floats().map(str), st.text("0123456789"))
junk = st.text(st.characters(exclude_categories=()), max_size=20)
pieces = st.lists(st.one_of(st.sampled_from(phrases()), numbers, junk), max_size=25)
programs = st.lists(st.sampled_from(phrases()), max_size=25).map(" ".join)
texts = st.one_of(
    junk,
    pieces.map(" ".join),
    pieces.map("".join),
    programs.map("```python\n{}\n```".format),
)


@pytest.mark.parametrize("name", AGENTS)
@given(
    script=st.lists(texts, min_size=1, max_size=6),
    written=st.one_of(st.just("ONE"), texts),
    reward=st.sampled_from([None, -1.0, 1.0]),
)
@settings(max_examples=100, deadline=None)  # a busy machine is no failure
def test_nothing_but_an_ending_comes_of_any_replies(name, script, written, reward):
    """And of anything written on the page. Good replies follow, so that the agent gets further."""
    fields = {"text": written, "classes": written, "placeholder": written, "value": written}
    page = Page(reward, 2, written, [Element(1, "input", **fields), Element(2, "button", written)])
    episode = play(AGENTS[name](), page, ScriptedLLM(cycle([*script, *replies_of(name)])))
    assert len(episode.endings) == episode.trials
