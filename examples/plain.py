"""An agent as many have on disk: a loop around `openai.OpenAI()`, with one line changed."""

from pytest_miniwob_agent import render

SYSTEM = "You work on a web page. Reach the user's goal with the tools, then stop."


def tool(name, description, **arguments):
    """Describe a function that the model may call."""
    parameters = {
        "type": "object",
        "properties": arguments,
        "required": list(arguments),
        "additionalProperties": False,
    }
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


TEXT = {"type": "string", "description": "the text to type"}
ELEMENT = {"type": "integer", "description": "id of the element"}
TOOLS = [
    tool("click", "Click an element.", element=ELEMENT),
    tool("enter", "Click a field and type a text into it.", text=TEXT, element=ELEMENT),
]


class Plain:
    """Calls Chat Completions until the page has judged, or the model calls no tool."""

    name = "plain"

    def solve(self, env, llm, note):
        """Play one trial."""
        client = llm.client  # was: client = openai.OpenAI()
        seen = env.reset()
        messages = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"Goal: {seen.goal}\nPage:\n{render(seen.elements)}"},
        ]
        while True:
            answer = client.chat.completions.create(model=llm.model, messages=messages, tools=TOOLS)
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return
            for call in message.tool_calls:
                result = self.carry_out(env, call.function)
                if result is None:
                    return
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def carry_out(self, env, function):
        """Return the page after a tool call, or what was wrong; None once the page has judged."""
        transition = env.call(function.name, function.arguments)
        if transition.done:
            return None
        return transition.error or render(transition.observation.elements)
