"""A line of progress on the terminal."""

from __future__ import annotations

import sys


def show_progress(text: str) -> None:
    """Show a line that the next call replaces, if standard error is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text[:78]}", end="", file=sys.stderr, flush=True)
