"""Progress of a command on standard error: a line that is replaced, or lines of a log."""

from __future__ import annotations

import sys
import time

_PAUSE = 20.0
"""Real seconds between two lines where standard error is no terminal."""

_shown = time.monotonic()


def show_progress(text: str) -> None:
    """Show a line that the next call replaces; where it can't, show a line now and then."""
    global _shown
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text[:78]}", end="", file=sys.stderr, flush=True)
    elif text and time.monotonic() - _shown >= _PAUSE:
        _shown = time.monotonic()
        print(text, file=sys.stderr, flush=True)
