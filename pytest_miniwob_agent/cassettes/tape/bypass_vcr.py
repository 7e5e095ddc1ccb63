"""Keeping the package's own HTTP traffic out of vcrpy cassettes that a user's test has open."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

from vcr import patch


@contextmanager
def bypass_vcr() -> Iterator[None]:
    """Send HTTP requests past every open vcrpy cassette: nothing is recorded or replayed.

    vcrpy replaces the methods of HTTP clients, `httpx2` among them, while a cassette is open.
    """
    if patch._HTTPConnection is http.client.HTTPConnection:
        yield  # no cassette is open; a reset would cost 0.4 ms
    else:
        with patch.force_reset():
            yield
