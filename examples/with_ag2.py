"""An agent of AG2, over `llm.base_url`."""

from ag2 import Agent
from ag2.config import OpenAIConfig

from pytest_miniwob_agent import render

SYSTEM = "You work on a web page. Reach the user's goal with the tools, then stop."


class AG2:
    """Runs an agent of AG2 until the page has judged, or the model calls no tool."""

    name = "ag2"

    async def solve(self, env, llm, note):
        """Play one trial."""
        seen = env.reset()

        def act(name, **arguments):
            transition = env.call(name, arguments)
            return transition.error or render(transition.observation.elements)

        def click(element: int) -> str:
            """Click the element with this id."""
            return act("click", element=element)

        def enter(text: str, element: int) -> str:
            """Click the field with this id and type a text into it."""
            return act("enter", text=text, element=element)

        model = OpenAIConfig(llm.model, api_key="any", base_url=llm.base_url, max_retries=0)
        agent = Agent("solver", SYSTEM, config=model, tools=[click, enter])
        await agent.ask(f"{seen.goal}\nPage:\n{render(seen.elements)}")
