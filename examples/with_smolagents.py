"""The `ToolCallingAgent` of smolagents, over `llm.base_url`."""

from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool

from pytest_miniwob_agent import Click, Enter, LimitReached, render


class Smolagents:
    """Runs an agent of smolagents until the page has judged, or the model gives a final answer."""

    name = "smolagents"

    def solve(self, env, llm, note):
        """Play one trial."""
        seen, judged, limit = env.reset(), False, None

        def act(action):
            nonlocal judged, limit
            if judged:
                return "The page has judged."
            try:
                transition = env.step(action)
            except LimitReached as error:  # would be a text for the model
                limit = error
                raise
            judged = transition.done
            return transition.error or render(transition.observation.elements)

        @tool
        def click(element: int) -> str:
            """Click an element.

            Args:
                element: id of the element
            """
            return act(Click(element))

        @tool
        def enter(text: str, element: int) -> str:
            """Click a field and type a text into it.

            Args:
                text: the text to type
                element: id of the field
            """
            return act(Enter(text, element))

        model = OpenAIModel(
            llm.model,
            api_base=llm.base_url,
            api_key="any",
            client_kwargs={"max_retries": 0},
            retry=False,
        )
        # One tool at a time, in the model's order; the run has its own limits.
        agent = ToolCallingAgent(
            [click, enter],
            model,
            max_steps=10_000,
            max_tool_threads=1,
            verbosity_level=LogLevel.OFF,
        )
        for _ in agent.run(f"{seen.goal}\nPage:\n{render(seen.elements)}", stream=True):
            if limit:
                raise limit
            if judged:
                return
