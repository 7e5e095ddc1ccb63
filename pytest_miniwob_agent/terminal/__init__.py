"""Printed output, in the terminal and in Markdown.

- `run`: letters and words of items, the line of figures while a run records, and its summary
- `views`: result sets and pairs within them, and the verdict of a gate, also for GitHub Actions
- `transcript`: a whole episode, for `miniwob-agent show` and `play`, and in short where it failed
"""
