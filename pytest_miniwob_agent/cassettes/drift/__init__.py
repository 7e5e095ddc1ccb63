"""Drift: an item's calls that are not the recorded ones.

- `errors`: the report of an item's drift, and the most similar recorded call
- `causes`: the reasons, as data
- `differences`: the messages, tools and lines of text that differ
- `changed_pictures`: the pictures that differ, and files that show how
"""
