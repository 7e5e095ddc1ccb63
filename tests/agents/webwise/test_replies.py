"""Programs in the replies to WebWISE."""

import pytest

from pytest_miniwob_agent.agents.webwise.language import ProgramError
from pytest_miniwob_agent.agents.webwise.replies import extract_program

OPEN = 'click("button", "Menu")'
SAVE = 'click("a", "Save")'
BOTH = f"{OPEN}\n{SAVE}"


@pytest.mark.parametrize(
    "reply",
    [
        f"```\n{BOTH}\n```",
        f"```python\n{BOTH}\n```",
        f"Here it is:\n\n```py\n{BOTH}\n```\nThat should do.",
        f"```\n{OPEN}\n```\nand then\n```\n{SAVE}\n```",
        f"```\n{BOTH}",
        f"```\n    {OPEN}\n    {SAVE}\n```",
        BOTH,
        f"I will open the menu first.\n\n{BOTH}\n\nThis is all.",
        f"Solution:\n{BOTH}",
    ],
)
def test_a_program_is_found_between_prose_and_fences(reply):
    assert extract_program(reply) == BOTH


def test_a_program_without_a_fence_is_taken_to_its_end():
    program = 'for text in [\n    "a",\n    "b",\n]:\n    click("label", text)\n    pass'
    assert extract_program(f"Sure!\n{program}\nDone.") == program


@pytest.mark.parametrize("reply", ["", " \n", "I am sorry, I can't.", "```\n\n```", "if you like"])
def test_a_reply_without_a_program_is_an_error(reply):
    with pytest.raises(ProgramError, match="there is no program in the answer"):
        extract_program(reply)
