"""The pytest plugin.

- `hooks`: the hooks, one call each: the table of contents.
- `fixtures`: what tests ask for, and may override.
- `options`: the options of the command line and the ini file.
- `items`: from a test's marker to the outcome in pytest's report.
- `run`: a run's start, what it knows, and its end.
- `inner`: pytest inside the commands `show`, `play`, `cassettes` and `doctor`.
"""
