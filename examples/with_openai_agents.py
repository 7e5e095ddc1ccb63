"""The OpenAI Agents SDK: its own loop, over the Responses API of `llm.async_client`."""

from agents import (
    Agent,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    ToolsToFinalOutputResult,
    function_tool,
)

from pytest_miniwob_agent import Click, Enter, render

INSTRUCTIONS = "You work on a web page. Reach the user's goal with the tools, then stop."


class OpenAIAgents:
    """Runs an agent of the SDK until the page has judged, or the model calls no tool."""

    name = "openai-agents"

    async def solve(self, env, llm, note):
        """Play one trial."""
        seen, judged = env.reset(), False

        def act(action):
            nonlocal judged
            if judged:
                return "The page has judged."
            transition = env.step(action)
            judged = transition.done
            return transition.error or render(transition.observation.elements)

        # Functions that are not async run in threads, several at a time. Errors are for the run.
        @function_tool(failure_error_function=None)
        async def click(element: int) -> str:
            """Click an element, by its id."""
            return act(Click(element))

        @function_tool(failure_error_function=None)
        async def enter(text: str, element: int) -> str:
            """Click a field, by its id, and type a text into it."""
            return act(Enter(text, element))

        agent = Agent(
            name="web",
            instructions=INSTRUCTIONS,
            model=OpenAIResponsesModel(llm.model, llm.async_client),
            tools=[click, enter],
            tool_use_behavior=lambda context, results: ToolsToFinalOutputResult(judged),
        )
        await Runner.run(
            agent,
            f"Goal: {seen.goal}\nPage:\n{render(seen.elements)}",
            max_turns=None,  # the run has its own limits
            run_config=RunConfig(tracing_disabled=True),
        )
