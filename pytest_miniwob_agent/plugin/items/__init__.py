"""Items: from a test's marker to the outcome in pytest's report.

- `collection`: one item for each case that a marker selects.
- `selection`: which cases a run offers, runs and leaves out.
- `run`: one item's episode and its outcome.
- `pictures`: the pictures of an item for the HTML report.
- `report`: the outcome in pytest's report, and its way from a worker to the controller.
"""
