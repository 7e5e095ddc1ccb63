"""LiteLLM with a model of Anthropic's kind: its calls go to `/v1/messages` of `llm.base_url`."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # the import would download one

import litellm

from pytest_miniwob_agent import Click, Enter, render, tools_of

litellm.suppress_debug_info = True  # it is printed

SYSTEM = "You work on a web page. Reach the user's goal with the tools, then stop."
TOOLS = tools_of([Click, Enter])


class LiteLLM:
    """Calls LiteLLM until the page has judged, or the model calls no tool."""

    name = "litellm"

    def solve(self, env, llm, note):
        """Play one trial."""
        seen = env.reset()
        messages = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"Goal: {seen.goal}\nPage:\n{render(seen.elements)}"},
        ]
        while True:
            answer = litellm.completion(
                f"anthropic/{llm.model}",
                messages,
                tools=TOOLS,
                max_tokens=1024,
                api_base=llm.base_url,
                api_key="any",
                num_retries=0,
                max_retries=0,
            )
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return
            for call in message.tool_calls:
                transition = env.call(call.function.name, call.function.arguments)
                if transition.done:
                    return
                result = transition.error or render(transition.observation.elements)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
