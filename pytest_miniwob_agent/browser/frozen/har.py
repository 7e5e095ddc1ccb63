"""HAR files, in which browsers and proxies record requests, and the answers that pages get of them.

The format is that of http://www.softwareishard.com/blog/har-12-spec/.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path

ELSEWHERE = "/_at/"
"""The path below which pages have what was recorded of other servers: `/_at/HOST/PATH`."""


class Exchange(NamedTuple):
    """A recorded request and its response, whose body is in UTF-8 if it is text.

    `type` is the media type without parameters, `location` the address of a redirection.
    """

    method: str
    url: str
    sent: str
    status: int
    type: str
    location: str
    body: bytes


def target_of(url: str, page: str) -> str:
    """Return the path and query by which the recorded page asks for an address."""
    parts, own = urlsplit(url), urlsplit(page)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return path if parts[:2] in (own[:2], ("", "")) else f"{ELSEWHERE}{parts.netloc}{path}"


def read_har(file: Path) -> tuple[str, list[Exchange]]:
    """Return the address of the page that a HAR file is of, and the exchanges in it.

    Raises:
        UsageError: it can't be read, or is not a HAR file.
    """
    try:
        log = json.loads(file.read_text("utf-8-sig"))["log"]
        entries = [entry for entry in log["entries"] if entry["response"]["status"] > 0]
        titles = [str(page.get("title")) for page in log.get("pages", ())]
        found = [_exchange(entry) for entry in entries]
        pages = [title for title in titles if title.startswith("http")] or [found[0].url]
        return pages[0], found
    except (OSError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{display_path(file)} is not a HAR file ({problem})") from None


def _exchange(entry: dict[str, Any]) -> Exchange:
    request, response = entry["request"], entry["response"]
    headers = {header["name"].lower(): header["value"] for header in response["headers"]}
    content = response["content"]
    body = content.get("text") or ""
    return Exchange(
        request["method"],
        request["url"],
        (request.get("postData") or {}).get("text") or "",
        response["status"],
        (content.get("mimeType") or headers.get("content-type", "")).partition(";")[0].strip(),
        headers.get("location", ""),
        base64.b64decode(body) if content.get("encoding") == "base64" else body.encode(),
    )


def har_text(page: str, exchanges: Sequence[Exchange]) -> str:
    """Return the text of a HAR file of exchanges, with what `read_har` reads of one."""
    entries = []
    for one in exchanges:
        content = {"mimeType": one.type, "size": len(one.body)}
        try:
            content["text"] = one.body.decode()
        except UnicodeDecodeError:
            content |= {"text": base64.b64encode(one.body).decode(), "encoding": "base64"}
        request: dict[str, Any] = {"method": one.method, "url": one.url}
        if one.sent:
            request["postData"] = {"mimeType": "", "text": one.sent}
        headers = [{"name": "Location", "value": one.location}] if one.location else []
        response = {"status": one.status, "headers": headers, "content": content}
        entries.append({"request": request, "response": response})
    log = {"version": "1.2", "pages": [{"title": page}], "entries": entries}
    return json.dumps({"log": log}, indent=1, ensure_ascii=False) + "\n"


class HarAnswers:
    """Answers equal requests in the order of their recording; the last answer is repeated.

    Of exchanges with one method and target, those count that have sent the same, if there are any.

    Raises:
        UsageError: the file is not a HAR file.
    """

    def __init__(self, file: Path) -> None:
        changed = file.stat().st_mtime_ns if file.exists() else 0
        self._exchanges = _by_target(file, changed)
        self._asked: Counter[tuple[str, str, str]] = Counter()

    def answer(self, method: str, target: str, sent: str) -> Exchange | None:
        """Return the recorded response to a request; None if nothing like it was recorded."""
        found = self._exchanges.get((method, target))
        if found is None:
            return None
        alike = [one for one in found if one.sent == sent] or found
        number = self._asked[method, target, sent]
        self._asked[method, target, sent] += 1
        return alike[min(number, len(alike) - 1)]


@lru_cache(maxsize=8)
def _by_target(file: Path, changed: int) -> Mapping[tuple[str, str], Sequence[Exchange]]:
    """Return the exchanges of a file by method and target, read once per change of the file."""
    page, exchanges = read_har(file)
    found: dict[tuple[str, str], list[Exchange]] = {}
    for one in exchanges:
        here = one._replace(location=target_of(one.location, page) if one.location else "")
        found.setdefault((one.method, target_of(one.url, page)), []).append(here)
    return found
