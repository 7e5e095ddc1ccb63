"""Batch files: those of the OpenAI Batch API (https://platform.openai.com/docs/guides/batch).

One JSON object a line: requests have `custom_id`, `method`, `url` and `body`; answers `custom_id`,
`response` and `error`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.models.apis import CHAT


def read_pending(path: Path) -> dict[str, dict[str, Any]]:
    """Return the waiting requests of a batch file, by their id; none if there is no file.

    Raises:
        UsageError: a line is not a request.
    """
    if not path.exists():
        return {}
    return lines_by_id(
        path.read_text(encoding="utf-8"),
        lambda number: UsageError(
            f"{path}:{number} is not a request of a batch file; delete the file, the next run with "
            "--miniwob-record=defer writes it again"
        ),
    )


def lines_by_id(text: str, error_at: Callable[[int], MiniwobError]) -> dict[str, dict[str, Any]]:
    """Return the lines of a batch file by `custom_id`.

    Args:
        text: the content of the file.
        error_at: makes the error that is raised for an invalid line with this number.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(split_lines(text), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            found[data["custom_id"]] = data
        except (ValueError, KeyError, TypeError):
            raise error_at(number) from None
    return found


def split_lines(text: str) -> list[str]:
    """Split JSON lines; only a line feed ends one, as others may be inside of a string."""
    return text.removesuffix("\n").split("\n")


def write_pending(path: Path, requests: Iterable[Mapping[str, Any]]) -> None:
    """Write a batch file, sorted; remove it if there are no requests."""
    lines = sorted(json.dumps(request, ensure_ascii=False) for request in requests)
    if lines:
        write_atomically(path, "\n".join(lines) + "\n")
    else:
        path.unlink(missing_ok=True)


def request_of(line: Mapping[str, Any]) -> Request:
    """Return the request of a line of a batch file."""
    return Request(str(line.get("url", CHAT)), line.get("body") or {})
