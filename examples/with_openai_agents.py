"""The OpenAI Agents SDK: its own loop, over the Responses API of `llm.async_client`."""

from agents import (
    Agent,
    ModelBehaviorError,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    ToolsToFinalOutputResult,
    function_tool,
)

from pytest_miniwob_agent import render

INSTRUCTIONS = "You work on a web page. Reach the user's goal with the tools, then stop."


def for_model(context, error):
    """Give the model its own mistakes as a text; other errors are for the run."""
    if isinstance(error, ModelBehaviorError):
        return str(error)
    raise error


class OpenAIAgents:
    """Runs an agent of the SDK until the page has judged, or the model calls no tool."""

    name = "openai-agents"

    async def solve(self, env, llm, note):
        """Play one trial."""
        seen, judged = env.reset(), False

        def act(name, **arguments):
            nonlocal judged
            transition = env.call(name, arguments)
            judged = transition.done
            return transition.error or render(transition.observation.elements)

        # Functions that are not async run in threads, several at a time.
        @function_tool(failure_error_function=for_model)
        async def click(element: int) -> str:
            """Click an element, by its id."""
            return act("click", element=element)

        @function_tool(failure_error_function=for_model)
        async def enter(text: str, element: int) -> str:
            """Click a field, by its id, and type a text into it."""
            return act("enter", text=text, element=element)

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
            run_config=RunConfig(
                tracing_disabled=True, tool_not_found_behavior="return_error_to_model"
            ),
        )
