"""Replies to the reflective agent: plans, ids, and suggestions in the words that models use."""

import pytest

from pytest_miniwob_agent.agents.reflective import parse_suggestion
from pytest_miniwob_agent.agents.reflective.dialogue import parse_id, parse_plan
from pytest_miniwob_agent.core.actions import Click, Copy, Paste, Press, Select
from pytest_miniwob_agent.core.parsing import ParseError


def test_an_id_is_read_by_its_form_or_as_the_only_number():
    assert [parse_id(reply) for reply in ("id=4", "It is 4.", "NONE", "4 or 5")] == [
        4, 4, None, None,
    ]  # fmt: skip


def test_a_plan_is_found_between_prose_and_fences():
    reply = "First click id=3.\nPlan:\n```text\n1. click id=2\n2. press ENTER\n```\nThat is it."
    assert [command.action for command in parse_plan(reply)] == [Click(2), Press("ENTER")]


@pytest.mark.parametrize("reply", ["", "  \n", "DONE", "Done.", "None", "No further actions."])
def test_a_reply_without_further_actions_is_an_empty_plan(reply):
    assert parse_plan(reply) == []


@pytest.mark.parametrize(
    "reply",
    [
        "For action index=2, you should click id=7.",
        "Thinking about it...\n**For action index=2**, you should `click id=7`.",
        "For action index=2:\n- click id=7",
        "For action index=2, instead of click id=6, you should click id=7.",
        "For action index=2, you shouldn't click id=6. Click id=7.",
        "For action index=2, you should click id=7 rather than id=6, then press ENTER.",
        "For action index=1, you should click id=6.\nFor action index=2, you should click id=7.",
        "For action index=2, you should click id=7. For action index=1, you should go on so.",
        "For action index=2, you should click id=7, as action index=1: click id=6 was right.",
    ],
)
def test_a_suggestion_gives_step_and_action(reply):
    step, command = parse_suggestion(reply, False, 9)
    assert (step, command.action) == (2, Click(7))


@pytest.mark.parametrize(
    ("advice", "action"),
    [
        ("press ENTER instead of clicking id=5", "press ENTER"),
        ("press ENTER to submit the form", "press ENTER"),
        ("hold CTRL, then click id=3", "hold CTRL"),
        ("hold the CTRL key and click id=3", "hold CTRL"),
        ('enter "click id=3, then do not" to id=5, then click id=6',
         'enter "click id=3, then do not" to id=5'),
        ("type \u201ca\u201d into id=5 instead", 'enter "a" to id=5'),
    ],
)  # fmt: skip
def test_words_around_an_action_are_skipped(advice, action):
    step, command = parse_suggestion(f"For action index=0, you should {advice}.", False, 9)
    assert (step, str(command.action)) == (0, action)


def test_the_first_of_several_actions_is_read_also_without_its_element():
    reply = 'For action index=0, you should click the "Enter name" field, then click id=4.'
    _, command = parse_suggestion(reply, False, 9)
    assert command.action is None
    assert command.line == 'click the "Enter name" field'


def test_further_actions_are_read_only_where_they_are_allowed():
    reply = "First,\n1. select id=2\n2. copy\n3. click id=3\n4. paste"
    planned = [command.action for command in parse_plan(reply, all_actions=True)]
    assert planned == [Select(2), Copy(), Click(3), Paste()]
    assert [command.action for command in parse_plan(reply)] == [Click(3)]

    reply = "For action index=0, you should copy, then click id=4."
    assert parse_suggestion(reply, True, 9)[1].action == Copy()
    assert parse_suggestion(reply, False, 9)[1].action == Click(4)


@pytest.mark.parametrize(
    "reply",
    ["", "click id=7", "For action index=2, do better.", "For action index=2, don't press ENTER."],
)
def test_a_reply_without_a_suggestion_is_unreadable(reply):
    with pytest.raises(ParseError):
        parse_suggestion(reply, False, 9)
