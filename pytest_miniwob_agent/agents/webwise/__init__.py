"""The agent that writes programs."""

from pytest_miniwob_agent.agents.webwise.agent import WebWISEAgent

__all__ = ["WebWISEAgent"]
