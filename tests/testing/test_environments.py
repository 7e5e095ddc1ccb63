"""One contract for every environment: the fake that we ship keeps it as the browser does."""

import pytest
from lxml import html

from pytest_miniwob_agent import (
    Answer,
    Case,
    Choose,
    Click,
    Drag,
    Element,
    Enter,
    Hover,
    Press,
    Scroll,
    Type,
)
from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.testing import FakePage

CASE = Case("click-test-2", "1-screen-1-step", 1000)


@pytest.fixture(params=["fake", pytest.param("browser", marks=pytest.mark.integration)])
def browser_or_none(request):
    return None if request.param == "fake" else request.getfixturevalue("browser")


@pytest.fixture
def env(browser_or_none):
    if browser_or_none:
        return MiniwobPage(browser_or_none, CASE)
    one = Element(1, "button", "ONE", details=(("box", "0,0,9,9"),), role="button")
    two = Element(2, "button", "TWO", details=(("box", "9,0,9,9"),), role="button")
    rewards = {("start", "click id=2"): -1.0}
    return FakePage("Click button ONE.", {"start": [one, two]}, rewards=rewards)


@pytest.fixture
def form(browser_or_none):
    if browser_or_none:
        return MiniwobPage(browser_or_none, Case("copy-paste", "other", 1))
    area = Element(1, "textarea", value="a < b\n & c")
    return FakePage("Copy the text.", {"start": [area]})


class TestEnvironment:
    def test_a_reset_begins_the_same_problem_again(self, env):
        first = env.reset()
        assert first.goal
        assert [element.id for element in first.elements] == [1, 2]
        env.step(Click(1))
        assert env.reset() == first

    def test_an_action_without_effect_leaves_the_observation_as_it_is(self, env):
        first = env.reset()
        gone = "there is no element with id=9 on the screen"
        for action, error in (
            (Press("HOME"), None), (Type("x"), None), (Click(9), gone), (Enter("x", 9), gone),
            (Drag(1, 9), gone), (Scroll(9, 10), gone), (Choose("x", 9), gone),
            (Answer("done"), "only tasks on apps take an answer"),
        ):  # fmt: skip
            transition = env.step(action)
            assert (transition.error, transition.done) == (error, False), action
            assert transition.observation == first, action

    def test_an_action_that_can_be_done_gives_no_error(self, env):
        for action in (Hover(1), Hover(1, (2, 2)), Drag(1, end=(0, 200))):
            first = env.reset()
            transition = env.step(action)
            assert (transition.error, transition.done) == (None, False), action
            assert len(transition.observation.elements) == len(first.elements), action

    def test_details_are_seen_only_where_everything_is_asked_for(self, env):
        assert not any(element.details for element in env.reset().elements)
        full = env.reset(screen="full")
        assert all(dict(element.details)["box"] for element in full.elements)
        assert env.step(Press("HOME")).observation == full
        assert not any(element.details for element in env.reset().elements)

    def test_roles_are_seen_only_in_a_tree(self, env):
        for screen in ("compact", "full"):
            assert not any(one.role for one in env.reset(screen=screen).elements)
        tree = env.reset(screen="tree")
        assert [(one.id, one.role, one.text) for one in tree.elements] == [
            (1, "button", "ONE"), (2, "button", "TWO")
        ]  # fmt: skip
        assert env.step(Press("HOME")).observation == tree

    def test_a_wrong_action_ends_the_trial_with_the_pages_reward(self, env):
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

    def test_a_click_into_a_field_gives_it_the_focus(self, form, env):
        start = form.reset()
        (area,) = (one for one in start.elements if one.tag == "textarea")
        after = form.step(Click(area.id)).observation
        assert (start.focus, after.focus) == (None, area.id)
        env.reset()
        assert env.step(Click(1)).observation.focus is None  # a button


def test_a_fake_page_with_a_reward_for_an_answer_takes_answers():
    page = FakePage("When?", {"start": []}, rewards={("start", 'answer "11:00"'): 1.0})
    for text, reward in (("noon", 0), ("11:00", 1)):
        assert page.reset().answers
        transition = page.answer(text)
        assert (transition.reward, transition.done, transition.error) == (reward, True, None)
