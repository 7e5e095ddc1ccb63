"""`pending.jsonl`: the requests that deferred recording waits for.

It is an input file of OpenAI's Batch API (https://platform.openai.com/docs/guides/batch), with one
JSON object per line: `custom_id`, `method`, `url` and `body`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.folder.stems import Used
from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.models.apis import CHAT

Line = dict[str, Any]
"""A line of a batch file."""


def read_pending(path: Path) -> dict[str, Line]:
    """Return the waiting requests by id; none if there is no file.

    Raises:
        UsageError: a line is not a request.
    """
    requests = {}
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for number, id_, line in batch_lines(text):
        if line is None:
            raise UsageError(
                f"{path}:{number} is not a request of a batch file; delete the file, the next run "
                "with --miniwob-record=defer writes it again"
            )
        requests[id_] = line
    return requests


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
    used: Used | None = None,
) -> list[str]:
    """Replace the requests of the items of a run; return the ids that the file holds now.

    Args:
        path: the file.
        ran: the stems of the cassettes of the items that ran.
        requests: the requests that they wait for.
        used: what the run collected; requests of other items are removed. None keeps these, for a
            run that looked for a few items only.
    """
    waiting = {
        id_: request
        for id_, request in read_pending(path).items()
        if stem_of_request(id_) not in ran and (used is None or used.has(stem_of_request(id_)))
    }
    waiting.update((request["custom_id"], dict(request)) for request in requests)
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
        except (ValueError, KeyError, TypeError):
            yield number, "", None


def request_of(line: Line) -> Request:
    """Return the request of a line."""
    return Request(str(line.get("url", CHAT)), line.get("body") or {})


def stem_of_request(id_: str) -> str:
    """Return the stem of the cassette that a request belongs to."""
    return id_.partition("#")[0]
