"""A project whose agent calls tools in a conversation, and a model that answers it."""

import json

CHATTING = """
    import pytest
    from pytest_miniwob_agent import Click, Enter, tools_of

    TOOLS = tools_of([Click, Enter])
    SYSTEM = "You work on a web page."
    PARAMS = {}

    def screen(observation):
        return "The screen: " + ", ".join(each.text for each in observation.elements)

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


def answer(*calls, text=None, model="m-2026-01-01", **fields):
    """A chat completion with calls of tools, each a name and its arguments."""
    message = {"role": "assistant", "content": text, **fields.pop("message", {})}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{name}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for name, arguments in calls
        ]
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    return {
        "object": "chat.completion",
        "model": model,
        "choices": [choice | fields],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }


def click_save(server):
    """Make a chat server solve the fake page with tool calls."""

    def reply(prompt):
        results = [each for each in server.requests[-1]["messages"] if each["role"] == "tool"]
        if results:
            return answer(("click", {"element": 2}))
        thinking = {"reasoning_content": "The menu is closed."}
        return answer(("click", {"element": 1}), text="I open the menu.", message=thinking)

    server.reply = reply
