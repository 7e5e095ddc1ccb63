"""Printed output, in the terminal and in Markdown.

- `statuses`: letters and words of items.
- `progress`: the line of figures while a run records.
- `transcript`: a failed episode.
- `summary`: drift, errors, the table of episodes, and the ledger of model calls.
- `gate`: the verdict of a gate.
- `comparison`: two result sets side by side.
- `tables`: tables of results.
- `github`: job summary and annotations of GitHub Actions.
- `episode`: a whole episode, for `miniwob-agent show` and `play`.
- `layout`: wrapped lines, tables, and escaped text from outside.
"""
