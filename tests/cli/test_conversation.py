"""A recorded conversation with tools, as the commands show it."""

import pytest
from support.answers import completion
from support.projects import FAKE_PAGE

MODEL = "m-2026-01-01"

CHATTING = """
    import pytest
    from pytest_miniwob_agent import Click, Enter, tools_of

    TOOLS = tools_of([Click, Enter])
    SYSTEM = "You work on a web page."

    def screen(observation):
        return "The screen: " + ", ".join(element.text for element in observation.elements)

    class Chatting:
        name = "chatting"

        def solve(self, env, llm, note):
            observation = env.reset()
            messages = [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": observation.goal},
            ]
            done = False
            while not done:
                answer = llm.chat(messages, "act", tools=TOOLS)
                messages.append(answer.message)
                for call in answer.tool_calls:
                    transition = env.call(call.name, call.arguments)
                    done = transition.done
                    messages.append({
                        "role": "tool", "tool_call_id": call.id,
                        "content": screen(transition.observation),
                    })

    @pytest.fixture
    def miniwob_agent():
        return Chatting()
"""


def click_save(server):
    def reply(prompt):
        messages = server.requests[-1]["messages"]
        if any(message["role"] == "tool" for message in messages):
            return completion(None, MODEL, [("click", {"element": 2})])
        thought = "The menu is closed."
        calls = [("click", {"element": 1})]
        return completion("I open the menu.", MODEL, calls, reasoning_content=thought)

    server.reply = reply


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
    project.makeconftest(FAKE_PAGE + CHATTING)
    click_save(chat_server)
    project.record("-k", "click-menu-2/1").assert_outcomes(passed=1, deselected=11)
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
