"""Requests that an agent normalizes: without ids and the like that a framework makes up.

What was normalized is stored with the call, so that it can be seen what matching does not compare.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from pytest_miniwob_agent.cassettes.call import Request
from pytest_miniwob_agent.core.errors import UsageError

Normalize = Callable[[dict[str, Any]], Mapping[str, Any]]
"""An agent's `normalize`: gets a copy of a request's body, returns it as it is to be matched."""


def normalized_request(path: str, body: Any, normalize: Normalize | None) -> Request:
    """Return a request as it is matched and stored.

    Raises:
        UsageError: the agent's `normalize` returns something else than a JSON object.
    """
    if normalize is None:
        return Request(path, body)
    changed = normalize(deepcopy(body))
    try:
        changed = json.loads(json.dumps(changed, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the agent's normalize() returns what is not JSON: {error}") from None
    if not isinstance(changed, dict):
        raise UsageError("the agent's normalize() must return the body of the request, an object")
    return Request(path, changed, tuple(_changes("", body, changed)))


def _changes(name: str, before: Any, after: Any) -> Iterator[str]:
    """Yield the names of the parts that differ, such as `messages[1].id`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{name}.{key}" if name else str(key)
            if key not in before or key not in after:
                yield inner
            else:
                yield from _changes(inner, before[key], after[key])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from _changes(f"{name}[{index}]", *pair)
    elif before != after:
        yield name
