"""Replies to the reflective agent: plans and ids."""

import pytest

from pytest_miniwob_agent.agents.reflective.replies import parse_id, parse_plan
from pytest_miniwob_agent.core.actions import Click, Copy, Paste, Press, Select
from pytest_miniwob_agent.core.parsing import Unreadable


def test_an_id_is_read_by_its_form_or_as_the_only_number():
    assert [parse_id(reply) for reply in ("id=4", "It is 4.", "NONE", "4 or 5")] == [
        4, 4, None, None,
    ]  # fmt: skip


def test_a_plan_is_found_between_prose_and_fences():
    reply = "Here is my plan:\n```text\n1. click id=2\n2. press ENTER\n```\nThat should do."
    assert [command.action for command in parse_plan(reply)] == [Click(2), Press("ENTER")]


@pytest.mark.parametrize("reply", ["", "  \n", "DONE", "Done.", "None", "No further actions."])
def test_a_reply_without_further_actions_is_an_empty_plan(reply):
    assert parse_plan(reply) == []


def test_a_reply_without_actions_is_unreadable():
    with pytest.raises(Unreadable, match="no action in the reply"):
        parse_plan("I am sorry, I can't.")


def test_a_plan_is_read_up_to_its_first_unreadable_line():
    first, error = parse_plan("click id=1\npress X\nclick id=2")
    assert first.action == Click(1)
    assert str(error) == "not an action: 'press X'"


def test_further_actions_are_read_only_where_they_are_allowed():
    reply = "First,\n1. select id=2\n2. copy\n3. click id=3\n4. paste"
    planned = [command.action for command in parse_plan(reply, all_actions=True)]
    assert planned == [Select(2), Copy(), Click(3), Paste()]
    assert [command.action for command in parse_plan(reply)] == [Click(3)]
