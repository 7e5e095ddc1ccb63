"""An agent of Pydantic AI, over `llm.async_client`."""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from pytest_miniwob_agent import render

SYSTEM = "You work on a web page. Reach the user's goal with the tools, then stop."


class PydanticAI:
    """Runs an agent of Pydantic AI until the page has judged, or the model calls no tool."""

    name = "pydantic-ai"

    async def solve(self, env, llm, note):
        """Play one trial."""
        seen = env.reset()
        model = OpenAIChatModel(llm.model, provider=OpenAIProvider(openai_client=llm.async_client))
        agent = Agent(model, system_prompt=SYSTEM, retries=10_000)  # the run has its own limits

        def act(name, **arguments):
            transition = env.call(name, arguments)
            return transition.error or render(transition.observation.elements)

        @agent.tool_plain
        def click(element: int) -> str:
            """Click the element with this id."""
            return act("click", element=element)

        @agent.tool_plain
        def enter(text: str, element: int) -> str:
            """Click the field with this id and type a text into it."""
            return act("enter", text=text, element=element)

        page = f"{seen.goal}\nPage:\n{render(seen.elements)}"
        await agent.run(page, usage_limits=UsageLimits(request_limit=None))
