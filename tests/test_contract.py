"""What every environment and built-in agent must keep to, the fakes as much as the real ones."""

import pytest
from lxml import html

from pytest_miniwob_agent.agents import BUILT_IN, load_agent
from pytest_miniwob_agent.browser import Browser
from pytest_miniwob_agent.core import (
    Acted,
    Agent,
    Called,
    Case,
    Choose,
    Click,
    DoubleClick,
    Drag,
    Element,
    Enter,
    Hover,
    Limits,
    Press,
    Scroll,
    Select,
    TrialEnded,
    TrialStarted,
    Type,
    to_data,
)
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.testing import FakeEnvironment, ScriptedLLM

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
        yield browser.environment(CASE)
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


REPLIES = {
    "nothing": "",
    "prose": "I'm afraid I can't do that.",
    "an impossible plan": "click id=12345",
    "an endless plan": "click id=1\n" * 500,
    "keys without end": "press ENTER x 999999999",
    "half an action": 'enter "',
    "a suggestion for a plan": "For action index=0, you should click id=1.",
    "binary": "\x00\x1b[31m\ud800\uffff",
    "a place that is none": "click id=1 at 99999999999999,-3\ndrag id=1 by 1e999,nan",
    "a number that is no id": "click id=" + "9" * 400,
}


@pytest.mark.parametrize("name", BUILT_IN)
class TestAgent:
    def test_it_is_an_agent(self, name):
        agent = load_agent(name)
        assert isinstance(agent, Agent)
        assert agent.name == name

    @pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
    def test_no_reply_breaks_it_or_its_limits(self, name, reply):
        limits = Limits(trials=3, steps=4, calls=50)
        llm = ScriptedLLM(lambda prompt, purpose: reply)
        episode = run_episode(CASE, load_agent(name), fake(), llm, limits, model="scripted")
        started = [event for event in episode.events if isinstance(event, TrialStarted)]
        ended = [event for event in episode.events if isinstance(event, TrialEnded)]
        assert 1 <= len(started) == len(ended) <= limits.trials
        for trial in range(1, len(started) + 1):
            acted = [e for e in episode.events if isinstance(e, Acted) and e.trial == trial]
            assert len(acted) <= limits.steps
        assert sum(isinstance(event, Called) for event in episode.events) <= limits.calls
        assert not episode.solved
        to_data(episode.events)
        assert episode.explain()

    def test_equal_replies_give_equal_events(self, name):
        def play():
            replies = ["click id=1", "A button was clicked.", "click id=2", "?"] * 9
            return run_episode(
                CASE, load_agent(name), fake(), ScriptedLLM(replies), Limits(), model="scripted"
            )

        assert play() == play()
