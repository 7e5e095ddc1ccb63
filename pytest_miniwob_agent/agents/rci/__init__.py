"""The agent that criticises and improves its own output (RCI, Kim et al., 2023).

`agent` is the algorithm, `instructions` reads replies and turns them into actions.
"""
