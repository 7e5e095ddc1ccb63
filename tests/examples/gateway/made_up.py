"""A provider for LiteLLM's proxy whose answers call tools."""

import json

import litellm


class Provider(litellm.CustomLLM):
    """Types into the first element of the page, and then clicks one element after the other.

    Answers that click have a second call, with arguments that the tool does not take.
    """

    async def acompletion(self, model, messages, **kwargs):
        answers = sum(message["role"] == "assistant" for message in messages)
        calls = [("click", {"element": answers}), ("click", {"element": "none"})]
        if answers == 0:
            calls = [("enter", {"text": "made up", "element": 1})]
        return await litellm.acompletion(
            f"openai/{model}",
            messages,
            mock_response="The next one.",
            mock_tool_calls=[
                {
                    "id": f"call_{answers}_{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for number, (name, arguments) in enumerate(calls)
            ],
        )


provider = Provider()
