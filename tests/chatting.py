"""A project whose agent calls tools in a conversation, and a model that answers it."""

from answers import completion

MODEL = "m-2026-01-01"

CHATTING = """
    import pytest
    from pytest_miniwob_agent import Click, Enter, tools_of

    TOOLS = tools_of([Click, Enter])
    SYSTEM = "You work on a web page."
    PARAMS = {}

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
                answer = llm.chat(messages, "act", tools=TOOLS, **PARAMS)
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
"""Goes below `projects.FAKE_PAGE` in a conftest.py."""


def click_save(server):
    """Make a chat server solve the fake page with tool calls."""

    def reply(prompt):
        messages = server.requests[-1]["messages"]
        if any(message["role"] == "tool" for message in messages):
            return completion(None, MODEL, [("click", {"element": 2})])
        thought = "The menu is closed."
        calls = [("click", {"element": 1})]
        return completion("I open the menu.", MODEL, calls, reasoning_content=thought)

    server.reply = reply
