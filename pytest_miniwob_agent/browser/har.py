"""Answers from a HAR file, in which browsers and proxies record requests.

The format is that of http://www.softwareishard.com/blog/har-12-spec/.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pytest_miniwob_agent.core.errors import PageError
from pytest_miniwob_agent.core.files import display_path

ELSEWHERE = "/_at/"
"""The path below which pages have what was recorded of other servers: `/_at/HOST/PATH`."""


class Entry(NamedTuple):
    """A recorded request, with a path as pages ask for it, and its response."""

    method: str
    target: str
    sent: str
    status: int
    type: str
    location: str
    body: bytes


def read_har(text: str, source: str) -> list[Entry]:
    """Return the entries of a HAR file; the first one has the address of the page itself.

    Raises:
        PageError: it is not a HAR file.
    """
    try:
        entries = json.loads(text)["log"]["entries"]
        origin = urlsplit(entries[0]["request"]["url"])[:2] if entries else ("", "")
        return [_entry(entry, origin) for entry in entries if entry["response"]["status"] > 0]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise PageError(f"{source} is not a HAR file ({type(error).__name__}: {error})") from None


def _entry(entry: dict[str, Any], origin: tuple[str, ...]) -> Entry:
    request, response = entry["request"], entry["response"]
    headers = {header["name"].lower(): header["value"] for header in response["headers"]}
    content = response["content"]
    body = content.get("text") or ""
    encoded = content.get("encoding") == "base64"
    return Entry(
        request["method"],
        target_of(request["url"], origin),
        (request.get("postData") or {}).get("text") or "",
        response["status"],
        content.get("mimeType") or headers.get("content-type", ""),
        target_of(headers["location"], origin) if "location" in headers else "",
        base64.b64decode(body) if encoded else body.encode(),
    )


def target_of(url: str, origin: tuple[str, ...]) -> str:
    """Return the path and query by which a page asks for an address."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return path if parts[:2] in (origin, ("", "")) else f"{ELSEWHERE}{parts.netloc}{path}"


class HarAnswers:
    """Answers equal requests in the order of their recording; the last answer is repeated.

    Of entries with one method and target, those count that have sent the same, if there are any.

    Raises:
        PageError: the file is not a HAR file.
    """

    def __init__(self, file: Path) -> None:
        self._entries = read_har(file.read_text("utf-8-sig"), str(display_path(file)))
        self._asked: Counter[tuple[str, str, str]] = Counter()

    def answer(self, method: str, target: str, sent: str) -> Entry | None:
        """Return the response to a request; None if nothing like it was recorded."""
        found = [one for one in self._entries if (one.method, one.target) == (method, target)]
        found = [one for one in found if one.sent == sent] or found
        number = self._asked[method, target, sent]
        self._asked[method, target, sent] += 1
        return found[min(number, len(found) - 1)] if found else None
