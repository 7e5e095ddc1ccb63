"""The agent that works by native tool calls.

`agent` plays trials and carries out the calls, `conversation` keeps the messages within bounds.
"""

from pytest_miniwob_agent.agents.tools.agent import ToolsAgent

__all__ = ["ToolsAgent"]
