"""LangChain's `create_agent`, which runs on LangGraph, over `llm.base_url`."""

from langchain.agents import create_agent
from langchain.agents.middleware import before_model
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langsmith import tracing_context

from pytest_miniwob_agent import render

SYSTEM = "You work on a web page. Reach the user's goal with the tools, then stop."


class LangChain:
    """Runs a graph of LangChain until the page has judged, or the model calls no tool."""

    name = "langchain"

    def solve(self, env, llm, note):
        """Play one trial."""
        seen, judged = env.reset(), False

        def act(name, **arguments):
            nonlocal judged
            transition = env.call(name, arguments)
            judged = transition.done
            return transition.error or render(transition.observation.elements)

        @tool
        def click(element: int) -> str:
            """Click an element, by its id."""
            return act("click", element=element)

        @tool
        def enter(text: str, element: int) -> str:
            """Click a field, by its id, and type a text into it."""
            return act("enter", text=text, element=element)

        @before_model(can_jump_to=["end"])
        def stop(state, runtime):
            return {"jump_to": "end"} if judged else None

        model = ChatOpenAI(model=llm.model, base_url=llm.base_url, api_key="any", max_retries=0)
        agent = create_agent(model, [click, enter], system_prompt=SYSTEM, middleware=[stop])
        task = f"Goal: {seen.goal}\nPage:\n{render(seen.elements)}"
        # One tool at a time, in the model's order; the run has its own limits.
        config = {"max_concurrency": 1, "recursion_limit": 10_000}
        with tracing_context(enabled=False):
            agent.invoke({"messages": [{"role": "user", "content": task}]}, config)
