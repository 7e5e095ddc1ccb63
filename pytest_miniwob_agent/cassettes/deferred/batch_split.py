"""The requests of a batch file, split into files that the Batch API takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.deferred.batch_api import ENDPOINTS
from pytest_miniwob_agent.cassettes.deferred.batch_file import request_of
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.secrets import find


def split_requests(
    pending: Path, requests: Iterable[Mapping[str, Any]], max_requests: int, max_bytes: int
) -> Iterator[tuple[tuple[str, str], dict[str, bytes]]]:
    """Split requests into files that the API takes.

    Args:
        pending: the batch file that they are from, for messages.
        requests: its lines.
        max_requests: the number of requests in one file.
        max_bytes: the size of one file.

    Yields:
        The model and the path of a file, and its lines by request id.

    Raises:
        UsageError: a request can't be submitted; the message names it.
    """
    files: dict[tuple[str, str], dict[str, bytes]] = {}
    sizes: Counter[tuple[str, str]] = Counter()
    for request in sorted(requests, key=lambda request: str(request["custom_id"])):
        try:
            id_, model = str(request["custom_id"]), str(request["body"]["model"])
        except (KeyError, TypeError):
            raise UsageError(
                f"{pending}: {request['custom_id']} has no body with a model"
            ) from None
        if found := find(request["body"]):
            raise UsageError(
                f"{pending}: {id_} holds what looks like a secret ({found[0].kind}): "
                "nothing was submitted; `pytest --miniwob-record=defer` writes the file again "
                "without such requests"
            )
        kind = model, request_of(request).path
        if kind[1] not in ENDPOINTS:
            raise UsageError(
                f"{pending}: {id_} is a request to {kind[1]}, which the Batch API does "
                f"not take: it takes {', '.join(ENDPOINTS)}; record this item with "
                "--miniwob-record=new_episodes"
            )
        line = canonical_json(_submitted(request)).encode() + b"\n"
        if len(line) > max_bytes:
            raise UsageError(
                f"{pending}: {id_} has {len(line):,} bytes, the Batch API takes {max_bytes:,}"
            )
        file = files.setdefault(kind, {})
        if len(file) == max_requests or sizes[kind] + len(line) > max_bytes:
            yield kind, file
            file = files[kind] = {}
            sizes[kind] = 0
        file[id_] = line
        sizes[kind] += len(line)
    yield from files.items()


def _submitted(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request as the Batch API takes it: it streams nothing."""
    streaming = ("stream", "stream_options")
    body = {name: value for name, value in request["body"].items() if name not in streaming}
    return {**request, "body": body}
