"""Tasks: which there are, and how they are selected.

- `catalogue`: the tasks of the `miniwob` package, by category.
- `pages`: all tasks that can be selected, with those of custom pages.
- `suites`: named selections of tasks.
- `selectors`: cases by selectors, seeds and repeats.
- `facts`: papers, actions and certification of each task.
"""
