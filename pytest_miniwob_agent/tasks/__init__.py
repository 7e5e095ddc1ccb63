"""Tasks: which there are, and how they are selected.

- `catalogue`: the tasks of the `miniwob` package, their categories and suites, facts about them.
- `pages`: all tasks that can be selected, with those of custom pages.
- `problems`: lists of problems, such as BrowserGym's schedule.
- `selectors`: cases by selectors, seeds and repeats.
"""
