"""Items: from a test's marker to the outcome in pytest's report.

- `collection`: one item for each case that a marker selects.
- `setups`: the agents and models of a marker, or those of the options.
- `run`: one item's episode, its pictures, and its outcome.
- `report`: the outcome in pytest's report, for other plugins, and from a worker to the controller.
"""
