"""Drift: an item's calls that are not the recorded ones.

- `causes`: the report of an item's drift, its reasons, and the most similar recorded call
- `differences`: the messages, tools, lines of text and pictures that differ
"""
