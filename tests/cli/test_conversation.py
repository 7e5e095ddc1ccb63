"""A recorded conversation with tools, as the commands show it."""

import pytest
from chatting import CHATTING, click_save
from projects import FAKE_PAGE

ITEM = "n-screen-n-step/click-menu-2/1"

SHOWN = f"""\
item: {ITEM}
goal: Open the menu and click Save, for click-menu-2 1

=== trial 1 ===
screen:
  <button id="1" pos="top-left">Menu</button>

call 1, act, 11 + 3 tokens
  tools: click, enter
    reasoning: The menu is closed.
    I open the menu.
    click({{"element": 1}})

action 0: click id=1
screen:
  <button id="1" pos="top-left">Menu</button>
  <a id="2" pos="top-left">Save</a>
  <a id="3" pos="top-left">Quit</a>

call 2, act, 11 + 3 tokens
    click({{"element": 2}})

action 1: click id=2
  the page ends the trial with reward 1

trial 1 ends: correct

solved in trial 1, best reward 1: chatting with m
answered by: m-2026-01-01
"""


@pytest.fixture
def chatting(project, chat_server):
    """A recorded project whose agent calls tools."""
    project.makeconftest(FAKE_PAGE + CHATTING)
    click_save(chat_server)
    url = f"--miniwob-base-url={chat_server.url}"
    project.runpytest("-k", "click-menu-2/1", "--miniwob-record=once", url).assert_outcomes(
        passed=1, deselected=11
    )
    return project


def test_a_recorded_conversation_is_shown(chatting, call):
    assert call("show", ITEM) == (0, SHOWN, "")
    second = call("show", ITEM, "--full")[1].partition("\ncall 2")[2]
    assert "tools:" not in second
    assert (
        "  prompt:\n    … 3 earlier messages\n    [tool]\n    The screen: Menu, Save, Quit\n"
        '  completion:\n    click({"element": 2})\n'
    ) in second
    _, first, said, second, _ = call("cassettes", "show", "click-menu-2/1")[1].split("\n\n")
    assert first.startswith("=== call 1: act, trial 1, step 0 ===\ntools: click, enter\n")
    assert first.endswith(
        "\n[system]\nYou work on a web page.\n"
        "[user]\nOpen the menu and click Save, for click-menu-2 1"
    )
    assert said == (
        "--- m-2026-01-01, 11 + 3 tokens ---\nreasoning: The menu is closed.\nI open the menu.\n"
        'click({"element": 1})'
    )
    assert second == (
        "=== call 2: act, trial 1, step 1 ===\n… 3 earlier messages\n"
        "[tool]\nThe screen: Menu, Save, Quit"
    )
