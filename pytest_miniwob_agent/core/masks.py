"""Texts that differ from run to run, such as today's date, for `Normalizer.normalize`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Mask(NamedTuple):
    """A kind of text, by a name such as `date` and a regular expression."""

    name: str
    pattern: str

    def after(self, text: str) -> Mask:
        """Return the same kind, but only where it follows a text, such as `Today: `.

        Pages have dates of their own: masked everywhere, a changed page would replay as if it were
        the recorded one.
        """
        return Mask(self.name, f"(?<={re.escape(text)})(?:{self.pattern})")


_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"

DATE = Mask("date", rf"\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d[\d:.+]*\w)?|{_MONTH} \d{{1,2}}, \d{{4}}")
ID = Mask("id", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PATH = Mask("path", r"/(?:home|private|root|tmp|Users|var)(?:/[\w.+-]*\w)+")
ADDRESS = Mask("address", r"(?:127\.0\.0\.1|localhost):\d+")
VERSION = Mask("version", r"\b\d+\.\d+\.\d+\w*")

MASKS = (DATE, ID, PATH, ADDRESS, VERSION)
"""The kinds that are known; drift names them where nothing else differs."""


def masked(request: Any, *masks: Mask) -> Any:
    """Return a request's body, or any JSON, with placeholders such as `<date>` for kinds of text.

    Pictures stay as they are.
    """
    if isinstance(request, Mapping):
        return {key: masked(part, *masks) for key, part in request.items()}
    if isinstance(request, list):
        return [masked(part, *masks) for part in request]
    if isinstance(request, str) and not request.startswith(("data:", "pictures/")):
        for name, pattern in masks:
            request = re.sub(pattern, f"<{name}>", request)
    return request
