"""Printed output, in the terminal and in Markdown.

- `statuses`: letters and words of items.
- `progress`: the line of figures while a run records.
- `summary`: drift, errors, the table of episodes, and the ledger of model calls.
- `comparison`: two result sets side by side, and the verdict of a gate.
- `github`: job summary and annotations of GitHub Actions.
- `episode`: a whole episode, for `miniwob-agent show` and `play`, and the transcript of a failure.
- `layout`: wrapped lines and tables.
"""
