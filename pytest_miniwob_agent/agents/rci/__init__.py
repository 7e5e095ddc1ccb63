"""The agent that criticises and improves its own output (RCI, Kim et al., 2023).

`agent` is the algorithm, `instructions` reads replies and turns them into actions, and `xpath`
finds their elements at a bounded cost.
"""

from pytest_miniwob_agent.agents.rci.agent import RCIAgent

__all__ = ["RCIAgent"]
