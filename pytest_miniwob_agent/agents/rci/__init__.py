"""The agent that criticises and improves its own output."""

from pytest_miniwob_agent.agents.rci.agent import RCIAgent

__all__ = ["RCIAgent"]
