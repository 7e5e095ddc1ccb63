"""The agent that works by native tool calls."""

from pytest_miniwob_agent.agents.tools.agent import ToolsAgent

__all__ = ["ToolsAgent"]
