"""An agent that works by native tool calls.

`agent` is the agent, `prompts/` has its prompt files.
"""

from __future__ import annotations


def pytest_miniwob_agents() -> dict[str, str]:
    return {"tools": f"{__name__}.agent:ToolsAgent"}
