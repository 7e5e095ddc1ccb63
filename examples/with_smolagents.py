"""The `ToolCallingAgent` of smolagents, over `llm.base_url`."""

import json
import re

from smolagents import AgentError, LogLevel, OpenAIModel, ToolCallingAgent, tool

from pytest_miniwob_agent import LimitReached, render

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NO_RETRIES = {"retry": False, "client_kwargs": {"max_retries": 0}}
# One tool at a time, in the model's order; the run has its own limits.
SETTINGS = {"max_tool_threads": 1, "max_steps": 10_000, "verbosity_level": LogLevel.OFF}


class Smolagents:
    """Runs an agent of smolagents until the page has judged, or the model gives a final answer."""

    name = "smolagents"

    def normalize(self, request):
        """Replace the ids of tool calls that the model wrote as text: smolagents makes them up."""
        return json.loads(UUID.sub("made-up-id", json.dumps(request)))

    def solve(self, env, llm, note):
        """Play one trial."""
        seen, judged, limit = env.reset(), False, None

        def act(name, **arguments):
            nonlocal judged, limit
            try:
                transition = env.call(name, arguments)
            except LimitReached as error:  # smolagents would make it a text for the model
                limit = error
                agent.interrupt()
                raise
            if transition.done:
                judged = True
                agent.interrupt()
            return transition.error or render(transition.observation.elements)

        @tool
        def click(element: int) -> str:
            """Click an element.

            Args:
                element: id of the element
            """
            return act("click", element=element)

        @tool
        def enter(text: str, element: int) -> str:
            """Click a field and type a text into it.

            Args:
                text: the text to type
                element: id of the field
            """
            return act("enter", text=text, element=element)

        model = OpenAIModel(llm.model, api_base=llm.base_url, api_key="any", **NO_RETRIES)
        agent = ToolCallingAgent([click, enter], model, **SETTINGS)
        try:
            agent.run(f"{seen.goal}\nPage:\n{render(seen.elements)}")
        except AgentError:
            if limit:
                raise limit from None
            if not judged:
                raise
