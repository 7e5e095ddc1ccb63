"""Tasks: which there are, and how they are selected.

- `catalogue`: the tasks of the `miniwob` package, their suites and facts about them; your own
  pages; lists of problems, such as BrowserGym's schedule.
- `perturbations`: scripts that make a page harder.
- `selectors`: cases by selectors, seeds and repeats.
"""
