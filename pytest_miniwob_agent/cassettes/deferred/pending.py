"""`pending.jsonl`: the requests that deferred recording waits for.

It is an input file of OpenAI's Batch API (https://platform.openai.com/docs/guides/batch), with one
JSON object per line: `custom_id`, `method`, `url` and `body`. An id is the stem of the item's
cassette, a digest of the request and the number of equal ones before it: `a/m/t/1#0123456789ab-0`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import keep_out_of_commits, write_atomically
from pytest_miniwob_agent.models.apis import CHAT

Line = dict[str, Any]
"""A line of a batch file."""


def batch_line(stem: str, request: Request, earlier: int, body: Any) -> Line:
    """Return the line of a request after so many equal ones; `body` is as it is sent."""
    id_ = f"{stem}#{_digest(request.key)}-{earlier}"
    return {"custom_id": id_, "method": "POST", "url": request.path, "body": body}


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def ids_of(stem: str, calls: Iterable[Call]) -> set[str]:
    """Return the ids that the requests of recorded calls had in a batch file."""
    counts = Counter(_digest(call.key) for call in calls)
    return {f"{stem}#{digest}-{n}" for digest, count in counts.items() for n in range(count)}


def request_of(line: Line) -> Request:
    """Return the request of a line."""
    return Request(str(line.get("url", CHAT)), line.get("body") or {})


def stem_of_request(id_: str) -> str:
    """Return the stem of the cassette that a request belongs to."""
    return id_.partition("#")[0]


def read_pending(path: Path) -> dict[str, Line]:
    """Return the waiting requests by id; none if there is no file.

    Raises:
        UsageError: a line is not a request.
    """
    hint = "; delete the file, the next run with --miniwob-record=defer writes it again"
    return parse_lines(path.read_text(encoding="utf-8"), str(path), hint) if path.exists() else {}


def parse_lines(text: str, name: str, hint: str = "") -> dict[str, Line]:
    """Return the lines of a batch file by request id; `name` is the file's in messages.

    Raises:
        UsageError: a line is damaged.
    """
    lines = {}
    for number, id_, line in batch_lines(text):
        if line is None:
            raise UsageError(f"{name}:{number} is not a whole line of a batch file{hint}")
        lines[id_] = line
    return lines


def write_pending(path: Path, requests: Iterable[Line]) -> None:
    """Write the requests, sorted; remove the file if there are none."""
    lines = sorted(json.dumps(request, ensure_ascii=False) for request in requests)
    if lines:
        write_atomically(path, "\n".join(lines) + "\n")
    else:
        path.unlink(missing_ok=True)


def update_pending(
    path: Path,
    ran: Collection[str],
    requests: Iterable[Mapping[str, Any]],
    used: Collection[str] | None = None,
) -> list[str]:
    """Replace the requests of the items of a run; return the ids that the file holds now.

    `ran` are the stems of the items that ran, and `requests` what they wait for. Requests of stems
    that are not `used` by what the run collected are removed; None keeps them, for a run of a few
    items.
    """
    waiting = {
        id_: request
        for id_, request in read_pending(path).items()
        if stem_of_request(id_) not in ran and (used is None or stem_of_request(id_) in used)
    }
    waiting.update((request["custom_id"], dict(request)) for request in requests)
    keep_out_of_commits(path.parent)
    write_pending(path, waiting.values())
    return list(waiting)


def batch_lines(text: str) -> Iterator[tuple[int, str, Line | None]]:
    """Yield number, id and content of each line of a batch file; None for an invalid line.

    Only a line feed ends a line, as other line breaks may be inside of a string.
    """
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            yield number, str(data["custom_id"]), data
        except (ValueError, KeyError, TypeError, RecursionError):
            yield number, "", None
