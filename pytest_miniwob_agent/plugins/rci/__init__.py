"""RCI: an agent that criticises and improves its own output.

`agent` is the agent, `prompts/` has its prompt files.
"""

from __future__ import annotations


def pytest_miniwob_agents() -> dict[str, str]:
    return {"rci": f"{__name__}.agent:RCIAgent"}
